"""How many requests each traced one represents.

No span says so: the server is asked for the rate of its model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from tritonobs.clients.triton import TraceSetting
from tritonobs.errors import ClientError
from tritonobs.extensions.traces.call import Traced

_FRESH_SECONDS = 5.0
_AWAY_SECONDS = 30.0
_MOST_SUBJECTS = 2000


class Server(Protocol):
    """What is asked: a replica."""

    def trace_setting(self, model: str = "") -> TraceSetting:
        """How the replica traces requests to this model.

        Raises:
            ClientError: it could not be asked, or has no such model.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """The last rate, and the one before it, which was in force until `since_ns`."""

    rate: int | None
    before: int | None
    since_ns: int
    asked: float


class Rates:
    """Asks the replicas, at most once in five seconds for each model. Not for several threads at once.

    `servers` are the replicas by name. The sampling is decided for the model that the client called: the
    calls of a pipeline are traced with it; their own setting does not count.
    """

    def __init__(self, servers: Mapping[str, Server], *, clock: Callable[[], float] = time.monotonic) -> None:
        self.servers = servers
        self.unknown = 0
        """Requests whose rate could not be asked for; each counted as one."""
        self._clock = clock
        self._known: dict[tuple[str, str], _Known] = {}
        self._away: dict[str, float] = {}

    def weight(self, traced: Traced) -> float:
        """How many requests this one represents; 1 where the rate is not known."""
        if traced.asked_for:
            return 1.0
        found = self._ask(traced.replica, traced.call.model)
        if found is None:
            self.unknown += 1
            return 1.0
        # Servers send every five seconds: after a change, a batch still holds requests from before it.
        earlier = traced.call.request.start_ns < found.since_ns and found.before
        return float((found.before if earlier else found.rate) or 1)

    def setting(self, replica: str, model: str) -> int | None:
        """One in how many requests to the model is traced now; 0 for none, None where that is unknown."""
        server = self.servers.get(replica)
        if server is None or self._clock() < self._away.get(replica, 0.0):
            return None
        try:
            found = server.trace_setting(model)
        except ClientError:
            self._away[replica] = self._clock() + _AWAY_SECONDS
            return None
        return found.rate if found.on else 0

    def _ask(self, replica: str, model: str) -> _Known | None:
        key, now = (replica, model), self._clock()
        known = self._known.get(key)
        if known and now - known.asked < _FRESH_SECONDS:
            return known if known.rate else None
        server = self.servers.get(replica)
        if server is None or now < self._away.get(replica, 0.0):
            return known if known and known.rate else None
        rate: int | None = None
        try:
            rate = server.trace_setting(model).rate
        except ClientError:
            # The others of this replica are not asked one by one.
            self._away[replica] = now + _AWAY_SECONDS
        # None: the server does not answer, and its last rate still counts.
        if known and known.rate and rate in {None, known.rate}:
            known = _Known(rate=known.rate, before=known.before, since_ns=known.since_ns, asked=now)
        else:
            before = known.rate if known else None
            # By the wall clock, because the times in spans are.
            known = _Known(rate=rate, before=before, since_ns=time.time_ns(), asked=now)
        # Spans name the models, so any client can invent names; a forgotten model is asked for again.
        if len(self._known) >= _MOST_SUBJECTS:
            self._known.clear()
        self._known[key] = known
        return known if known.rate else None
