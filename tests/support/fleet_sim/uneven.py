"""Traffic that varies more than chance does: the rate is drawn anew, too.

Every curve is made of a rate and a seed; the same seed makes the same curve. `cv` is the coefficient of
variation of the rate: its standard deviation as a share of its mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from support.fleet_sim.curves import DAY, at

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.fleet_sim.curves import Curve
    from support.fleet_sim.series import Array

MINUTE: Final = 60


def gamma_minutes(qps: Curve, cv: float, seed: int) -> Curve:
    """Each minute has a rate of its own, which says nothing about the next one."""
    return _by_minute(qps, lambda dice, count: dice.gamma(1 / cv**2, cv**2, count), seed)


def correlated(qps: Curve, cv: float, seed: int, *, memory_seconds: float = 300) -> Curve:
    """A rate that wanders and comes back: of a minute's excess 1/e is left after `memory_seconds`."""

    def factors(dice: np.random.Generator, count: int) -> Array:
        kept = np.exp(-MINUTE / memory_seconds)
        pushes = dice.normal(size=count) * np.sqrt(1 - kept**2)
        state, states = float(dice.normal()), np.empty(count)
        for minute, push in enumerate(pushes):
            state = kept * state + push
            states[minute] = state
        return np.clip(1 + cv * states, 0, None)

    return _by_minute(qps, factors, seed)


def daily_wave(peak: float, *, night: float = 0.4) -> Curve:
    """A day with its peak at noon and `night` of it at midnight."""
    return lambda seconds: peak * (night + (1 - night) * (1 - np.cos(2 * np.pi * (seconds % DAY) / DAY)) / 2)


def bursts(qps: Curve, times: float, seed: int, *, lasting: float = 5, apart: float = 600) -> Curve:
    """Now and then, every `apart` seconds on average, `times` as many for `lasting` seconds."""

    def curve(seconds: Array) -> Array:
        dice = np.random.default_rng(seed)
        starts = np.cumsum(dice.exponential(apart, size=int(seconds[-1] / apart * 2) + 20))
        since = seconds - starts[np.maximum(np.searchsorted(starts, seconds, side="right") - 1, 0)]
        return np.where((since >= 0) & (since < lasting), times, 1.0) * at(qps, seconds)

    return curve


def _by_minute(qps: Curve, factors: Callable[[np.random.Generator, int], Array], seed: int) -> Curve:
    def curve(seconds: Array) -> Array:
        drawn = factors(np.random.default_rng(seed), int(seconds[-1] // MINUTE) + 1)
        return np.asarray(drawn[(seconds // MINUTE).astype(int)] * at(qps, seconds))

    return curve
