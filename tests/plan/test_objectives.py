"""Burn-rate arithmetic is exact, and derived from budget share, period and window."""

from decimal import Decimal

import pytest

from tritonobs.plan.objectives import BURN_TIERS, burn_factor, error_budget


@pytest.mark.parametrize(
    ("period_days", "factors"),
    [
        pytest.param(30, ("14.4", "6", "3", "1"), id="30 days give the workbook's factors"),
        pytest.param(
            28, ("13.44", "5.6", "2.8", "1"), id="28 days give Sloth's, never below the sustainable rate"
        ),
        pytest.param(7, ("3.36", "1.4", "1", "1"), id="a week never alerts on a kept promise"),
        pytest.param(90, ("43.2", "18", "9", "3"), id="90 days give larger ones"),
    ],
)
def test_factors_follow_from_the_period(period_days, factors):
    """A factor is budget share x period / long window, at least 1."""
    assert tuple(burn_factor(tier, period_days) for tier in BURN_TIERS) == tuple(map(Decimal, factors))


@pytest.mark.parametrize("period_days", [6, 91])
def test_a_period_out_of_range_is_refused(period_days):
    """7 to 90 days are allowed."""
    with pytest.raises(ValueError, match="7 to 90"):
        burn_factor(BURN_TIERS[0], period_days)


def test_error_budget_is_exact():
    """No binary fractions: 1 - 0.999 is 0.001."""
    assert error_budget(Decimal("0.999")) == Decimal("0.001")


def test_short_windows_are_a_twelfth_of_long_ones():
    """As in the workbook: long enough to be no accident, short enough to stop soon."""
    assert {tier.long_seconds / tier.short_seconds for tier in BURN_TIERS} == {12}
