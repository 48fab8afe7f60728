"""How much numbers move when nothing is wrong: in the parts of the baseline, and by chance alone. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tritonobs import names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tritonobs.clients.prometheus import Series
    from tritonobs.live.timings import StageSubject, Subject, Timing

FEWEST_PARTS = 4
_MOST_PARTS = 0.9
"""One part of ten may be worse than usual: a garbage collection, the first request after a deployment."""
_P95_SIGMAS = 1.645
_SIGMAS = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """What requests and stages took in the parts of the baseline, in seconds, and how many there were.

    Each answer is what nine parts of ten stay below, or None where there are too few parts to tell.
    """

    series: Mapping[str, tuple[Series, ...]]

    def request(self, subject: Subject) -> float | None:
        """The mean of a whole request, as Triton counts it."""
        return self._most("request", {names.MODEL: subject[0], names.VERSION: subject[1]})

    def requests(self, subject: Subject) -> float | None:
        """Requests a second."""
        return self._most("requests", {names.MODEL: subject[0], names.VERSION: subject[1]})

    def stage(self, subject: StageSubject) -> float | None:
        """The mean of a stage."""
        return self._most("stage", _labels(subject))

    def tail(self, subject: StageSubject) -> float | None:
        """The 99th percentile of a stage."""
        return self._most("p99", _labels(subject))

    def _most(self, name: str, labels: Mapping[str, str]) -> float | None:
        for series in self.series.get(name, ()):
            if labels.items() <= series.labels.items():
                values = sorted(value for _, value in series.points if math.isfinite(value))
                return (
                    values[math.ceil(_MOST_PARTS * len(values)) - 1] if len(values) >= FEWEST_PARTS else None
                )
        return None


def chance(before: Timing, requests_before: float, requests_now: float) -> float:
    """How far two means of so many requests lie apart by chance alone, at the most; seconds.

    As if both windows were drawn from what the percentiles of the first one show; 0 without percentiles.
    """
    if before.p95 is None or before.p50 is None or requests_before <= 0 or requests_now <= 0:
        return 0.0
    deviation = (before.p95 - before.p50) / _P95_SIGMAS
    return _SIGMAS * deviation * math.sqrt(1 / requests_before + 1 / requests_now)


def _labels(subject: StageSubject) -> dict[str, str]:
    return {names.MODEL: subject[0], names.VERSION: subject[1], names.STAGE: subject[2]}
