"""Error budgets and burn rates: the one place where the factors of multi-window alerts are computed.

The pairs of windows are those of the SRE workbook, chapter 5, table 5-8, with the fourth row that Sloth and
kubernetes-mixin add.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal

_MINUTE = Decimal(60)
_HOUR = Decimal(3600)
_DAY = Decimal(86_400)

SHORTEST_PERIOD_DAYS: Final = 7
LONGEST_PERIOD_DAYS: Final = 90
SUSTAINABLE = Decimal(1)
"""The burn rate that spends the budget in exactly one period; below it the SLO is met."""
FEWEST_BAD_REQUESTS: Final = 5
"""Fewer bad requests than this in the long window of a tier are chance, however large their share."""
LASTING_RATIO: Final = Decimal("0.8")
"""A burn that has begun lasts while its windows are above this part of their thresholds."""
AGAIN_RATIO: Final = Decimal("0.5")
"""The same for the longer window of one that came back."""
HIGHEST_THRESHOLD: Final = Decimal("0.9")
"""A weak objective times a large factor could ask for more than 100 % errors: cut there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BurnTier:
    """A pair of windows: both must burn faster than what spends `budget_share` in the long one."""

    name: str
    severity: Literal["critical", "warning"]
    long_seconds: Decimal
    short_seconds: Decimal
    budget_share: Decimal
    again_seconds: Decimal
    """A burn that began twice lately lasts until this window is calm, too."""
    lately_seconds: Decimal
    age_seconds: Decimal = Decimal(0)
    """How old an SLO must be: a burn that faster tiers leave to this one needs that time."""


# With a period of 30 days the factors are 14.4, 6, 3 and 1. A short window is a twelfth of its long one.
BURN_TIERS: Final = (
    BurnTier(
        name="fast",
        severity="critical",
        long_seconds=_HOUR,
        short_seconds=5 * _MINUTE,
        budget_share=Decimal("0.02"),
        # Errors one minute in ten are then one message; keep_firing_for would lengthen every single outage.
        again_seconds=_HOUR,
        lately_seconds=6 * _HOUR,
    ),
    BurnTier(
        name="medium",
        severity="critical",
        long_seconds=6 * _HOUR,
        short_seconds=30 * _MINUTE,
        budget_share=Decimal("0.05"),
        again_seconds=2 * _HOUR,
        lately_seconds=_DAY,
    ),
    BurnTier(
        name="slow",
        severity="warning",
        long_seconds=_DAY,
        short_seconds=2 * _HOUR,
        budget_share=Decimal("0.1"),
        again_seconds=6 * _HOUR,
        lately_seconds=3 * _DAY,
        age_seconds=12 * _HOUR,
    ),
    BurnTier(
        name="long",
        severity="warning",
        long_seconds=3 * _DAY,
        short_seconds=6 * _HOUR,
        budget_share=Decimal("0.1"),
        again_seconds=_DAY,
        lately_seconds=7 * _DAY,
        age_seconds=_DAY,
    ),
)


def burn_factor(tier: BurnTier, period_days: int) -> Decimal:
    """The burn rate at which a tier alerts: 14.4 for 2 % of 30 days in 1 hour, never below `SUSTAINABLE`.

    Raises:
        ValueError: the period is not between 7 and 90 days.
    """
    if not SHORTEST_PERIOD_DAYS <= period_days <= LONGEST_PERIOD_DAYS:
        raise ValueError(
            f"a period of {period_days} days: allowed are {SHORTEST_PERIOD_DAYS} to {LONGEST_PERIOD_DAYS}"
        )
    # With a period of 7 days the slow and the long tier would alert while the SLO is met.
    return max(SUSTAINABLE, tier.budget_share * period_days * _DAY / tier.long_seconds)


def error_budget(objective_ratio: Decimal) -> Decimal:
    """The share of requests that may be bad: 0.001 for an objective of 0.999, exactly."""
    return 1 - objective_ratio
