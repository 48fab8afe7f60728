"""The times of requests, decided before the run: no response delays a request."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Literal

Arrivals = Literal["even", "poisson"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """`seconds` at `qps`, or rising (falling) evenly from `qps` to `end_qps`."""

    qps: float
    seconds: float
    end_qps: float | None = None

    def __post_init__(self) -> None:
        last = self.qps if self.end_qps is None else self.end_qps
        if not (math.isfinite(self.qps) and math.isfinite(last) and min(self.qps, last) >= 0):
            raise ValueError(f"{self.qps!r} to {last!r} are not rates; requests per second are 0 or more")
        if not (math.isfinite(self.seconds) and self.seconds > 0):
            raise ValueError(f"{self.seconds!r} is not a duration; seconds are more than 0")

    @property
    def requests(self) -> float:
        """How many requests fall into it, on average; need not be whole."""
        return (self.qps + (self.qps if self.end_qps is None else self.end_qps)) / 2 * self.seconds

    def moment(self, requests: float) -> float:
        """The second, from the segment's start, at which this many requests have gone out."""
        if requests <= 0:
            return 0.0
        growth = ((self.qps if self.end_qps is None else self.end_qps) - self.qps) / self.seconds
        # The root of qps t + growth t² / 2 = requests, in the form that holds for growth 0 and for qps 0.
        return 2 * requests / (self.qps + math.sqrt(max(self.qps**2 + 2 * growth * requests, 0.0)))


def send_times(
    segments: Sequence[Segment], *, arrivals: Arrivals = "even", seed: int = 0
) -> tuple[float, ...]:
    """Seconds from the start at which each request goes out, ascending.

    `even` keeps the same distance between requests; `poisson` is what independent clients do. The same seed
    gives the same times.
    """
    times: list[float] = []
    marks = _marks(arrivals, seed)
    mark, began, before = next(marks), 0.0, 0.0
    for segment in segments:
        while mark < before + segment.requests - 1e-9:
            times.append(began + segment.moment(mark - before))
            mark = next(marks)
        began += segment.seconds
        before += segment.requests
    return tuple(times)


def _marks(arrivals: Arrivals, seed: int) -> Iterator[float]:
    """Where requests lie on the axis of expected requests."""
    if arrivals == "even":
        return (float(number) for number in count())
    return _sums(random.Random(seed))  # noqa: S311 (spacing of test traffic, no secret)


def _sums(source: random.Random) -> Iterator[float]:
    total = 0.0
    while True:
        total += source.expovariate(1.0)
        yield total


def total_seconds(segments: Iterable[Segment]) -> float:
    """How long the whole schedule takes."""
    return sum(segment.seconds for segment in segments)
