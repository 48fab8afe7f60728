"""`tritonobs serve`: one process, one event loop, no state on disk; slow calls run in threads.

Which of several `tritonobs serve` delivers alerts: the holder of a Lease. Alone, this one always does.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from tritonobs import names
from tritonobs.clients.chat import ChatClient
from tritonobs.clients.kubernetes_api import KubernetesApi, Lease
from tritonobs.delivery.composer import Said
from tritonobs.delivery.metrics import DeliveryMetrics
from tritonobs.delivery.payload import MOST_BYTES, Alert, Payload
from tritonobs.delivery.robots import Delivery
from tritonobs.errors import ClientError, SecretUnusable
from tritonobs.limits.in_force import LiveLimits
from tritonobs.plan.fleet import Plan
from tritonobs.plan.notify import Robot
from tritonobs.serve.config import Served, Watcher
from tritonobs.serve.exposition import Found, ObjectivePage, Targets
from tritonobs.serve.parts import parts
from tritonobs.serve.server import Room
from tritonobs.tasks import Supervisor, Threads

_log = logging.getLogger(__name__)
_RELAYED_AT_ONCE = 16
_BODIES_AT_ONCE = 4


class Daemon:
    """What the HTTP surface works with. Made inside the event loop."""

    def __init__(self, path: Path, served: Served, client: ChatClient, lease: Lease | None = None) -> None:
        self.names: frozenset[str] = frozenset()
        """Host names under which clients reach it, besides those of the fleet file."""
        self._loaded = served
        self.found = Found(served.plan, self._use)
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
        self.client = client
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
        self.client.close()
        for part in self.parts:
            part.close()


_RENEW_SECONDS = 2.0
# A renewal is two questions of up to 3 s, and what it renews holds for 9 s (`Lease`).
_PATIENCE_SECONDS = 8.0
_LAST_SECONDS = 5.0


class Leading(Collector):
    """Keeps the Lease, or waits for it. `taken` is called in the event loop each time it becomes ours."""

    def __init__(self, lease: Lease | None, taken: Callable[[], None]) -> None:
        self._lease, self._taken = lease, taken
        self._threads = Threads("lease", most=2)
        self._led = self._blind = False

    @property
    def here(self) -> bool:
        """Whether this process delivers now.

        While the API server cannot be reached, no other can take the Lease: the last holder goes on.
        """
        return self._lease is None or (self._led and (self._blind or self._lease.held))

    async def keep(self) -> None:
        """One round: renew the Lease or look at it, and wait.

        Raises:
            ClientError: the API server was not reached or refused, or not in time.
            SecretUnusable: there is no token.
        """
        if self._lease is None:
            await asyncio.sleep(_RENEW_SECONDS)
            return
        lease = self._lease
        try:
            await self._threads.run(lease.renew, seconds=_PATIENCE_SECONDS)
        except Exception:
            # Only now: a process that was stopped for longer than the Lease is valid must not go on without
            # an answer.
            self._blind = True
            raise
        self._blind = False
        if lease.held and not self._led:
            _log.warning("this tritonobs serve delivers alerts now (%s)", lease.identity)
            self._taken()
        elif self._led and not lease.held:
            _log.warning("another tritonobs serve delivers alerts now (%s)", lease.holder or "unknown")
        self._led = lease.held
        await asyncio.sleep(_RENEW_SECONDS)

    async def close(self) -> None:
        """Let another take over at once."""
        if self._lease is None:
            return
        try:
            await self._threads.run(self._lease.release, seconds=_LAST_SECONDS)
        except (ClientError, SecretUnusable) as error:
            _log.warning(
                "the Lease could not be released; another process takes over when it expires: %s", error
            )
        self._lease.close()

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Whether this one delivers."""
        yield GaugeMetricFamily(
            names.LEADER, "1 while this tritonobs serve delivers alerts.", value=int(self.here)
        )


def lease_of(plan: Plan, named: str) -> Lease | None:
    """The Lease `namespace/name` on the fleet's API server; None where none is named.

    Raises:
        ClientError: this is not a pod of a cluster, and the fleet file names no API server.
    """
    server = plan.kubernetes.server
    if not named or server is None:
        return None
    namespace, _, name = named.partition("/")
    api = KubernetesApi(server)
    return Lease(
        api,
        namespace=namespace,
        name=name,
        # Host name and pid alone are not unique: containers on the host's network may share both.
        identity=f"{socket.gethostname()}_{os.getpid()}_{uuid4().hex[:8]}",
    )
