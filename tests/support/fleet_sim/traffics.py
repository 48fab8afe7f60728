"""The traffics that limits are measured with: around four fifths of a limit, in which nothing is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from support.fleet_sim.curves import at
from support.fleet_sim.uneven import bursts, correlated, daily_wave, gamma_minutes

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.fleet_sim.curves import Curve
    from support.fleet_sim.series import Array

SHARE: Final = 0.8
LIMITS: Final = (1, 8, 40, 400, 4000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """A kind of traffic; `curve` makes the rate of a level, which is any other curve, and a seed."""

    says: str
    curve: Callable[[Curve, int], Curve]
    tick_seconds: float = 5
    beyond: bool = False
    """Rougher than what is promised; measured to say what happens then."""

    def at_limit(self, limit: float, seed: int) -> Curve:
        """Around four fifths of a limit."""
        return self.curve(SHARE * limit, seed)


def _waves(level: Curve, seed: int) -> Curve:
    """Minutes that vary on a day that has its noon at the level."""
    wave = daily_wave(1.0)
    return gamma_minutes(lambda seconds: at(wave, seconds) * at(level, seconds), 0.15, seed)


def _wave(level: Curve, _: int) -> Curve:
    wave = daily_wave(1.0)

    def curve(seconds: Array) -> Array:
        return at(wave, seconds) * at(level, seconds)

    return curve


TRAFFICS: Final = {
    "poisson": Traffic(says="Poisson", curve=lambda level, _: level),
    "gamma-0.10": Traffic(
        says="gamma minutes, CV 0.10", curve=lambda level, seed: gamma_minutes(level, 0.1, seed)
    ),
    "gamma-0.15": Traffic(
        says="gamma minutes, CV 0.15", curve=lambda level, seed: gamma_minutes(level, 0.15, seed)
    ),
    "gamma-0.25": Traffic(
        says="gamma minutes, CV 0.25", curve=lambda level, seed: gamma_minutes(level, 0.25, seed)
    ),
    "ar-0.15": Traffic(
        says="AR(1) of 5 min, CV 0.15", curve=lambda level, seed: correlated(level, 0.15, seed)
    ),
    "ar-0.25": Traffic(
        says="AR(1) of 5 min, CV 0.25", curve=lambda level, seed: correlated(level, 0.25, seed)
    ),
    "wave": Traffic(says="daily wave, noon at 0.8", curve=_wave),
    "wave-0.15": Traffic(says="daily wave, CV 0.15 on it", curve=_waves),
    "bursts-2": Traffic(
        says="bursts of 5 s, twice as many", curve=lambda level, seed: bursts(level, 2, seed), tick_seconds=1
    ),
    "bursts-3": Traffic(
        says="bursts of 5 s, 3 times as many",
        curve=lambda level, seed: bursts(level, 3, seed),
        tick_seconds=1,
    ),
    "bursts-5": Traffic(
        says="bursts of 5 s, 5 times as many",
        curve=lambda level, seed: bursts(level, 5, seed),
        tick_seconds=1,
        beyond=True,
    ),
}
