"""The mixin and `names` say the same words, and the mixin's own knobs are those the plan computes."""

import json
from decimal import Decimal

import pytest

from tritonobs import assets, names
from tritonobs.plan.windows import rule_windows
from tritonobs.render.rules import evaluate_mixin, period_knobs, window_knobs


def evaluated(scrape, period=30):
    """Records and alerts for a scrape interval and an SLO period."""
    windows = rule_windows(Decimal(scrape), Decimal(scrape))
    rules = evaluate_mixin(window_knobs(windows) | period_knobs(period))
    every = [rule for file in rules.values() for group in file["groups"] for rule in group["rules"]]
    found = {kind: [rule for rule in every if kind in rule] for kind in ("record", "alert")}
    return windows, found


@pytest.mark.parametrize(("scrape", "period"), [(1, 7), (5, 30), (15, 28), (60, 90)])
def test_every_record_is_named(scrape, period):
    """The records of the evaluated mixin are those of `names`, each made once but for nothing."""
    windows, found = evaluated(scrape, period)
    expected = names.record_names(short=windows.short, medium=windows.medium, period=f"{period}d")

    made = [rule["record"] for rule in found["record"]]

    assert sorted(made) == sorted(expected)


def test_every_alert_is_named():
    """The alerts of the evaluated mixin are those of `names`, and no two share a name."""
    _, found = evaluated(5)

    assert sorted(rule["alert"] for rule in found["alert"]) == sorted(names.ALERTS)


@pytest.mark.parametrize("scrape", [5, 15])
def test_there_are_at_most_120_rules(scrape):
    """The number of rules is the same for every fleet: no model and no limit is in the config."""
    _, found = evaluated(scrape)

    assert sum(len(rules) for rules in found.values()) <= 120


def test_the_mixins_own_knobs_are_those_of_the_plan():
    """What stands in rules/config/windows.libsonnet is what the plan computes for 15 s and 30 days."""
    source = str(assets.folder("rules") / "config.libsonnet")
    jsonnet = pytest.importorskip("_jsonnet")
    own = json.loads(jsonnet.evaluate_snippet("knobs", f"(import {json.dumps(source)})._config"))

    computed = window_knobs(rule_windows(Decimal(15), Decimal(15))) | period_knobs(30)

    assert {name: own[name] for name in computed} == computed
