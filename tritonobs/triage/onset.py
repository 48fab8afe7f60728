"""The moment at which a series left its level. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from statistics import median

_FEWEST_POINTS = 8
# `_smooth` leaves both ends as they are: a level of one point could be a spike there.
_SIDE = 2
_CLEAR_DROP = 0.4
"""A change is named only when one step explains this share of the variance: noise has no onset."""
_LEFT = 0.1
"""A series has left its level when it went this share of the way, and more than noise does."""
# 1.4826 times the median absolute deviation estimates the standard deviation of normal noise.
_NOISE, _MAD = 3.0, 1.4826
_HALF_WAY = 0.5


def onset(
    points: Sequence[tuple[float, float]], window_seconds: float = 0.0, *, falls: bool | None = None
) -> float | None:
    """When the series left one level for another (Unix seconds); None when there is no clear moment.

    With `falls`, only a step downwards counts (True), or one upwards (False): the end of a fault is not its
    start.

    First the best single step in the least-squares sense, after a median over three points has taken
    spikes out;
    then back to where the series began to move. Each point is a mean over `window_seconds` before it, so
    that a sudden change is a slope of that length.
    """
    finite = [(time, value) for time, value in points if math.isfinite(value)]
    if len(finite) < _FEWEST_POINTS:
        return None
    values = _smooth([value for _, value in finite])
    best = _step(values)
    if best is None:
        return None
    low, high = median(values[:best]), median(values[best:])
    if falls is not None and low != high and (high < low) != falls:
        return onset(finite[:best], window_seconds, falls=falls)
    # Medians can be equal where means differ, and the shares below divide by their distance.
    if low == high:
        return finite[best][0]
    noise = _MAD * median(abs(value - low) for value in values[:best])
    gone = min(_HALF_WAY, max(_LEFT, _NOISE * noise / abs(high - low)))
    first = best
    while first > 1 and (values[first - 1] - low) / (high - low) > gone:
        first -= 1
    while first < len(values) - 1 and (values[first] - low) / (high - low) <= gone:
        first += 1
    moment, before = finite[first][0], finite[first - 1][0]
    return moment - min(moment - before, window_seconds) / 2 - gone * window_seconds


def _step(values: Sequence[float]) -> int | None:
    """Where the best single step is; None when it explains too little."""
    sums = [0.0, *accumulate(values)]
    squares = [0.0, *accumulate(value * value for value in values)]

    def spread(first: int, last: int) -> float:
        total = sums[last] - sums[first]
        return squares[last] - squares[first] - total * total / (last - first)

    whole = spread(0, len(values))
    splits = range(_SIDE, len(values) - _SIDE + 1)
    best = min(splits, key=lambda at: spread(0, at) + spread(at, len(values)))
    left = spread(0, best) + spread(best, len(values))
    return None if whole <= 0 or (whole - left) / whole < _CLEAR_DROP else best


def _smooth(values: list[float]) -> list[float]:
    middle = [median(values[at - 1 : at + 2]) for at in range(1, len(values) - 1)]
    return [values[0], *middle, values[-1]]
