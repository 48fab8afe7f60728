"""The notify section: what is inherited, and what is not valid."""

from __future__ import annotations

from pathlib import Path

import pytest

MODELS = 'models: {inspect: {versions: {"1": {}}}}\n'


def test_robot_inherits_the_language_and_paths_become_absolute(plan_of) -> None:
    """Relative paths count from the fleet file's folder."""
    notify = plan_of(
        MODELS
        + """\
notify:
  language: zh
  dingtalk:
    a: {webhook_file: secrets/a, secret_env: A_SECRET}
    b: {webhook_file: /abs/b, language: en, messages_per_minute: 10}
"""
    ).notify
    a, b = notify.robots
    assert (a.language, b.language) == ("zh", "en")
    assert (a.webhook.file, b.webhook.file) == (Path("/etc/shop/secrets/a"), Path("/abs/b"))
    assert a.secret is not None
    assert (a.secret.env, b.secret) == ("A_SECRET", None)
    assert (a.messages_per_minute, b.messages_per_minute) == (20, 10)


def test_one_value_is_as_good_as_a_list(plan_of) -> None:
    """In matches, receivers and addresses."""
    notify = plan_of(
        MODELS
        + """\
notify:
  webhook: {x: {url: "http://x"}}
  routes: [{match: {tier: critical, team: [a, b]}, to: webhook/x}]
"""
    ).notify
    (route,) = notify.routes
    assert tuple(route.match.items()) == (("tier", ("critical",)), ("team", ("a", "b")))
    assert route.to == ("webhook/x",)


def test_secret_addresses_are_passed_on_by_serve(plan_of) -> None:
    """Those of webhooks and of the dead man's switch."""
    notify = plan_of(
        MODELS
        + """\
notify:
  webhook: {open: {url: "http://x"}, closed: {url_file: s/x}}
  dead_man: {url_env: PING}
"""
    ).notify
    assert [webhook.name for webhook in notify.relayed] == ["closed", "dead-man"]


@pytest.mark.parametrize(
    ("notify", "complaint"),
    [
        pytest.param(
            "dingtalk: {a: {webhook_file: x, failover: [b]}, c: {webhook_file: y}}",
            'notify.dingtalk.a.failover[0]: found "b", which is not another robot; allowed are c',
            id="a stand-in nobody knows",
        ),
        pytest.param(
            "dingtalk: {a: {webhook_file: x, failover: [a]}}",
            'found "a", which is not another robot; allowed are none',
            id="its own stand-in",
        ),
        pytest.param(
            "{dingtalk: {a: {webhook_file: x}}, feishu: {a: {webhook_file: y}}}",
            "notify.feishu.a: is the name of a robot of notify.dingtalk, too; give each a name of its own",
            id="a name in two chats",
        ),
        pytest.param(
            "{feishu: {a: {webhook_file: x, failover: [b]}}, slack: {b: {webhook_file: y}}}",
            'notify.feishu.a.failover[0]: found "b", which is not another robot; allowed are none',
            id="a channel that Alertmanager sends to cannot take over",
        ),
        pytest.param(
            "{dingtalk: {oncall: {webhook_file: x}}, routes: [{to: dingtalk/oncal}]}",
            'notify.routes[0].to[0]: found "dingtalk/oncal", which is not a receiver',
            id="a receiver misspelt",
        ),
    ],
)
def test_names_nobody_has_are_findings(complaints_of, notify: str, complaint: str) -> None:
    """Each with its place, and the nearest right word."""
    inner = notify if notify.startswith("{") else f"{{{notify}}}"
    (found,) = complaints_of(MODELS + f"notify: {inner}\n")
    assert complaint in found


