"""A model version in both windows: the times of its requests, and what changed. Pure.

A change is what goes beyond the normal variation: of the parts of the baseline, and by chance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from tritonobs import names
from tritonobs.clients.prometheus import Series
from tritonobs.timings.measured import StageSubject, Subject, Timing
from tritonobs.timings.promql import labels_of
from tritonobs.timings.stages import QUEUE, Row, StageTable

_NOTABLE_SECONDS = 0.002
# The slowest hundredth is a few requests, so it must grow by more than a mean.
_GROWTH, _TAIL_GROWTH = 1.25, 1.6
_FEWEST_FOR_TAIL = 300
"""Requests in each window: with fewer, the slowest hundredth is one or two of them."""
_MULTIPLE, _FEWEST_FOR_MULTIPLE, _NOTABLE_FOR_MULTIPLE = 2.0, 30, 0.001
"""A stage that takes twice as long counts, with this many requests in each window: not by chance."""
_LITTLE = 0.1
"""Of what requests take longer; a stage that takes twice as long and adds less did not slow them down."""
_WORTH_COMPARING = 0.01
EVERYWHERE_GROWTH = 1.1
"""When three quarters of a request's time grew by this much, it is not one stage."""
_ALL_BUT, _HALF = 0.25, 0.5
_OTHERS = 0.2

