"""Every drill promises what exists."""

import re

from tritonobs.drill.registry import DRILLS
from tritonobs.live.checks import CHECKS
from tritonobs.render.rules import evaluate_mixin

RULES = {
    rule["alert"]
    for file in evaluate_mixin({}).values()
    for group in file["groups"]
    for rule in group["rules"]
    if "alert" in rule
}


def test_promised_alerts_are_rules_of_the_mixin():
    """A renamed alert is noticed here."""
    promised = {alert.name for drill in DRILLS.values() for alert in drill.alerts}

    assert promised - RULES == set()


def test_promised_causes_are_checks():
    """Or nothing wrong at all."""
    assert {drill.check for drill in DRILLS.values()} - set(CHECKS) - {""} == set()


def test_fifteen_faults_and_more_are_told_apart():
    """Names are words to type, each of them once, and what breaks is one line."""
    assert len([drill for drill in DRILLS.values() if drill.check]) >= 15
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in DRILLS)
    assert all(len(drill.breaks) <= 80 for drill in DRILLS.values())


def test_quick_rules_never_take_longer():
    """A faster clock shortens what it can."""
    assert all(drill.seconds(5.0) <= drill.seconds(1.0) for drill in DRILLS.values())
