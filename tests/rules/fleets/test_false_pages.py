"""A healthy fleet wakes nobody; bench/false_pages.py does the same for a week and every alert."""

import pytest

from support.fleet_sim.healthy import LOADS, Load, budget, false_pages, healthy_fleet
from support.fleet_sim.world import live, product_rules

QUIET = [load for load in LOADS if load.limit in {0.1, 8, 10, 100} and (load.weekly or load.share >= 0.9)]


def critical():
    """The alerts that wake people."""
    rules = [rule for group in product_rules(15) for rule in group["rules"] if "alert" in rule]
    return {rule["alert"]: rule for rule in rules if rule["labels"]["severity"] == "critical"}


@pytest.mark.parametrize("seed", [1])
def test_critical_alerts_keep_their_budget_of_false_pages(engine, seed):
    """Six hours with a restart, a rollout, lost scrapes and random traffic: not one page."""
    rules = critical()
    fleet = healthy_fleet(days=0.25, seed=seed, loads=[*QUIET, Load(limit=8, share=0.9)], servers=10)

    lived = live(engine, fleet, *rules, phases=seed)

    found = false_pages(lived.all_fired())
    assert {name: count for name, count in found.items() if count / 0.25 > budget(rules[name])} == {}
    assert lived.failures == {}
