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
"""The burn rate that spends the budget in exactly one period; below it the promise is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BurnTier:
    """A pair of windows: both must burn faster than what spends `budget_share` in the long one."""

    name: str
    severity: Literal["critical", "warning"]
    long_seconds: Decimal
    short_seconds: Decimal
    budget_share: Decimal
    for_seconds: Decimal


BURN_TIERS: Final = (
    BurnTier(
        name="fast",
        severity="critical",
        long_seconds=_HOUR,
        short_seconds=5 * _MINUTE,
        budget_share=Decimal("0.02"),
        for_seconds=2 * _MINUTE,
    ),
    BurnTier(
        name="medium",
        severity="critical",
        long_seconds=6 * _HOUR,
        short_seconds=30 * _MINUTE,
        budget_share=Decimal("0.05"),
        for_seconds=15 * _MINUTE,
    ),
    BurnTier(
        name="slow",
        severity="warning",
        long_seconds=_DAY,
        short_seconds=2 * _HOUR,
        budget_share=Decimal("0.1"),
        for_seconds=_HOUR,
    ),
    BurnTier(
        name="long",
        severity="warning",
        long_seconds=3 * _DAY,
        short_seconds=6 * _HOUR,
        budget_share=Decimal("0.1"),
        for_seconds=3 * _HOUR,
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
    return max(SUSTAINABLE, tier.budget_share * period_days * _DAY / tier.long_seconds)


def error_budget(objective_ratio: Decimal) -> Decimal:
    """The share of requests that may be bad: 0.001 for an objective of 0.999, exactly."""
    return 1 - objective_ratio


def detection_seconds(
    tier: BurnTier, period_days: int, objective_ratio: Decimal, error_ratio: Decimal
) -> Decimal:
    """How long errors at `error_ratio` must last, from a clean state, until a tier's long window exceeds.

    `Infinity` when they never do.
    """
    threshold = burn_factor(tier, period_days) * error_budget(objective_ratio)
    if error_ratio <= threshold:
        return Decimal("Infinity")
    return threshold / error_ratio * tier.long_seconds