FEWEST_PARTS = 4
_ENOUGH_PARTS = 8
_MOST_PARTS = 0.9
"""One part of ten may be worse than usual: a garbage collection, the first request after a deployment."""
# The 95th percentile of a normal distribution lies this many standard deviations above its middle.
_P95_SIGMAS = 1.645
_SIGMAS = 3.0
_NONE = Timing(rate=0.0, mean=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A part of a request in both windows; a part that was not there before has no `before`.

    `usual` is the mean that nine of ten parts of the baseline stay below, None where unknown.
    """

    now: Row
    before: Row | None
    usual: float | None = None

    @property
    def was(self) -> Timing:
        """Its times before; none where it was not there."""
        return self.before.timing if self.before else _NONE

    @property
    def subject(self) -> Subject:
        """Model and version."""
        return (self.now.model, self.now.version)

    @property
    def added_seconds(self) -> float:
        """What it adds to a request that it did not add before."""
        return (self.now.seconds or 0.0) - self.seconds_before

    @property
    def seconds_before(self) -> float:
        """What it took of a request before."""
        return (self.before.seconds or 0.0) if self.before else 0.0

    @property
    def added_tail_seconds(self) -> float:
        """What it adds to the slowest hundredth, roughly: tails of stages do not simply add up."""
        return (self.now.timing.p99 or 0.0) - (self.was.p99 or 0.0)

    @property
    def growth(self) -> float:
        """Its mean as a multiple of what it was; 1 where nothing can be compared."""
        return growth(self.now.timing.mean, self.was.mean)

    @property
    def tail_growth(self) -> float:
        """Its slowest hundredth as a multiple of what it was; 1 where nothing can be compared."""
        return growth(self.now.timing.p99, self.was.p99)

    @property
    def is_unusual(self) -> bool:
        """Whether its mean is above what it was in most parts of the baseline."""
        return self.usual is None or (self.now.timing.mean or 0.0) > self.usual


@dataclass(frozen=True, kw_only=True)
class Case:
    """A model version that clients ask, in both windows.

    `before` is None when neither it nor another version of it was asked in the baseline.
    """

    now: StageTable
    before: StageTable | None
    usual: Spread

    @property
    def subject(self) -> Subject:
        """Model and version."""
        return (self.now.model, self.now.version)

    @property
    def was(self) -> Timing:
        """The times of whole requests before; none where there were none."""
        return self.before.request if self.before else _NONE

    @property
    def compared(self) -> Subject:
        """The model version of `before`; this one where there is none."""
        return (self.before.model, self.before.version) if self.before else self.subject

    @property
    def added_seconds(self) -> float:
        """How much longer a request takes than before; 0 when that is unknown."""
        if self.was.mean is None or self.now.request.mean is None:
            return 0.0
        return self.now.request.mean - self.was.mean

    @property
    def slower(self) -> bool:
        """Whether requests take notably longer: on average, or the slowest hundredth."""
        return self.slower_mean or self.slower_tail

    @cached_property
    def slower_mean(self) -> bool:
        """Whether requests take longer on average, more than chance and the baseline's own ups and downs."""
        if self.before is None:
            return False
        by_chance = chance(self.was, _requests(self.before), _requests(self.now))
        usual = self.usual.most("request", self.compared)
        return _grew(self.now.request.mean, self.was.mean, _GROWTH, usual) and self.added_seconds > by_chance

    @cached_property
    def slower_tail(self) -> bool:
        """Whether the slowest hundredth takes longer, where there are enough requests to have one."""
        if self.before is None or min(_requests(self.before), _requests(self.now)) < _FEWEST_FOR_TAIL:
            return False
        usual = self.usual.most("p99", (*self.compared, names.TOTAL_STAGE))
        return _grew(self.now.request.p99, self.was.p99, _TAIL_GROWTH, usual)

    def change_of(self, model: str, stage: str) -> Change | None:
        """The stage of this model, at any place in the request."""
        return next(
            # `changes` begin with the one that adds most: of a model called twice, the place that matters.
            (change for change in self.changes if change.now.model == model and change.now.name == stage),
            None,
        )

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """Leaves of the table, the one that adds most first."""
        before = {row.path: row for row in self.before.rows} if self.before else {}
        pairs = [
            Change(
                now=row,
                before=then,
                usual=self.usual.most("stage", (then.model, then.version, then.name)) if then else None,
            )
            for row in self.now.rows
            if row.leaf
            for then in (before.get(row.path),)
        ]
        return tuple(sorted(pairs, key=lambda change: -change.added_seconds))

    def multiplied(self, change: Change, batches: float) -> bool:
        """Whether a stage takes a multiple of its time, however small a part of the request it is.

        `batches` is how much fuller its batches are. Time beside stages is left out: a difference of two
        numbers doubles by itself.
        """
        now, before = change.now.timing, change.was
        if self.before is None or not now.mean or not before.mean:
            return False
        asked, asked_before = now.rate * self.now.window_seconds, before.rate * self.before.window_seconds
        return (
            min(asked, asked_before) >= _FEWEST_FOR_MULTIPLE
            and now.mean > _MULTIPLE * before.mean * self.usual_growth(change) * batches
            and now.mean - before.mean > max(_NOTABLE_FOR_MULTIPLE, chance(before, asked_before, asked))
            and _beyond_the_slowest(now, before)
            and change.is_unusual
            # As seen on a busy machine: requests took 52 ms more, a stage of 0.2 ms 1.7 ms more.
            and not (self.slower_mean and change.added_seconds < _LITTLE * self.added_seconds)
        )

    def usual_growth(self, apart: Change) -> float:
        """By how much the rest of a request grew: 1, or its middle where nearly all of the rest grew."""
        return self.common_growth(apart, _HALF) if self.common_growth(apart) >= EVERYWHERE_GROWTH else 1.0

    def common_growth(self, apart: Change | None = None, left_out: float = _ALL_BUT) -> float:
        """By how much all but this share of a request's time grew at least, one part set apart; 1 or more.

        Waiting in queues does not count: it grows out of proportion to everything else.
        """
        whole = self.was.mean or 0.0
        others = [
            change
            for change in self.changes
            if change is not apart and change.now.name != QUEUE
            if change.before and change.seconds_before > _WORTH_COMPARING * whole
        ]
        # Where one part is nearly all of a request, the little beside it says nothing about the machine.
        if sum(change.seconds_before for change in others) < _OTHERS * whole:
            return 1.0
        return max(1.0, _lowest([(change.growth, change.seconds_before) for change in others], left_out))


def _beyond_the_slowest(now: Timing, before: Timing) -> bool:
    """Whether more than a few requests are concerned: one that was held up doubles the mean of thirty."""
    return now.p95 is None or before.p95 is None or now.p95 > _GROWTH * before.p95


def growth(now: float | None, before: float | None) -> float:
    """How many times as much; 1 where nothing can be compared."""
    return now / before if now and before else 1.0


def _requests(table: StageTable) -> float:
    return table.request.rate * table.window_seconds


def _lowest(weighted: Sequence[tuple[float, float]], left_out: float) -> float:
    """The value that all but this share of the weight is at or above."""
    ordered = sorted(weighted)
    below = accumulate(weight for _, weight in ordered)
    enough = left_out * sum(weight for _, weight in ordered)
    return next((value for (value, _), sofar in zip(ordered, below, strict=True) if sofar > enough), 1.0)


def _grew(now: float | None, before: float | None, factor: float, usual: float | None) -> bool:
    if now is None or before is None:
        return False
    return now > factor * before and now - before > _NOTABLE_SECONDS and (usual is None or now > usual)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """What requests and stages took in the parts of the baseline, in seconds, and how many there were."""

    series: Mapping[str, tuple[Series, ...]]

    def most(self, name: str, subject: Subject | StageSubject) -> float | None:
        """`request`, the mean of a whole request; `requests` a second; `stage`, its mean; `p99` of a stage.

        What nine parts of ten stay below, or None where there are too few parts to tell.
        """
        labels = labels_of(subject)
        for series in self.series.get(name, ()):
            if labels.items() <= series.labels.items():
                values = sorted(value for _, value in series.points if math.isfinite(value))
                return values[_place(len(values))] if len(values) >= FEWEST_PARTS else None
        return None


def _place(parts: int) -> int:
    """The index of the part that nine of ten stay below; of eight or nine, all but the worst."""
    return min(math.ceil(_MOST_PARTS * parts) - 1, parts - 2 if parts >= _ENOUGH_PARTS else parts - 1)


def chance(before: Timing, requests_before: float, requests_now: float) -> float:
    """How far two means of this many requests lie apart by chance alone, at the most; seconds.

    As if both windows were drawn from what the percentiles of the first one show; 0 without percentiles.
    """
    if before.p95 is None or before.p50 is None or requests_before <= 0 or requests_now <= 0:
        return 0.0
    deviation = (before.p95 - before.p50) / _P95_SIGMAS
    return _SIGMAS * deviation * math.sqrt(1 / requests_before + 1 / requests_now)
