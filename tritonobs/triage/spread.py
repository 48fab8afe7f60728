"""The normal variation of numbers: in the parts of the baseline, and by chance. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tritonobs.timings.promql import labels_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tritonobs.clients.prometheus import Series
    from tritonobs.timings.measured import StageSubject, Subject, Timing

FEWEST_PARTS = 4
_ENOUGH_PARTS = 8
_MOST_PARTS = 0.9
"""One part of ten may be worse than usual: a garbage collection, the first request after a deployment."""
# The 95th percentile of a normal distribution lies so many standard deviations above its middle.
_P95_SIGMAS = 1.645
_SIGMAS = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """What requests and stages took in the parts of the baseline, in seconds, and how many there were.

    Each answer is what nine parts of ten stay below, or None where there are too few parts to tell.
    """

    series: Mapping[str, tuple[Series, ...]]

    def request(self, subject: Subject) -> float | None:
        """The mean of a whole request, as Triton counts it."""
        return self._most("request", labels_of(subject))

    def requests(self, subject: Subject) -> float | None:
        """Requests a second."""
        return self._most("requests", labels_of(subject))

    def stage(self, subject: StageSubject) -> float | None:
        """The mean of a stage."""
        return self._most("stage", labels_of(subject))

    def tail(self, subject: StageSubject) -> float | None:
        """The 99th percentile of a stage."""
        return self._most("p99", labels_of(subject))

    def _most(self, name: str, labels: Mapping[str, str]) -> float | None:
        for series in self.series.get(name, ()):
            if labels.items() <= series.labels.items():
                values = sorted(value for _, value in series.points if math.isfinite(value))
                return values[_place(len(values))] if len(values) >= FEWEST_PARTS else None
        return None


def _place(parts: int) -> int:
    """Where in order the part is that nine of ten stay below; of eight or nine, all but the worst."""
    return min(math.ceil(_MOST_PARTS * parts) - 1, parts - 2 if parts >= _ENOUGH_PARTS else parts - 1)


def chance(before: Timing, requests_before: float, requests_now: float) -> float:
    """How far two means of so many requests lie apart by chance alone, at the most; seconds.

    As if both windows were drawn from what the percentiles of the first one show; 0 without percentiles.
    """
    if before.p95 is None or before.p50 is None or requests_before <= 0 or requests_now <= 0:
        return 0.0
    deviation = (before.p95 - before.p50) / _P95_SIGMAS
    return _SIGMAS * deviation * math.sqrt(1 / requests_before + 1 / requests_now)
