"""The model of Alertmanager calls whom a real one calls, about what, and when."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import pytest

from support.alertmanager_sim.alertmanager import Alertmanager, Call, Life
from support.alertmanager_sim.chat import messages
from support.alertmanager_sim.tree import routes
from support.programs import AlertmanagerProgram
from support.receivers import ReceiverDoubles
from tritonobs.programs import find
from tritonobs.units import parse_duration

if TYPE_CHECKING:
    from pathlib import Path

END = 13.0
SLOWER = 4
"""The real one lives through the cases so many times as slowly as the model: a busy machine is late."""
LATE = 0.7
"""Seconds of the model that the real one may be late."""
FIRST_LOOK = 1.2
"""Every case begins at 0.2 s; each of its groups waits for 1 s, then is looked at every 2 s."""
CONFIG = {
    "route": {
        "receiver": "rest",
        "group_by": ["case", "model"],
        "group_wait": "1s",
        "group_interval": "2s",
        "repeat_interval": "5s",
        "routes": [
            {"matchers": ['team="both"'], "receiver": "archive", "continue": True, "group_by": ["case"]},
            {"matchers": ['severity="critical"'], "receiver": "pager", "group_by": ["case", "alertname"]},
            {"matchers": ['severity=~"warning|info"'], "receiver": "chat", "repeat_interval": "1h"},
        ],
    },
    "inhibit_rules": [
        {
            "source_matchers": ['alertname="Page"'],
            "target_matchers": ['alertname=~"Effect|Other"'],
            "equal": ["case", "model", "version"],
        }
    ],
}


def _life(alertname, since, until=None, *, severity="warning", **labels):
    return Life(labels={"alertname": alertname, "severity": severity, **labels}, since=since, until=until)


def _page(since, until=None, **labels):
    return _life("Page", since, until, severity="critical", model="nms", **labels)


def _effect(since, until=None, **labels):
    return _life("Effect", since, until, model="nms", **labels)


# A group is looked at 1, 3, 5 … s after its first alert, and nothing changes so near that lateness decides.
CASES = {
    "alone": [_page(0.2, 6.2)],
    "a page mutes its effect": [_page(0.2, 6.2), _effect(0.2, 4.2)],
    "an effect outlives its page": [_page(0.2, 6.2), _effect(0.2, 8.2)],
    "an effect ends under a page that came later": [_effect(0.2, 6.2), _page(2.2, 8.2)],
    "and begins again after it": [_effect(0.2, 6.2), _page(2.2, 8.2), _effect(10.2)],
    "another version is not muted": [_page(0.2, version="1"), _effect(0.2, version="2")],
    "a label that neither has is equal": [_page(0.2), _effect(0.2, team="a")],
    "one more of a group": [_effect(0.2), _life("Slow", 4.2, 8.2, model="nms")],
    "begun and over between two looks": [_effect(0.2), _life("Slow", 4.0, 4.4, model="nms")],
    "over and begun between two looks": [_effect(0.2, 4.0), _effect(4.4, 8.2)],
    "over before the first look": [_effect(0.2, 0.4)],
    "a long one is repeated": [_life("Long", 0.2)],
    "to two receivers": [_page(0.2, 4.2, team="both")],
}


def test_the_model_calls_as_a_real_alertmanager_does(tmp_path: Path) -> None:
    """Every case at once, each in groups of its own: receiver by receiver, call by call, in time."""
    lives = [
        replace(life, labels={**life.labels, "case": case}) for case, each in CASES.items() for life in each
    ]
    modelled = Alertmanager(CONFIG).calls(lives, until=END - 1)

    real = _lived(lives, tmp_path)

    for case in CASES:
        expected, found = (_of(case, calls) for calls in (modelled, real))
        assert [one[1:] for one in found] == [one[1:] for one in expected], case
        assert [one[0] for one in found] == pytest.approx([one[0] for one in expected], abs=LATE), case


@pytest.mark.parametrize("case", CASES)
def test_no_change_is_so_near_to_a_look_that_lateness_decides(case: str) -> None:
    """A real one that is as late as it may be calls about the same things."""
    moments = {moment for life in CASES[case] for moment in (life.since, life.until) if moment is not None}

    assert all(LATE <= (moment - FIRST_LOOK) % 2 <= 2 - LATE for moment in moments), moments


def test_the_chat_gets_one_message_of_what_comes_together() -> None:
    """Calls within half a second are one message; what was over before it was told is left out."""
    page, effect = _page(10, 60), _effect(10, 60)
    calls = [
        Call(at=11.0, receiver="chat", firing=(page,), resolved=()),
        Call(at=11.3, receiver="chat", firing=(effect,), resolved=()),
        Call(at=20.0, receiver="chat", firing=(), resolved=(_life("Never", 1, 2),)),
        Call(at=61.0, receiver="chat", firing=(), resolved=(page,)),
        Call(at=62.0, receiver="chat", firing=(), resolved=(effect,)),
        Call(at=62.0, receiver="other", firing=(page,), resolved=()),
    ]

    told = messages(calls, "chat")

    assert [(one.at, one.begun, one.over) for one in told] == [
        (11.5, (page, effect), ()),
        (61.5, (), (page,)),
        (62.5, (), (effect,)),
    ]
    assert told[0].severities == {"critical", "warning"}


def test_a_matcher_that_is_none_is_refused() -> None:
    """As Alertmanager refuses the configuration."""
    with pytest.raises(ValueError, match="is not a matcher"):
        routes({"route": {"receiver": "x", "routes": [{"matchers": ["severity"]}]}})


def _of(case, calls):
    """Moment, receiver, and what fires and is over, of the calls about a case."""
    mine = [one for one in calls if any(life.labels["case"] == case for life in (*one.firing, *one.resolved))]
    rows = [
        (
            one.at,
            one.receiver,
            sorted(life.labels["alertname"] for life in one.firing),
            sorted(life.labels["alertname"] for life in one.resolved),
        )
        for one in mine
    ]
    # Those of one look together: the real one may be late by less than half the time between two looks.
    return sorted(rows, key=lambda row: (round((row[0] - FIRST_LOOK) / 2), row[1]))


def _lived(lives, folder):
    """The calls of a real Alertmanager that is told of these alerts when they begin and end."""
    with ReceiverDoubles() as doubles:
        # All cases are told at the same moments; a connection that finds no room tries again a second later.
        doubles._server.socket.listen(128)
        arrived = []
        take = doubles._hook

        def hook(path, said):
            arrived.append((time.monotonic(), path.rpartition("/")[2], said))
            return take(path, said)

        doubles._hook = hook
        receivers = [
            {"name": name, "webhook_configs": [{"url": doubles.webhook_url(name)}]}
            for name in ("rest", "archive", "pager", "chat")
        ]
        (folder / "am.yml").write_text(json.dumps({**_slower(CONFIG), "receivers": receivers}))
        with AlertmanagerProgram(find("alertmanager"), folder / "am.yml", folder / "am") as running:
            began, clock = time.monotonic() + 0.5, datetime.now(timezone.utc).timestamp() + 0.5
            posts = [(one.since, one, False) for one in lives]
            posts += [(one.until, one, True) for one in lives if one.until is not None]
            for at in sorted({post[0] for post in posts}):
                time.sleep(max(0.0, began + SLOWER * at - time.monotonic()))
                running.post_alerts(
                    *(
                        {
                            "labels": dict(one.labels),
                            "startsAt": _moment(clock + SLOWER * one.since),
                            **({"endsAt": _moment(clock + SLOWER * one.until)} if over else {}),
                        }
                        for moment, one, over in posts
                        if moment == at
                    )
                )
            time.sleep(max(0.0, began + SLOWER * (END - 1) - time.monotonic()))
            seen = list(arrived)
    return [
        Call(
            at=(at - began) / SLOWER,
            receiver=receiver,
            firing=tuple(_read(one) for one in said["alerts"] if one["status"] == "firing"),
            resolved=tuple(_read(one) for one in said["alerts"] if one["status"] == "resolved"),
        )
        for at, receiver, said in seen
    ]


def _slower(config):
    """Every duration of a configuration so many times as long."""
    if isinstance(config, dict):
        return {
            name: f"{SLOWER * parse_duration(value):g}s"
            if re.fullmatch("group_wait|.+_interval", name)
            else _slower(value)
            for name, value in config.items()
        }
    return [_slower(one) for one in config] if isinstance(config, list) else config


def _read(alert):
    return Life(labels=alert["labels"], since=0)


def _moment(seconds):
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat()
