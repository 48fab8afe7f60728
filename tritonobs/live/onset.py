"""Since when: the moment at which a series changed its level."""

from __future__ import annotations

import math
from itertools import accumulate, pairwise
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_FEWEST_POINTS = 8
_SIDE = 2
_CLEAR_DROP = 0.4
"""A change is named only when one step explains this share of the variance: noise has no beginning."""


def onset(points: Sequence[tuple[float, float]]) -> float | None:
    """When the series stepped from one level to another (Unix seconds); None when no moment stands out.

    The best single step in the least-squares sense, after a median over three points has taken spikes out.
    """
    finite = [(time, value) for time, value in points if math.isfinite(value)]
    if len(finite) < _FEWEST_POINTS:
        return None
    values = _smooth([value for _, value in finite])
    sums = [0.0, *accumulate(values)]
    squares = [0.0, *accumulate(value * value for value in values)]

    def spread(first: int, last: int) -> float:
        total = sums[last] - sums[first]
        return squares[last] - squares[first] - total * total / (last - first)

    whole = spread(0, len(values))
    splits = range(_SIDE, len(values) - _SIDE + 1)
    best = min(splits, key=lambda at: spread(0, at) + spread(at, len(values)))
    left = spread(0, best) + spread(best, len(values))
    if whole <= 0 or (whole - left) / whole < _CLEAR_DROP:
        return None
    return finite[best][0]


def _smooth(values: list[float]) -> list[float]:
    middle = [median(values[at - 1 : at + 2]) for at in range(1, len(values) - 1)]
    return [values[0], *middle, values[-1]]


def level_before(points: Sequence[tuple[float, float]], moment: float) -> float | None:
    """The middle value before a moment, or None without any."""
    values = [value for time, value in points if time < moment and math.isfinite(value)]
    return median(values) if values else None


def gaps(points: Sequence[tuple[float, float]], step_seconds: float) -> tuple[tuple[float, float], ...]:
    """Where points are missing for more than a step: (last seen, seen again)."""
    return tuple(
        (left, right) for (left, _), (right, _) in pairwise(points) if right - left > 1.5 * step_seconds
    )
