"""`tritonobs serve`: one process, one event loop, no state on disk; slow calls run in threads."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from prometheus_client import disable_created_metrics

from tritonobs.clients.chat import ChatClient
from tritonobs.clients.kubernetes_api import Lease
from tritonobs.clients.relay import Relay
from tritonobs.delivery.composer import Said
from tritonobs.delivery.metrics import DeliveryMetrics
from tritonobs.delivery.payload import MOST_BYTES, Alert, Payload
from tritonobs.delivery.robots import Delivery
from tritonobs.errors import TritonobsError
from tritonobs.limits.in_force import LiveLimits
from tritonobs.plan.notify import Robot
from tritonobs.serve.app import make_app
from tritonobs.serve.config import Served, Watcher, load_served
from tritonobs.serve.exposition import Found, ObjectivePage, Targets
from tritonobs.serve.hosts import is_loopback
from tritonobs.serve.leading import Leading, lease_of
from tritonobs.serve.parts import parts
from tritonobs.serve.room import Room
from tritonobs.serve.server import Listen, listening, until_told, url_of
from tritonobs.tasks.supervisor import Supervisor
from tritonobs.tasks.threads import Threads

_log = logging.getLogger(__name__)
_RELAYED_AT_ONCE = 16
_BODIES_AT_ONCE = 4


class Daemon:
    """What the HTTP surface works with. Made inside the event loop."""

    def __init__(self, path: Path, served: Served, client: ChatClient, lease: Lease | None = None) -> None:
        self.names: frozenset[str] = frozenset()
        """Host names under which clients reach it, besides those of the fleet file."""
        self._loaded = served
        self.found = Found(self._use)
        self.found.apply(served.plan)
        self.served = served
        self.stopping = False
        self.metrics = DeliveryMetrics()
        self.supervisor = Supervisor()
        self.parts = parts(served.plan, self.supervisor)
        self.delivery = Delivery(
            served.plan,
            served.templates,
            client,
            metrics=self.metrics,
            supervisor=self.supervisor,
            above=self._above,
            sieve=next((part.sieve for part in self.parts if part.sieve), None),
        )
        for part in self.parts:
            part.may_say(self._say, lambda: self.leading.here)
        self.supervisor.keep("fleet file", Watcher(path, served, self.apply, self.metrics).watch)
        self.leading = Leading(lease, self.delivery.begin)
        if lease:
            self.supervisor.keep("lease", self.leading.keep)
        self.limits = LiveLimits(path, served.plan, self.supervisor, lambda: self.leading.here)
        self.supervisor.keep("replicas", self.found.look)
        self.targets = Targets()
        for collector in (self.supervisor, self.limits, self.targets, self.leading):
            self.metrics.registry.register(collector)
        for part in self.parts:
            if part.series:
                self.metrics.registry.register(part.series)
        self._objectives = ObjectivePage()
        self.relay = Relay()
        self._client = client
        self.room = Room(MOST_BYTES, most=_BODIES_AT_ONCE * MOST_BYTES)
        self.reading, self.paging = Threads("webhook"), Threads("metrics page")
        self.relaying = Threads("relay", most=_RELAYED_AT_ONCE)

    async def _above(self, alerts: Sequence[Alert], robot: Robot) -> Sequence[Said]:
        """What the parts say above the alerts of a message."""
        said = await asyncio.gather(*(part.above(alerts, robot) for part in self.parts))
        return tuple(line for lines in said for line in lines)

    async def _say(self, robot: str, alerts: Sequence[Alert]) -> bool:
        """Deliver these as a call of Alertmanager's would be; not where another process delivers."""
        committer = self.delivery.committer(robot)
        if committer is None or not self.leading.here:
            return False
        return (await committer.commit(Payload(alerts=tuple(alerts)))).accepted

    def objectives(self) -> bytes:
        """The plan's part of the metrics page, with limits from other sources."""
        return self._objectives.text(self.limits.merged(self.served.plan))

    def apply(self, served: Served) -> None:
        """Use a fleet file that was loaded again."""
        self._loaded = served
        self.found.apply(served.plan)
        self._use()

    def _use(self) -> None:
        """Apply the fleet file, with the replicas that exist now."""
        self.served = served = replace(self._loaded, plan=self.found.filled(self._loaded.plan))
        self.delivery.apply(served.plan, served.templates)
        self.limits.apply(served.plan)
        for part in self.parts:
            part.apply(served.plan)

    async def close(self) -> None:
        """Answer every waiting call; accept no more."""
        self.stopping = True
        await self.delivery.close()
        # After the last digests, because another process delivers as soon as the Lease is free; and no
        # renewal may take it back.
        self.supervisor.drop("lease")
        await self.leading.close()
        self.limits.close()
        self.supervisor.close()
        self._client.close()
        self.relay.close()
        for part in self.parts:
            part.close()


def run(
    path: Path,
    listen: Listen,
    *,
    chat_urls: Mapping[str, str] | None = None,
    ready: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve until SIGTERM or SIGINT; `ready` gets the address once it listens.

    `chat_urls` are addresses that replace those of chats.

    Raises:
        SpecInvalid: the fleet file or a template cannot be used.
        SecretUnusable: a secret is missing or readable by every user.
        TritonobsError: the address cannot be listened at, or must not be without credentials; or there is no
            API server to ask for the Lease.
    """
    disable_created_metrics()  # type: ignore[no-untyped-call] # prometheus_client types it not
    served = load_served(path)
    if served.gate is None and not listen.without_auth and not is_loopback(listen.host):
        raise TritonobsError(
            f"{listen.host} lets other machines post alerts without credentials; "
            "add notify.auth to the fleet file, or say --without-auth"
        )
    with listening(listen, urlsplit(served.plan.addresses.serve_url).port or 80) as listener:
        # It listens already: clients that connect from now on are answered as soon as the loop runs.
        ready(url_of(listener))
        asyncio.run(_serve(path, served, ChatClient(base_urls=chat_urls or {}), listener, listen))


async def _serve(
    path: Path, served: Served, client: ChatClient, listener: socket.socket, listen: Listen
) -> None:
    daemon = Daemon(path, served, client, lease_of(served.plan, listen.lease))
    daemon.names = listen.names
    await until_told(make_app(daemon), listener, dropped=daemon.metrics.dropped, close=daemon.close)
