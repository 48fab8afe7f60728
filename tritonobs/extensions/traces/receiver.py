"""Receives spans, keeps their distributions and the slowest requests, and passes the bodies on.

No span says how many requests it represents: the server is asked for the rate of its model.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from tritonobs.clients.triton import TraceSetting, TritonClient
from tritonobs.errors import ClientError
from tritonobs.extensions.traces.call import Assembler, Batch, Traced
from tritonobs.extensions.traces.forward import Body, BoundedQueue, Forwarder
from tritonobs.extensions.traces.histograms import Histograms
from tritonobs.extensions.traces.otlp import reader, unpacked
from tritonobs.extensions.traces.slowest import Answer, Slowest
from tritonobs.plan.fleet import Plan
from tritonobs.plan.objectives import with_thresholds
from tritonobs.tasks import Supervisor, Threads

_log = logging.getLogger(__name__)
MOST_WAITING, MOST_WAITING_BYTES = 256, 64 * 2**20
_READ_SECONDS = 60.0
_ASK_SECONDS = 2.0
_SETTINGS_SECONDS = 15.0
_MOST_SETTINGS_SECONDS = 300.0
_MOST_ASKED = 1000


class Receiver:
    """Made and used in one event loop; `supervisor` runs its work.

    `refused` counts bodies that are not OTLP, `spans` the spans of all others. Waiting and kept data are
    bounded; what has no room is dropped and counted.
    """

    def __init__(self, plan: Plan, supervisor: Supervisor) -> None:
        self.queue = BoundedQueue(most=MOST_WAITING, most_bytes=MOST_WAITING_BYTES)
        self._forward = plan.traces.forward
        self.forwarder = Forwarder(plan.traces.forward) if plan.traces.forward else None
        self.lock = threading.Lock()
        """Held while what is kept is changed or read."""
        self.histograms = Histograms(with_thresholds(_thresholds(plan)))
        self.slowest = Slowest()
        self.assembler = Assembler()
        self.rates = Rates({})
        self.refused: Counter[str] = Counter()
        self.spans = 0
        self.settings: Mapping[tuple[str, str], int] = {}
        """Of each model and replica of which a client's request was traced, the rate that holds now."""
        self._asked: dict[tuple[str, str], None] = {}
        self._called: set[str] = set()
        self._by_fleet: frozenset[str] = frozenset()
        self._hosts: Mapping[str, str] = {}
        self._clients: dict[str, TritonClient] = {}
        self._threads, self._asking = Threads("traces"), Threads("trace settings")
        self.apply(plan)
        supervisor.keep("traces", self._work)
        supervisor.keep("trace settings", self._follow_settings)
        if self.forwarder:
            supervisor.keep("traces forwarded", self.forwarder.deliver)

    def apply(self, plan: Plan) -> None:
        """Use a fleet file that was loaded again; where spans are forwarded stays as it was at the start."""
        if plan.traces.forward != self._forward:
            self._forward = plan.traces.forward
            _log.warning("traces.forward is now %r: in force when the receiver starts again", self._forward)
        before, self._clients = (
            self._clients,
            {
                # One thread reads all spans: a server that does not answer must not delay the others.
                replica.name: TritonClient(replica.http_url, timeout_seconds=_ASK_SECONDS, retries=0)
                for replica in plan.replicas
            },
        )
        for client in before.values():
            client.close()
        with self.lock:
            self.rates.servers = self._clients
            self._by_fleet = frozenset(call.model for model in plan.models for call in model.calls)
            hosts = [(urlsplit(replica.http_url).hostname or "", replica.name) for replica in plan.replicas]
            alone = Counter(host for host, _ in hosts)
            # The address of a host with several replicas does not tell which one sent.
            self._hosts = {host: name for host, name in hosts if alone[host] == 1}
            self.histograms.rebound(with_thresholds(_thresholds(plan)))

    def close(self) -> None:
        """Give the connections back."""
        for client in self._clients.values():
            client.close()
        if self.forwarder:
            self.forwarder.close()

    def take(self, body: Body) -> bool:
        """Whether there was room; the body is read later, and passed on in any case."""
        if self.forwarder:
            self.forwarder.queue.put(body)
        return self.queue.put(body)

    def slow(self, model: str, since_seconds: float, until_seconds: float = 0.0) -> Answer:
        """The slowest calls of a model, and the models of which slow requests are kept."""
        with self.lock:
            found = self.slowest.of(model, since_seconds, until_seconds)
            return Answer(models=self.slowest.models(), requests=found)

    async def _work(self) -> None:
        """Read the oldest body."""
        body = await self.queue.first()
        # Before it is read: a body at which the reader fails is not read again.
        self.queue.drop()
        await self._threads.run(lambda: self.read(body), seconds=_READ_SECONDS)

    async def _follow_settings(self) -> None:
        """Ask for the current rates, also of models that send no spans any more."""
        await asyncio.sleep(_SETTINGS_SECONDS)
        await self._asking.run(self.ask_settings, seconds=_MOST_SETTINGS_SECONDS)

    def ask_settings(self) -> None:
        """Which requests are traced, as the servers say.

        Of models that only clients ask: what a pipeline calls is traced with the pipeline, or not at all.
        """
        with self.lock:
            called = self._called | self._by_fleet
            wanted = [(replica, model) for replica, model in self._asked if model not in called]
        found = {subject: self.rates.setting(*subject) for subject in wanted}
        self.settings = {subject: rate for subject, rate in found.items() if rate is not None}

    def read(self, body: Body) -> None:
        """Count what is in the body; one that cannot be read is counted as refused."""
        try:
            batches = reader(body.kind)(unpacked(body.data, body.encoding))
        except ValueError:
            self.refused["unreadable"] += 1
            return
        for batch in batches:
            self.spans += len(batch.spans)
            replica = batch.replica or self._hosts.get(body.peer) or body.peer or "unknown"
            for traced in self.assembler.add(Batch(replica=replica, spans=batch.spans)):
                self._keep(traced)

    def _keep(self, traced: Traced) -> None:
        # A server may answer late: the lock is free meanwhile.
        weight = self.rates.weight(traced)
        first, *inner = traced.call.everything()
        with self.lock:
            for call in (first, *inner):
                self.histograms.add(traced.replica, call, weight)
            self._called |= {call.model for call in inner} if len(self._called) < _MOST_ASKED else set()
            if len(self._asked) < _MOST_ASKED:
                self._asked[(traced.replica, first.model)] = None
            self.slowest.add(traced)


