"""The mixin and `names` say the same words."""

import re
from decimal import Decimal
from pathlib import Path

import pytest

from support.case import needed
from support.record_names import record_names
from tritonobs import names
from tritonobs.plan.build import build_plan
from tritonobs.render.rules import clock_knobs, evaluate_mixin, mixin_knobs, render_rules
from tritonobs.spec.load import read_text
from tritonobs.spec.rules import ALERTS


def evaluated(scrape, period=30):
    """Records and alerts for a scrape interval and an SLO period."""
    config = clock_knobs(Decimal(scrape), Decimal(scrape)) | {"sloPeriod": f"{period}d"}
    rules, knobs = evaluate_mixin(config), mixin_knobs(config)
    every = [rule for file in rules.values() for group in file["groups"] for rule in group["rules"]]
    found = {kind: [rule for rule in every if kind in rule] for kind in ("record", "alert")}
    return knobs, found


NOT_APART = {"only in the rules": set(), "only in the names": set()}


def _apart(made, named):
    """The difference by name: of two long lists a person finds it only by reading both."""
    return dict(zip(NOT_APART, (set(made) - set(named), set(named) - set(made)), strict=True))


@pytest.mark.parametrize(("scrape", "period"), [(1, 7), (5, 30), (15, 28), (60, 90)])
def test_every_record_is_named(scrape, period):
    """The records of the evaluated mixin are those of `names`; one is made in two halves, by stage."""
    knobs, found = evaluated(scrape, period)
    short, medium = knobs["shortWindow"], knobs["mediumWindow"]
    expected = record_names(short=short, medium=medium, period=f"{period}d")

    made = [rule["record"] for rule in found["record"]]

    halves = f"model_version_stage_le:tritonobs_stage_duration_seconds_bucket:rate{medium}"
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
        kind: {
            name for check in checks if test(check) for name in re.findall(r'alertname="(\w+)"', check.expr)
        }
        for kind, test in (
            ("fires", lambda check: check.expr.startswith("ALERTS") and check.samples),
            ("silent", lambda check: "count_over_time(ALERTS" in check.expr and not check.samples),
        )
    }

    for kind, found in asked.items():
        lacking = set(ALERTS) - {names.WATCHDOG} - found
        assert lacking == set(), f"write a case with `{kind}` in tests/rules/cases"


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