def test_robots_of_several_chats_may_replace_each_other(plan_of) -> None:
    """The name of a Slack channel of Alertmanager's is free for a robot."""
    notify = plan_of(
        MODELS
        + """\
notify:
  feishu: {a: {webhook_file: x, failover: [b, c], mention: [{users: [ou_1], everyone: true}]}}
  slack: {a: {webhook_file: y}, b: {via: serve, webhook_env: B}}
  teams: {c: {webhook_file: z}}
"""
    ).notify
    assert [robot.receiver for robot in notify.robots] == ["feishu/a", "slack/b", "teams/c"]
    assert [channel.receiver for channel in notify.channels] == ["slack/a"]
    assert notify.robots[0].failover == ("b", "c")
    assert (notify.robots[0].mentions[0].user_ids, notify.robots[0].mentions[0].everyone) == (("ou_1",), True)


@pytest.mark.parametrize(
    ("routes", "complaint"),
    [
        pytest.param(
            "{match: {severities: critical}, to: webhook/x}",
            "notify.routes[0].match.severities: is not a label of our alerts "
            "(did you mean severity? correct where your Prometheus adds it)",
            id="a label misspelt",
        ),
        pytest.param(
            "{match: {severity: [critical, warn]}, to: webhook/x}",
            'notify.routes[0].match.severity[1]: found "warn", which is not a severity of this fleet; '
            "known are critical, warning and info (did you mean warning?)",
            id="a severity",
        ),
        pytest.param(
            "{match: {team: visoin}, to: webhook/x}",
            'notify.routes[0].match.team[0]: found "visoin", which is not a team of this fleet; '
            "known are vision and no (did you mean vision?)",
            id="a team",
        ),
        pytest.param(
            "{match: {model: 'ocr\\n'}, to: webhook/x}",
            "which is not a model of this fleet; known are ocr and nms (did you mean ocr?)",
            id="a model",
        ),
        pytest.param(
            "{match: {tier: critical}, to: webhook/x}",
            'found "critical", which is not a tier of this fleet; known are none',
            id="a tier where there is none",
        ),
        pytest.param(
            "{to: webhook/x}, {match: {severity: critical}, to: webhook/x}, {to: webhook/x}",
            "notify.routes[1]: no alert reaches this route and those below it: "
            "notify.routes[0] takes every alert (put that one last, or write continue: true there)",
            id="below one that takes all",
        ),
    ],
)
def test_routes_that_no_alert_takes_are_warned_of(complaints_of, routes: str, complaint: str) -> None:
    """A misspelt word would send the alert elsewhere, and nothing would say so."""
    text = f"""\
models: {{ocr: {{team: vision}}, nms: {{team: "no"}}}}
notify: {{webhook: {{x: {{url: "http://x"}}}}, routes: [{routes}]}}
"""

    (found,) = complaints_of(text)

    assert found.startswith("WARNING")
    assert complaint in found


def test_routes_that_alerts_take_are_not_warned_of(complaints_of) -> None:
    """Labels of targets and of Prometheus itself are the fleet's own business."""
    text = """\
rules: {replica_label: pod, cluster_label: zone}
models: {ocr: {team: vision, tier: gold}}
notify:
  webhook: {x: {url: "http://x"}}
  routes:
    - {to: webhook/x, continue: true}
    - {match: {team: vision, tier: gold, model: ocr, severity: [critical, warning, info]}, to: webhook/x}
    - {match: {pod: a, zone: b, pool: c, datacenter: d, stage: decode, reason: e, slo: f}, to: webhook/x}
    - {match: {pipeline: g, version: "1", alertname: TritonServerDown}, to: webhook/x}
    - {to: webhook/x}
"""

    assert complaints_of(text) == []


def test_people_who_are_never_mentioned_are_warned_of(complaints_of) -> None:
    """As routes are."""
    text = """\
models: {ocr: {team: vision}}
notify: {dingtalk: {a: {webhook_file: x, mention: [{match: {team: visio}, users: [lee]}]}}}
"""

    (found,) = complaints_of(text)

    assert "notify.dingtalk.a.mention[0].match.team[0]" in found
