"""How much of something there is, second by second: a number, or a function of the seconds so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.fleet_sim.series import Array

    Curve: TypeAlias = float | Callable[[Array], Array]

DAY = 86_400


def at(curve: Curve, seconds: Array) -> Array:
    """The values of a curve."""
    return curve(seconds) if callable(curve) else np.full(len(seconds), float(curve))


def between(start: float, end: float, value: Curve, *, otherwise: Curve = 0) -> Curve:
    """One curve from `start` to `end`, another before and after."""
    return lambda seconds: np.where(
        (seconds >= start) & (seconds < end), at(value, seconds), at(otherwise, seconds)
    )


def steps(*levels: tuple[float, float]) -> Curve:
    """`(from_second, value)` in their order; 0 before the first."""

    def curve(seconds: Array) -> Array:
        starts, values = (np.array(column) for column in zip((-np.inf, 0.0), *levels, strict=True))
        return np.asarray(values[np.searchsorted(starts, seconds, side="right") - 1])

    return curve


def ramp(start: float, end: float, first: float, last: float) -> Curve:
    """A straight line from one value to another, level before and after."""
    return lambda seconds: np.interp(seconds, [start, end], [first, last])


def every(period: float, lasting: float, value: Curve, *, first: float = 0, otherwise: Curve = 0) -> Curve:
    """One curve for `lasting` seconds of each `period`, the other in between."""
    return lambda seconds: np.where(
        (seconds >= first) & ((seconds - first) % period < lasting),
        at(value, seconds),
        at(otherwise, seconds),
    )


def week(peak: float, *, night: float = 0.3, weekend: float = 0.6) -> Curve:
    """Days with a peak at noon, nights and weekends at shares of it; the world begins on a Monday."""

    def curve(seconds: Array) -> Array:
        sun = (1 - np.cos(2 * np.pi * (seconds % DAY) / DAY)) / 2
        days_off = (seconds // DAY).astype(int) % 7 >= 5
        return np.asarray(peak * (night + (1 - night) * sun) * np.where(days_off, weekend, 1.0))

    return curve
