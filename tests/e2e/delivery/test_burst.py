"""Many alerts, strange alerts, and the fast way of a single one."""

from __future__ import annotations

import time

import pytest

pytestmark = pytest.mark.e2e


def test_single_page_is_told_within_seconds(way) -> None:
    """From the alert's arrival at Alertmanager to the accepted message; a limit no healthy run comes near."""
    path = way()
    began = time.time()
    path.post("inspect")
    assert path.until(lambda: path.told() == ["inspect firing"]), path.evidence()
    assert path.robot.messages[0].received_at - began < 10


def test_a_hundred_groups_are_all_told_and_the_robot_is_not_muted(way) -> None:
    """In twenty seconds, each group by itself; every alert once, in a handful of messages."""
    path = way()
    models = [f"m{number:02}" for number in range(100)]
    for at in range(0, 100, 5):
        path.post(*models[at : at + 5])
        time.sleep(1)
    assert path.until(lambda: len(path.told()) >= 100, seconds=60), path.evidence()
    time.sleep(3)
    assert sorted(path.told()) == [f"{model} firing" for model in models]
    assert path.robot.rules.mutes == 0
    assert len(path.robot.messages) <= 20


def test_hostile_alerts_are_told_as_data(way) -> None:
    """10 kB, Markdown, quotes, newlines, right-to-left, emoji: one message each, no markup, none lost."""
    path = way()
    hostile = {
        "long": "x" * 10_000,
        "markdown": "**a** [b](http://evil) <b> # c",
        "quotes": "\"; drop \\ '",
        "lines": "a\n#### b\n- c",
        "right-to-left": "\u202eevil\u2066",
        "emoji": "👩‍🔧🔥",
    }
    for name, value in hostile.items():
        path.post(name, stage=value)
    for name in hostile:
        assert path.until(lambda name=name: any(name in told for told in path.told()), seconds=60), (
            path.evidence()
        )
    text = "\n".join(message.text for message in path.robot.messages)
    assert "](http://evil)" not in text
    assert "\u202e" not in text
    assert text.count("TritonQpsAboveLimit**") == len(hostile)


def test_resolved_alert_is_told_as_resolved(way) -> None:
    """After its firing, once."""
    path = way()
    path.post("inspect")
    assert path.until(lambda: path.told() == ["inspect firing"]), path.evidence()
    path.post("inspect", resolved=True)
    assert path.until(lambda: path.told() == ["inspect firing", "inspect resolved"]), path.evidence()