def _thresholds(plan: Plan) -> Iterable[float]:
    """The latency objectives about traced requests."""
    return (
        float(slo.threshold_seconds)
        for slo in plan.slos
        if slo.source == "traces" and slo.threshold_seconds is not None
    )


_FRESH_SECONDS = 5.0
_AWAY_SECONDS = 30.0
_MOST_SUBJECTS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """The last rate, and the one before it, which was in force until `since_ns`."""

    rate: int
    before: int | None
    since_ns: int
    asked: float


class Rates:
    """Asks the replicas, at most once in five seconds for each model. Not for several threads at once.

    `servers` are the replicas by name. The sampling is decided for the model that the client called: the
    calls of a pipeline are traced with it; their own setting does not count.
    """

    def __init__(
        self, servers: Mapping[str, TritonClient], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
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
        if found is None or not found.rate:
            self.unknown += 1
            return 1.0
        # Servers send every five seconds: after a change, a batch still holds requests from before it.
        earlier = traced.call.request.start_ns < found.since_ns and found.before
        return float((found.before if earlier else found.rate) or 1)

    def setting(self, replica: str, model: str) -> int | None:
        """One in how many requests to the model is traced now; 0 for none, None where that is unknown."""
        found = self._told(replica, model)
        if found is None:
            return None
        return found.rate if found.on else 0

    def _ask(self, replica: str, model: str) -> _Known | None:
        key, now = (replica, model), self._clock()
        known = self._known.get(key)
        if known and now - known.asked < _FRESH_SECONDS:
            return known
        found = self._told(replica, model)
        if found is None:
            # The server does not answer, and its last rate still counts.
            return known
        if known and known.rate == found.rate:
            known = replace(known, asked=now)
        else:
            before = known.rate if known else None
            # By the wall clock, because the times in spans are.
            known = _Known(rate=found.rate, before=before, since_ns=time.time_ns(), asked=now)
        # Spans name the models, so any client can invent names; a forgotten model is asked for again.
        if len(self._known) >= _MOST_SUBJECTS:
            self._known.clear()
        self._known[key] = known
        return known

    def _told(self, replica: str, model: str) -> TraceSetting | None:
        """What the server says of the model; None from one that does not answer, or did not just now."""
        server = self.servers.get(replica)
        if server is None or self._clock() < self._away.get(replica, 0.0):
            return None
        try:
            return server.trace_setting(model)
        except ClientError:
            # The others of this replica are not asked one by one.
            self._away[replica] = self._clock() + _AWAY_SECONDS
            return None
