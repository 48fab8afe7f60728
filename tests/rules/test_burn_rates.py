"""Burn rates at which the rules alert: derived from budget share, period and window."""

import pytest

from tritonobs.render.rules import evaluate_mixin, mixin_knobs
from tritonobs.units import format_number, parse_duration


@pytest.mark.parametrize(
    ("period_days", "factors"),
    [
        pytest.param(30, (14.4, 6, 3, 1), id="30 days give the workbook's factors"),
        pytest.param(28, (13.44, 5.6, 2.8, 1), id="28 days give Sloth's, never below the sustainable rate"),
        pytest.param(7, (3.36, 1.4, 1, 1), id="a week never alerts on a kept promise"),
        pytest.param(90, (43.2, 18, 9, 3), id="90 days give larger ones"),
    ],
)
def test_factors_follow_from_the_period(period_days, factors):
    """A factor is budget share x period / long window, at least 1."""
    config = {"sloPeriod": f"{period_days}d"}
    groups = evaluate_mixin(config)["records"]["groups"]
    exprs = {rule["record"]: rule["expr"] for group in groups for rule in group["rules"] if "record" in rule}

    for tier, factor in zip(mixin_knobs(config)["burnTiers"], factors, strict=True):
        judged = f"_{tier['name']}:near" if tier["name"] == "fast" else ":threshold_ratio"
        assert f"clamp_max({format_number(factor)} * " in exprs[f"slo:error_budget_burn{judged}"]


def test_short_windows_are_a_twelfth_of_long_ones():
    """As in the workbook: long enough to be no accident, short enough to stop soon."""
    tiers = mixin_knobs({})["burnTiers"]

    assert {parse_duration(tier["long"]) / parse_duration(tier["short"]) for tier in tiers} == {12}
