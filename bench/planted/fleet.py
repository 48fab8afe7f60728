"""Triton servers that never ran, request by request: queues, instances, stages, calls, workers, scrapes."""

from __future__ import annotations

import heapq
import math
import random
from collections import deque
from typing import TYPE_CHECKING

from planted.model import Instances, Replica, State
from planted.requests import Requests
from tritonobs import names
from tritonobs.stage.series import DEFAULT_BOUNDS_SECONDS, format_bound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from planted.model import Key, Labels, Model, Points

SCRAPE_SECONDS = 5.0
_LES = tuple(format_bound(bound) for bound in (*DEFAULT_BOUNDS_SECONDS, math.inf))
REASONS = ("REJECTED", "CANCELED", "BACKEND", "OTHER")
_COMPUTE = (names.TRITON_COMPUTE_INPUT_US, names.TRITON_COMPUTE_INFER_US, names.TRITON_COMPUTE_OUTPUT_US)
_COUNTERS = (
    names.TRITON_SUCCESS,
    names.TRITON_INFERENCES,
    names.TRITON_EXECUTIONS,
    names.TRITON_REQUEST_US,
    names.TRITON_QUEUE_US,
    *_COMPUTE,
)


class Fleet(Requests):
    """Servers, their models and their clients, over some minutes; the same seed gives the same history."""

    def __init__(
        self, models: list[Model], *, replicas: int = 2, seed: int = 1, load_times: bool = False
    ) -> None:
        self.random = random.Random(seed)  # noqa: S311 (a simulation, no secret)
        # Apart, so that fleets of before 24.11, which tell no load times, have the same history.
        self._loads = random.Random(seed) if load_times else None  # noqa: S311 (a simulation, no secret)
        self.now = 0.0
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._number = 0
        self.models = {model.name: model for model in models}
        self.replicas = [Replica(f"triton-{number + 1}") for number in range(replicas)]
        self.rates: dict[str, float] = {}
        self.breath: dict[str, float] = {}
        self.limits: dict[str, float] = {}
        self.series: dict[Key, Points] = {}
        self._serial = 0
        for replica in self.replicas:
            for model in models:
                self.load(replica, model)

    # --- time ---
    def at(self, time: float, act: Callable[[], None]) -> None:
        """Do something then."""
        self._number += 1
        heapq.heappush(self._queue, (time, self._number, act))

    def run(self, until: float) -> None:
        """Let time pass."""
        while self._queue and self._queue[0][0] <= until:
            self.now, _, act = heapq.heappop(self._queue)
            act()
        self.now = until

    # --- models ---
    def load(self, replica: Replica, model: Model, *, anew: bool = False) -> None:
        """A model with fresh workers; those before it take their series along, as `finalize` does.

        In place, Triton's counters go on; `anew`, after an unload, they begin again (failures excepted).
        """
        for slot, (worker, _) in list(replica.workers.items()):
            if slot[0] == self._id(model):
                self.drop(replica, worker)
                del replica.workers[slot]
        pool = replica.pools.get(self._id(model))
        if pool is None or pool.dead or pool.frozen or len(pool.free) != model.instances:
            waiting = pool.waiting if pool else deque()
            pool = replica.pools[self._id(model)] = Instances(model.instances)
            pool.waiting = waiting
            while pool.waiting and pool.free:
                self._grant(pool)
        replica.states[self._id(model)] = State()
        if not model.ensemble and model.staged:
            for number in range(model.instances):
                replica.workers[self._id(model), number] = (self.worker(replica, model, number), self.now)
        self._triton_counts(replica, model, anew=anew)

    def _triton_counts(self, replica: Replica, model: Model, *, anew: bool) -> None:
        labels = (("model", model.name), ("version", model.version))
        for name in _COUNTERS:
            if anew:
                replica.cells[name, labels] = 0.0
            replica.cells.setdefault((name, labels), 0.0)
        replica.cells.setdefault((names.TRITON_PENDING, labels), 0.0)
        if self._loads:
            took = 0.0 if model.ensemble else self._loads.uniform(0.8, 3.0)
            replica.cells[names.TRITON_LOAD_SECONDS, labels] = took
        for reason in REASONS:
            replica.cells.setdefault((names.TRITON_FAILURE, (*labels, ("reason", reason))), 0.0)
        if model.cached:
            replica.cells.setdefault((names.TRITON_CACHE_HITS, labels), 0.0)
            replica.cells.setdefault((names.TRITON_CACHE_MISSES, labels), 0.0)

    def unload(self, replica: Replica, model: Model) -> None:
        """Its series go, those of its failures stay. What asks for it then is counted nowhere."""
        for slot, (worker, _) in list(replica.workers.items()):
            if slot[0] == self._id(model):
                self.drop(replica, worker)
                del replica.workers[slot]
        for key in [
            key
            for key in replica.cells
            if ("model", model.name) in key[1]
            and ("version", model.version) in key[1]
            and key[0] != names.TRITON_FAILURE
        ]:
            del replica.cells[key]
        replica.states[self._id(model)] = State(gone=True)

    def worker(self, replica: Replica, model: Model, number: int) -> str:
        """A new process: its label, its heartbeat and its counters at 0."""
        self._serial += 1
        worker = f"{model.name}_0_{number}-{1000 + self._serial}-{self._serial:x}a"
        replica.beats[worker] = (model.name, model.version, None)
        labels = (("model", model.name), ("version", model.version), ("worker", worker))
        for outcome in ("ok", "error", "rejected", "cancelled", "invalid"):
            replica.cells[names.REQUESTS, (*labels, ("outcome", outcome))] = 0.0
        return worker

    def leak(self, replica: Replica, model: Model, seconds: float = 1.0) -> None:
        """An `initialize` that failed: its series stay, beating for a moment only."""
        worker = self.worker(replica, model, 0)
        self.at(self.now + seconds, lambda: self.stop(replica, worker))

    def stop(self, replica: Replica, worker: str) -> None:
        """It beats no more."""
        model, version, _ = replica.beats[worker]
        replica.beats[worker] = (model, version, self.now)

    def drop(self, replica: Replica, worker: str) -> None:
        """Its series go."""
        pair = ("worker", worker)
        for key in [key for key in replica.cells if pair in key[1]]:
            del replica.cells[key]
        for labels in [labels for labels in replica.histograms if pair in labels]:
            del replica.histograms[labels]
        replica.beats.pop(worker, None)

    def kill(self, replica: Replica, model: Model, number: int = 0, *, frozen: bool = False) -> None:
        """A worker process dies, or stands still."""
        pool = replica.pools[self._id(model)]
        (pool.frozen if frozen else pool.dead).add(number)
        self.stop(replica, replica.workers[self._id(model), number][0])

    def state(self, replica: Replica, name: str) -> State:
        """How a model does on a replica."""
        return replica.states[self._id(self.models[name])]

    def states(self, name: str) -> Iterator[State]:
        """How a model does, on every replica."""
        return (self.state(replica, name) for replica in self.replicas)

    # --- clients ---
    def ask(self, name: str, rate: float) -> None:
        """So many requests a second to a model from now on, at random moments."""
        fresh = name not in self.rates
        self.rates[name] = rate
        if fresh:
            self._next(name)

    def _next(self, name: str) -> None:
        rate = self.rates[name] * self.breath.get(name, 1.0)
        wait = self.random.expovariate(rate) if rate > 0 else 1.0

        def send() -> None:
            if self.rates[name] > 0:
                there = [replica for replica in self.replicas if replica.answers and replica.weight]
                if there:
                    replica = self.random.choices(there, [each.weight for each in there])[0]
                    self._resume(self._serve(replica, self.models[name]), [None])
            self._next(name)

        self.at(self.now + wait, send)

    # --- scrapes ---
    def scrape_all(self, until: float, *, since: float = 0.0) -> None:
        """Plan the scrapes of every replica."""
        for number, replica in enumerate(self.replicas):
            time = since + 0.5 + number * 1.7
            while time < until:
                self.at(time, lambda replica=replica: self._scrape(replica))  # type: ignore[misc] # a lambda's default has no type
                time += SCRAPE_SECONDS

    def _scrape(self, replica: Replica) -> None:
        if not replica.listed:
            return
        self._keep(replica, ("up", ()), float(replica.answers))
        if not replica.answers:
            return
        lines = 0 if replica.empty else self._scrape_page(replica)
        for name in ("scrape_samples_scraped", "scrape_samples_post_metric_relabeling"):
            self._keep(replica, (name, ()), float(lines))

    def _scrape_page(self, replica: Replica) -> int:
        """Keep each line of its page; how many there are."""
        for key, value in replica.cells.items():
            self._keep(replica, key, value)
        self._keep(replica, (names.TRITON_CPU_UTILIZATION, ()), replica.cpu)
        for worker, (model, version, last) in replica.beats.items():
            beat = last if last is not None else self.now - self.random.random()
            labels = (("model", model), ("version", version), ("worker", worker))
            self._keep(replica, (names.HEARTBEAT, labels), beat)
        for labels, counts in replica.histograms.items():
            *buckets, whole = self._buckets(replica, labels)
            total = 0
            for points, count in zip(buckets, counts, strict=True):
                total += count
                points.append((self.now, float(total)))
            whole.append((self.now, float(total)))
        return len(replica.cells) + 1 + len(replica.beats) + (len(_LES) + 1) * len(replica.histograms)

    def _keep(self, replica: Replica, key: Key, value: float) -> None:
        points = replica.kept.get(key)
        if points is None:
            points = replica.kept[key] = self._points(replica, key)
        points.append((self.now, value))

    def _buckets(self, replica: Replica, labels: Labels) -> list[Points]:
        """Where the buckets of a histogram are kept, and its count."""
        found = replica.kept_buckets.get(labels)
        if found is None:
            keys = [(f"{names.STAGE_DURATION}_bucket", (*labels, ("le", le))) for le in _LES]
            keys.append((f"{names.STAGE_DURATION}_count", labels))
            found = replica.kept_buckets[labels] = [self._points(replica, key) for key in keys]
        return found

    def _points(self, replica: Replica, key: Key) -> Points:
        name, labels = key
        target = (("instance", replica.address), ("job", "triton"), ("replica", replica.name))
        return self.series.setdefault((name, (*labels, *target)), [])

    def fleet_rows(self) -> Iterator[Key]:
        """What the fleet file says: calls, limits, kinds."""
        for model in self.models.values():
            kind = "ensemble" if model.ensemble else "model"
            yield names.MODEL_INFO, (("model", model.name), ("version", ""), ("kind", kind))
            for stage, part in model.parts.items():
                if isinstance(part, str):
                    yield names.PIPELINE_CALLS, (("model", part), ("pipeline", model.name), ("stage", stage))
