"""The lines of Triton's metrics page for one model version, and those of our stage library on it.

Counters begin at 0 with every process. A version that is unloaded takes its series along, but for its
failures.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from support.fleet_sim import truth
from support.fleet_sim.scraping import Row
from support.fleet_sim.series import NAME
from support.fleet_sim.spans import among
from tritonobs import names
from tritonobs.stage.series import OUTCOMES, format_bound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from support.fleet_sim.series import Array
    from support.fleet_sim.spans import Span

_FAILED_AS = {
    truth.RAISED: "BACKEND",
    truth.REFUSED: "BACKEND",
    truth.DEAD: "BACKEND",
    truth.EXPIRED: "REJECTED",
    truth.CANCELLED: "CANCELED",
}
_OUTCOME_OF = {
    truth.FAST: "ok",
    truth.SLOW: "ok",
    truth.SOFT: "error",
    truth.RAISED: "error",
    truth.INVALID: "invalid",
    truth.REFUSED: "invalid",
    truth.LEFT: "cancelled",
}
_SUCCEEDED = (truth.FAST, truth.SLOW, truth.SOFT, truth.INVALID, truth.LEFT)
_ERROR_SECONDS = 0.003
_BEAT_SECONDS = 1.0
_NOISE = 0.001
"""The standard deviation of one request's time, as a share of it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Version:
    """A model version on one server: when it is loaded, what ends how, and how long things take."""

    model: str
    version: str
    tick_seconds: float
    loaded: Sequence[Span]
    processes: Sequence[Span]
    """When the server's process lives: failures outlast an unload, not a restart."""
    ends: Mapping[str, Array]
    pending: Array
    seconds: float
    slow_seconds: float
    queue: Array
    """Seconds each request waited, by the tick of its end."""
    noise: Array
    """By how many standard deviations the requests of a tick took longer: no two servers are alike."""
    bounds: Sequence[float] | None
    """The buckets of the stage `total`; None is a model without our instrumentation."""
    stuck: Sequence[Span] = ()
    """When the workers' heartbeats stand still although their series are there."""
    reloads: Sequence[float] = ()
    """When the version is reloaded in place: Triton's counters go on, the workers are new processes."""
    flush_seconds: float = 0
    """How often the workers hand over what they counted; 0 is at once."""
    workers: int = 1
    ensemble: bool = False
    refuses: tuple[str, str] = ("decode", "corrupt_image")
    """Stage and reason of bad input."""
    stages: Mapping[str, Array] = field(default_factory=dict)
    """Seconds that each answered request spends in a stage beside `total`, by the tick of its end."""
    uncounted: Sequence[Span] = ()
    """When Triton counts nothing although requests are answered."""

    def rows(self, began: float) -> Iterator[Row]:
        """All lines of the page about it; `began` is when the world did, in Unix time."""
        yield from self._triton()
        if self.bounds is not None:
            for slot in range(self.workers):
                for number, life in enumerate(self._worked()):
                    yield from self._worker(100 + 10 * number + slot, slot, life, began)

    def _worked(self) -> list[Span]:
        """The lives of its processes: those of the version, cut by reloads."""
        return [
            span
            for start, end in self.loaded
            for span in itertools.pairwise((start, *(at for at in self.reloads if start < at < end), end))
        ]

    def _triton(self) -> Iterator[Row]:
        # Trap 1: an ensemble's traffic is counted under version 1, not its own.
        labels = {names.MODEL: self.model, names.VERSION: "1" if self.ensemble else self.version}
        done = self._sum(*_SUCCEEDED)
        yield self._counter(names.TRITON_SUCCESS, labels, done)
        yield self._counter(names.TRITON_INFERENCES, labels, done)
        executed = done if self.ensemble else done + self._sum(truth.RAISED, truth.REFUSED, truth.DEAD)
        yield self._counter(names.TRITON_EXECUTIONS, labels, executed)
        slow, fast = self._sum(truth.SLOW), self._sum(truth.FAST, truth.SOFT, truth.INVALID, truth.LEFT)
        compute = 1e6 * (slow * self.slow_seconds + fast * self.seconds)
        compute += np.round(1e6 * self.seconds * _NOISE * np.sqrt(slow + fast) * self.noise)
        waited = 1e6 * done * self.queue
        for name, micros in (
            (names.TRITON_REQUEST_US, compute + waited),
            (names.TRITON_QUEUE_US, waited),
            (names.TRITON_COMPUTE_INFER_US, compute),
            (names.TRITON_COMPUTE_INPUT_US, 0 * compute),
            (names.TRITON_COMPUTE_OUTPUT_US, 0 * compute),
        ):
            yield self._counter(name, labels, micros)
        yield from self._failures()
        own = {names.MODEL: self.model, names.VERSION: self.version}
        yield Row(
            labels={**own, NAME: names.TRITON_PENDING},
            lives=self.loaded,
            read=lambda seconds, _: self.pending[np.maximum(self._places(seconds), 1) - 1],
        )

    def _failures(self) -> Iterator[Row]:
        failed = {
            reason: np.zeros(len(self.pending)) for reason in ("REJECTED", "CANCELED", "BACKEND", "OTHER")
        }
        for kind, reason in _FAILED_AS.items():
            # Trap 2: what fails in an ensemble counts as OTHER, once under each of its two versions.
            failed["OTHER" if self.ensemble and reason == "BACKEND" else reason] += self._sum(kind)
        lasting = [
            (max(start, first[0]), end)
            for start, end in self.processes
            if (first := next((life for life in self.loaded if life[1] > start and life[0] < end), None))
        ]
        for reason, counts in failed.items():
            # Both of an ensemble's reporters count what a step of it failed; of version 1 they share a
            # series.
            reported = {self.version: 1} if not self.ensemble else {"1": 1}
            if self.ensemble and reason == "OTHER":
                reported = {"1": 2} if self.version == "1" else {"1": 1, self.version: 1}
            for version, times in reported.items():
                labels = {names.MODEL: self.model, names.VERSION: version, names.REASON: reason}
                yield self._counter(names.TRITON_FAILURE, labels, times * counts, lasting)

    def _worker(self, pid: int, slot: int, life: Span, began: float) -> Iterator[Row]:
        own = {names.MODEL: self.model, names.VERSION: self.version}
        own |= {names.WORKER: f"{self.model}_0_{slot}-{pid}-1a2b3c"}

        def share(*kinds: str) -> Array:
            """Requests go round the workers."""
            total = np.cumsum(self._sum(*kinds))
            return np.diff((total + self.workers - 1 - slot) // self.workers, prepend=0)

        for outcome in OUTCOMES:
            kinds = [kind for kind, as_outcome in _OUTCOME_OF.items() if as_outcome == outcome]
            labels = {**own, names.OUTCOME: outcome}
            yield self._told(names.REQUESTS, labels, share(*kinds), [life])
        if {truth.INVALID, truth.REFUSED} & self.ends.keys():
            where = dict(zip((names.STAGE, names.REASON), self.refuses, strict=True))
            labels = {**own, **where, names.OUTCOME: "invalid"}
            yield self._told(names.STAGE_ERRORS, labels, share(truth.INVALID, truth.REFUSED), [life])
        fast, slow = share(truth.FAST), share(truth.SLOW)
        errors = share(truth.SOFT, truth.RAISED, truth.INVALID, truth.REFUSED, truth.LEFT)
        took = ((self.seconds, fast), (self.slow_seconds, slow), (_ERROR_SECONDS, errors))
        stage = {**own, names.STAGE: names.TOTAL_STAGE}
        for bound in (*(self.bounds or ()), float("inf")):
            within = sum((counts for seconds, counts in took if seconds <= bound), np.zeros(len(fast)))
            labels = {**stage, names.LE: format_bound(bound)}
            yield self._told(f"{names.STAGE_DURATION}_bucket", labels, within, [life])
        yield self._told(f"{names.STAGE_DURATION}_count", stage, fast + slow + errors, [life])
        spent = sum((seconds * counts for seconds, counts in took), np.zeros(len(fast)))
        yield self._told(f"{names.STAGE_DURATION}_sum", stage, spent, [life])
        for name, took_there in self.stages.items():
            yield from self._stage({**own, names.STAGE: name}, took_there, fast + slow, life)
        yield Row(labels={**own, NAME: names.HEARTBEAT}, lives=[life], read=self._beat(began))

    def _stage(self, labels: Mapping[str, str], seconds: Array, counts: Array, life: Span) -> Iterator[Row]:
        name = names.STAGE_DURATION
        for bound in (*(self.bounds or ()), float("inf")):
            within = np.where(seconds <= bound, counts, 0)
            yield self._told(f"{name}_bucket", {**labels, names.LE: format_bound(bound)}, within, [life])
        yield self._told(f"{name}_count", labels, counts, [life])
        yield self._told(f"{name}_sum", labels, seconds * counts, [life])

    def _beat(self, began: float) -> Callable[[Array, float], Array]:
        def read(seconds: Array, _: float) -> Array:
            beats = np.floor(seconds / _BEAT_SECONDS) * _BEAT_SECONDS
            for start, end in self.stuck:
                beats = np.where((seconds >= start) & (seconds < end), start, beats)
            return np.asarray(began + beats)

        return read

    def _counter(
        self, name: str, labels: Mapping[str, str], per_tick: Array, lives: Sequence[Span] | None = None
    ) -> Row:
        total = np.concatenate([[0], np.cumsum(self._as_counted(name, per_tick))])
        return Row(
            labels={**labels, NAME: name},
            lives=self.loaded if lives is None else lives,
            read=self._grown(total),
        )

    def _told(self, name: str, labels: Mapping[str, str], per_tick: Array, lives: Sequence[Span]) -> Row:
        """A counter of a worker: what it had counted when it last handed over."""
        row, flush = self._counter(name, labels, per_tick, lives), self.flush_seconds
        if not flush:
            return row
        return replace(row, read=lambda seconds, since: row.read(np.floor(seconds / flush) * flush, since))

    def _as_counted(self, name: str, per_tick: Array) -> Array:
        if not self.uncounted or not name.startswith("nv_"):
            return per_tick
        ticks = self.tick_seconds * np.arange(len(per_tick))
        return np.where(among(ticks, self.uncounted), 0, per_tick)

    def _grown(self, total: Array) -> Callable[[Array, float], Array]:
        def read(seconds: Array, since: float) -> Array:
            return np.asarray(total[self._places(seconds)] - total[self._places(np.array([since]))])

        return read

    def _places(self, seconds: Array) -> Array:
        """How many ticks are over."""
        return (seconds / self.tick_seconds + 1e-9).astype(int)

    def _sum(self, *kinds: str) -> Array:
        none = np.zeros(len(self.pending))
        return sum((self.ends[kind] for kind in kinds if kind in self.ends), none)
