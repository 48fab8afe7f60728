"""An alert that cannot be shown spoils no other, and is told itself."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import pytest

from tritonobs.chats.dingtalk import MOST_BYTES
from tritonobs.delivery import composer
from tritonobs.delivery.composer import Composer
from tritonobs.delivery.payload import read_payload
from tritonobs.plan.build import build_plan
from tritonobs.spec.load import load_fleet

if TYPE_CHECKING:
    from collections.abc import Callable

    from tritonobs.plan.fleet import Plan

ZONES = ("UTC", "Asia/Shanghai", "Pacific/Kiritimati", "America/Anchorage")
HEALTHY = [
    {"status": "firing", "labels": {"alertname": f"Healthy{number}", "model": f"m{number}"}}
    for number in range(5)
]
POISON = {
    "the last second of all calendars": {"startsAt": "9999-12-31T23:59:59Z"},
    "the last second, far east": {"startsAt": "9999-12-31T23:59:59-12:00"},
    "the first second after Go's zero time": {"startsAt": "0002-01-01T00:00:00+14:00"},
    "an end before time": {"status": "resolved", "endsAt": "0002-01-01T00:00:00+14:00"},
    "half a character in a label": {"labels": {"alertname": "Poison", "model": "\ud83d"}},
    "half a character in the name": {"labels": {"alertname": "Poison\udc00"}},
    "half a character in a label's name": {"labels": {"alertname": "Poison", "\ud800": "x"}},
    "half a character in the text": {"annotations": {"description": "\ud800"}},
    "half a character in the fingerprint": {"fingerprint": "\ud800"},
    "a label that is a number": {"labels": {"alertname": "Poison", "model": 5}},
    "a label that is nothing": {"labels": {"alertname": "Poison", "model": None}},
    "annotations that are a list": {"annotations": ["x"]},
    "a status nobody knows": {"status": "smouldering"},
    "a time that is a number": {"startsAt": 5},
    "an address that is none": {"generatorURL": "http://[", "annotations": {"runbook_url": "http://[::"}},
    "ten thousand labels": {"labels": {"alertname": "Poison", **{f"l{n}": "x" for n in range(10_000)}}},
    "a megabyte of text": {"annotations": {"description": "x" * 2**20}},
    "template language": {"annotations": {"description": "{{ 7 * 7 }}{% raw %}"}},
    "terminal language": {"labels": {"alertname": "Poison", "model": "\x1b[2J\x9b31m\x07"}},
}


@pytest.fixture
def plan(fleet_file) -> Callable[[str], Plan]:
    """The plan of a fleet in this time zone."""

    def make(zone: str = "UTC") -> Plan:
        path = fleet_file(notify=f"  timezone: {zone}")
        return build_plan(load_fleet(path), path.parent)

    return make


def _told(plan: Plan, alerts: list[object]) -> tuple[str, int]:
    """What the messages say, and how many alerts could be told by name only."""
    payload = read_payload(json.dumps({"groupKey": "g", "alerts": alerts}).encode())
    unshown: list[str] = []
    composer = Composer(plan=plan, templates={}, unshown=lambda robot: unshown.append(robot.name))
    (robot,) = plan.notify.robots
    pages = composer.write(payload.alerts, {}, robot, MOST_BYTES)
    assert all(len(page.message.body()) <= MOST_BYTES for page in pages)
    assert {state for page in pages for state in page.states} == {one.state for one in payload.alerts}
    return "\n".join(page.message.text for page in pages), len(unshown)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("poison", POISON)
def test_five_healthy_alerts_are_told_beside_it(plan, poison: str, zone: str) -> None:
    """And it, by its name."""
    spoilt = {"status": "firing", "labels": {"alertname": "Poison"}, **POISON[poison]}
    text, _ = _told(plan(zone), [*HEALTHY[:3], spoilt, *HEALTHY[3:]])
    assert [one for one in range(5) if f"Healthy{one}** m{one}" not in text] == []
    assert "Poison" in text


def test_an_entry_without_a_name_is_told_as_one(plan) -> None:
    """Where there are others; a call of nothing else is not a call of Alertmanager's."""
    text, unshown = _told(plan(), [*HEALTHY, 5, {"labels": {}}, {"labels": "x"}])
    assert (text.count("UnreadableAlert**"), unshown) == (3, 3)
    with pytest.raises(ValueError, match="wrong at alerts"):
        read_payload(b'{"alerts": [5, {}]}')


def test_a_slip_of_ours_about_one_alert_spoils_no_other(plan, monkeypatch) -> None:
    """Whatever cannot be written even alone is told by its name."""
    ours = composer.called

    def slip(alerts):
        if any(alert.name == "Healthy3" and alert.time is not None and alert.severity for alert in alerts):
            raise RuntimeError("a slip")
        return ours(alerts)

    monkeypatch.setattr(composer, "called", slip)
    alerts = [{**one, "labels": {**one["labels"], "severity": "critical"}} for one in HEALTHY]
    text, unshown = _told(plan(), alerts)
    assert [one for one in range(5) if f"Healthy{one}** m{one}" not in text] == []
    assert "(This alert is damaged and cannot be shown in full.)" in text
    assert unshown == 1


def test_three_thousand_alerts_are_written_in_a_few_pages_worth_of_work(plan, monkeypatch) -> None:
    """What does not fit into a message is not written for it: no work grows with the square of the alerts."""
    written: list[int] = []
    ours = composer.fill

    def counted(template, **what):
        written.append(len(what["alerts"]))
        return ours(template, **what)

    monkeypatch.setattr(composer, "fill", counted)
    began = datetime.now(timezone.utc).isoformat()
    alerts = [
        {"status": "firing", "labels": {"alertname": "Many", "model": f"m{n:04}"}, "startsAt": began}
        for n in range(3000)
    ]
    _told(plan(), alerts)
    assert sum(written) < 30 * 3000
