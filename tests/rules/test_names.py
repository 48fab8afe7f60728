"""The mixin and `names` say the same words, and the mixin's own knobs are those the plan computes."""

import re
from decimal import Decimal
from pathlib import Path

import pytest

from support.case import needed
from support.record_names import record_names
from tritonobs import names
from tritonobs.plan.build import build_plan
from tritonobs.plan.objectives import (
    AGAIN_RATIO,
    BURN_TIERS,
    FEWEST_BAD_REQUESTS,
    HIGHEST_THRESHOLD,
    LASTING_RATIO,
    burn_factor,
)
from tritonobs.plan.rules import rule_windows
from tritonobs.render.rules import clock_knobs, evaluate_mixin, mixin_knobs, render_rules
from tritonobs.spec.load import read_text
from tritonobs.spec.rules import ALERTS
from tritonobs.units import format_number, parse_duration


def evaluated(scrape, period=30):
    """Records and alerts for a scrape interval and an SLO period."""
    windows = rule_windows(Decimal(scrape), Decimal(scrape))
    rules = evaluate_mixin(clock_knobs(Decimal(scrape), Decimal(scrape)) | {"sloPeriod": f"{period}d"})
    every = [rule for file in rules.values() for group in file["groups"] for rule in group["rules"]]
    found = {kind: [rule for rule in every if kind in rule] for kind in ("record", "alert")}
    return windows, found


NOT_APART = {"only in the rules": set(), "only in the names": set()}


def _apart(made, named):
    """The difference by name: of two long lists a person finds it only by reading both."""
    return dict(zip(NOT_APART, (set(made) - set(named), set(named) - set(made)), strict=True))


@pytest.mark.parametrize(("scrape", "period"), [(1, 7), (5, 30), (15, 28), (60, 90)])
def test_every_record_is_named(scrape, period):
    """The records of the evaluated mixin are those of `names`; one is made in two halves, by stage."""
    windows, found = evaluated(scrape, period)
    expected = record_names(short=windows.short, medium=windows.medium, period=f"{period}d")

    made = [rule["record"] for rule in found["record"]]

    halves = f"model_version_stage_le:tritonobs_stage_duration_seconds_bucket:rate{windows.medium}"
    assert _apart(made, expected) == NOT_APART
    assert sorted(made) == sorted([*expected, halves])


def test_every_alert_is_named():
    """The alerts of the evaluated mixin are those of `names`, and no two share a name."""
    _, found = evaluated(5)

    made = [rule["alert"] for rule in found["alert"]]

    assert _apart(made, ALERTS) == NOT_APART
    assert len(made) == len(set(made))


def test_every_alert_has_a_case_in_which_it_fires_and_one_in_which_it_is_silent(cases):
    """They are in tests/rules/cases, by `fires` and `silent`; the watchdog is never silent."""
    checks = [check for file in cases.values() for case in file for check in case.checks]
    asked = {
        fires: {
            name for check in checks if test(check) for name in re.findall(r'alertname="(\w+)"', check.expr)
        }
        for fires, test in (
            (True, lambda check: check.expr.startswith("ALERTS") and check.samples),
            (False, lambda check: "count_over_time(ALERTS" in check.expr and not check.samples),
        )
    }

    assert {fires: sorted(set(ALERTS) - {names.WATCHDOG} - found) for fires, found in asked.items()} == {
        True: [],
        False: [],
    }


def test_every_case_asks_for_rules_that_exist(cases, generated):
    """Of a renamed rule, or one whose extension is gone, a case would say nothing else than that."""
    for file in cases.values():
        for case in file:
            assert needed(generated(case.world.scrape_seconds), case.rules, case.given), case.says


def test_rules_are_the_same_for_every_fleet():
    """A thousand models, their versions, limits and objectives change no rule and add none."""
    head = 'fleet: shop\nreplicas: [{name: a, url: "http://10.0.0.1:8000"}]\nmodels:\n'
    many = "".join(f"  m{n}: {{qps_limit: {n + 1}, versions: {{1: {{}}, 2: {{}}}}}}\n" for n in range(1000))

    one, thousand = (
        render_rules(build_plan(read_text(head + models, "fleet.yaml").spec, Path("/etc/shop")))
        for models in ("  m: {}\n", many)
    )

    assert thousand == one


@pytest.mark.parametrize("scrape", [1, 5, 15, 60])
def test_python_and_the_mixin_compute_the_same_windows(scrape):
    """Windows are in the names of records, which Python asks for."""
    windows = rule_windows(Decimal(scrape), Decimal(scrape))

    knobs = mixin_knobs(clock_knobs(Decimal(scrape), Decimal(scrape)))

    assert (knobs["shortWindow"], knobs["mediumWindow"]) == (windows.short, windows.medium)


@pytest.mark.parametrize("period", [7, 28, 30, 90])
def test_python_and_the_mixin_alert_at_the_same_burn_rates(period):
    """A backtest of an objective judges by the tiers, factors and least counts of the rules."""
    _, found = evaluated(5, period)
    knobs = mixin_knobs({"sloPeriod": f"{period}d"})

    assert knobs["sloMinimumBad"] == FEWEST_BAD_REQUESTS
    assert knobs["sloThresholdCap"] == float(HIGHEST_THRESHOLD)
    assert (knobs["burnLastingRatio"], knobs["burnAgainRatio"]) == (float(LASTING_RATIO), float(AGAIN_RATIO))
    assert [tier["name"] for tier in knobs["burnTiers"]] == [tier.name for tier in BURN_TIERS]
    exprs = {rule["record"]: rule["expr"] for rule in found["record"]}
    for tier, own in zip(BURN_TIERS, knobs["burnTiers"], strict=True):
        pairs = [parse_duration(own[key]) for key in ("long", "short")]
        assert (own["severity"], *pairs) == (tier.severity, tier.long_seconds, tier.short_seconds)
        assert parse_duration(own["again"]) == tier.again_seconds
        assert parse_duration(own["lately"]) == tier.lately_seconds
        assert parse_duration(own["age"] or "0s") == tier.age_seconds
        factor = format_number(burn_factor(tier, period).quantize(Decimal("0.0001")))
        judged = f"_{tier.name}:near" if tier.name == "fast" else ":threshold_ratio"
        assert f"clamp_max({factor} * " in exprs[f"slo:error_budget_burn{judged}"]
