"""Every drill promises what exists."""

import re
from pathlib import Path

from tritonobs.extensions.lab.drill.run import DRILLS
from tritonobs.extensions.triage.checks import CHECKS
from tritonobs.render.rules import evaluate_mixin
from tritonobs.units import format_duration

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "drills.md").read_text(encoding="utf-8")
RULES = {
    rule["alert"]
    for knobs in ({"tier": "global"}, {"agentsSelector": 'job="agents"'})
    for file in evaluate_mixin(knobs).values()
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


def test_the_page_tells_every_drill():
    """What breaks, what is promised, and how long it takes; the table is as the code is."""
    rows, wanted = (
        [line for line in PAGE.splitlines() if line.startswith("| `")],
        [*map(_row, DRILLS.values())],
    )
    for row in wanted:
        assert row in rows, f"docs/drills.md should have this line:\n{row}"
    assert rows == wanted, "the rows of docs/drills.md are in the order of DRILLS, with no other between them"


def _row(drill):
    alerts = ", ".join(f"[{alert.name}](runbooks/{alert.name}.md)" for alert in drill.alerts) or "none"
    check = f"[{drill.check}](checks/{drill.check}.md)" if drill.check else "nothing wrong"
    takes = " | ".join(format_duration(round(drill.seconds(speed))) for speed in (5.0, 1.0))
    return f"| `{drill.name}` | {drill.breaks} | {alerts} | {check} | {takes} |"


def test_every_alert_has_a_drill_or_a_reason_for_none():
    """Each alert of the mixin is promised by a drill, or the page says why none causes it; never both."""
    reasons = re.findall(r"^\| \[(\w+)\]\(runbooks/\1\.md\) \| \S.* \|$", PAGE, re.MULTILINE)
    promised = {alert.name for drill in DRILLS.values() for alert in drill.alerts}

    assert RULES - promised - {*reasons} == set(), "write a drill, or the reason for none in docs/drills.md"
    assert sorted(reasons) == sorted(RULES - promised), "a reason for an alert that has a drill, or no rule"


def test_a_runbook_names_the_drills_of_its_alert():
    """One line, right under the title; none where no drill causes it."""
    pages = (DOCS / "runbooks").glob("Triton*.md")
    told = {
        page.stem: re.findall(r"^Rehearse it: `tritonobs drill (.+)`$", page.read_text(), re.MULTILINE)
        for page in pages
    }
    promised: dict[str, list[str]] = {}
    for drill in DRILLS.values():
        for alert in drill.alerts:
            promised.setdefault(alert.name, []).append(drill.name)

    for name in {**told, **promised}:
        wanted = [" ".join(promised[name])] if name in promised else []
        line = "".join(f"Rehearse it: `tritonobs drill {drills}`" for drills in wanted) or "no drill"
        assert told.get(name, []) == wanted, f"docs/runbooks/{name}.md should say under its title: {line}"
