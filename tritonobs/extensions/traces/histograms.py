"""How long the phases of requests took, counted by model, version, replica and phase."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from prometheus_client.samples import Exemplar

from tritonobs.extensions.traces.call import Call, Phase

MOST_SUBJECTS = 1000
"""Versions of models on replicas; a fleet of 30 models on 30 replicas has 900."""
_IDLE_SECONDS = 3600.0
_WEIGHT_SECONDS = 300.0


class Subject(NamedTuple):
    """A version of a model on one replica."""

    model: str
    version: str
    replica: str


@dataclass(slots=True, kw_only=True)
class Times:
    """The counts of one phase, and the last request in each; the last count is above all bounds."""

    counts: list[float]
    exemplars: list[Exemplar | None]
    seconds: float = 0.0

    def add(self, place: int, weight: float, exemplar: Exemplar) -> None:
        """One request that represents `weight` of them."""
        self.counts[place] += weight
        self.seconds += weight * exemplar.value
        self.exemplars[place] = exemplar


@dataclass(slots=True, kw_only=True)
class Tally:
    """All counts of one subject."""

    seen: float
    phases: dict[Phase, Times] = field(default_factory=dict)
    outcomes: Counter[str] = field(default_factory=Counter)
    samples: int = 0
    weights: tuple[float, float] = (0.0, 0.0)
    """The largest weight of this span of _WEIGHT_SECONDS and of the one before."""
    weights_since: float = 0.0


class Histograms:
    """What the metrics page shows. Not for several threads at once."""

    def __init__(
        self,
        bounds: Sequence[float],
        *,
        most_subjects: int = MOST_SUBJECTS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.bounds = tuple(bounds)
        self.subjects: dict[Subject, Tally] = {}
        self.refused = 0
        """Requests of subjects beyond `most_subjects`."""
        self._most = most_subjects
        self._clock = clock

    def add(self, replica: str, call: Call, weight: float) -> None:
        """Count one call as `weight` of them."""
        now = self._clock()
        tally = self._tally(Subject(model=call.model, version=call.counted_version, replica=replica), now)
        if tally is None:
            self.refused += 1
            return
        tally.seen = now
        tally.samples += 1
        tally.outcomes[call.outcome] += weight  # type: ignore[assignment] # a Counter counts floats as well
        # Rules divide bad requests by the largest weight: an old one must not hide them forever.
        if now - tally.weights_since >= _WEIGHT_SECONDS:
            tally.weights, tally.weights_since = (0.0, tally.weights[0]), now
        tally.weights = (max(tally.weights[0], weight), tally.weights[1])
        if call.outcome == "rejected":
            # It took no time: nothing was done.
            return
        for phase, interval in call.phases.items():
            times = tally.phases.get(phase) or self._times(tally, phase)
            exemplar = Exemplar({"trace_id": call.trace_id}, interval.seconds, call.request.end_ns / 1e9)
            times.add(bisect_left(self.bounds, interval.seconds), weight, exemplar)

    def copied(self) -> dict[Subject, Tally]:
        """Everything as it is now: what is counted later does not change it."""
        return {
            subject: replace(
                tally,
                outcomes=Counter(tally.outcomes),
                phases={
                    phase: replace(times, counts=list(times.counts), exemplars=list(times.exemplars))
                    for phase, times in tally.phases.items()
                },
            )
            for subject, tally in self.subjects.items()
        }

    def rebound(self, bounds: Sequence[float]) -> None:
        """Begin again with other bounds, unless they are the same: a fleet file has another threshold."""
        if tuple(bounds) != self.bounds:
            self.bounds, self.subjects = tuple(bounds), {}

    def _tally(self, subject: Subject, now: float) -> Tally | None:
        tally = self.subjects.get(subject)
        if tally is None:
            if len(self.subjects) >= self._most:
                self._forget_idle(now)
            # The first ones stay: invented names cannot displace a model with requests.
            if len(self.subjects) >= self._most:
                return None
            tally = self.subjects[subject] = Tally(seen=now, weights_since=now)
        return tally

    def _forget_idle(self, now: float) -> None:
        """Make room in the places of models that no client sends requests any more."""
        oldest = min(self.subjects, key=lambda subject: self.subjects[subject].seen)
        if now - self.subjects[oldest].seen > _IDLE_SECONDS:
            del self.subjects[oldest]

    def _times(self, tally: Tally, phase: Phase) -> Times:
        size = len(self.bounds) + 1
        times = tally.phases[phase] = Times(counts=[0.0] * size, exemplars=[None] * size)
        return times
