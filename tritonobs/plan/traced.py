"""The bounds of the traced times' histograms, and the one value that stands for a bucket.

24 bounds a decade from 0.1 ms to 60 s. The geometric middle of a bucket is at most 4.92 % away from any time
in it, so a quantile that is read as the middle of its bucket is that near to the true one, however the times
are spread. Prometheus' own reading, a straight line through the bucket, may be 10 % away where all take
equally long.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from tritonobs.plan.objectives import TRACED_SECONDS

LOWEST_SECONDS, HIGHEST_SECONDS = map(float, TRACED_SECONDS)
A_DECADE: Final = 24
_DIGITS = 6
_ROUNDING = 1e-4
"""Of a step: how far a bound of so many digits may be from its place."""
BOUNDS: Final = tuple(
    float(f"{LOWEST_SECONDS * 10 ** (step / A_DECADE):.{_DIGITS}g}")
    for step in range(math.ceil(math.log10(HIGHEST_SECONDS / LOWEST_SECONDS) * A_DECADE) + 1)
)


def with_thresholds(thresholds: Iterable[float]) -> tuple[float, ...]:
    """The bounds, and those that latency objectives name: each is counted exactly."""
    return tuple(sorted({*BOUNDS, *thresholds}))


def middle(seconds: float) -> float:
    """What stands for every time in the bucket of this one; the rules compute the same."""
    step = math.ceil(math.log10(max(seconds, LOWEST_SECONDS) / LOWEST_SECONDS) * A_DECADE - _ROUNDING)
    return LOWEST_SECONDS * math.pow(10.0, (step - 0.5) / A_DECADE)
