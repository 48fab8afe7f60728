"""Which of several `tritonobs serve` delivers alerts: the holder of a Lease. Alone, this one always does."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Iterator
from uuid import uuid4

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from tritonobs import names
from tritonobs.clients.kubernetes_api import KubernetesApi, Lease
from tritonobs.errors import ClientError, SecretUnusable
from tritonobs.plan.fleet import Plan
from tritonobs.tasks.threads import Threads

_log = logging.getLogger(__name__)
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

    @property
    def holder(self) -> str:
        """The holder, as far as known."""
        return self._lease.holder if self._lease else ""

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
            _log.warning("the Lease could not be given back, another takes it when it runs out: %s", error)
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
