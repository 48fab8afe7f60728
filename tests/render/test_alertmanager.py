"""Alertmanager's configuration: accepted by amtool, routed as written, silent about secrets."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from tritonobs.plan.build import build_plan
from tritonobs.plan.fleet import Call, Model
from tritonobs.programs import find
from tritonobs.render.alertmanager import TABLE, inhibit_rules, matcher, render_alertmanager
from tritonobs.render.artifact import write_artifacts
from tritonobs.render.rules import render_rules
from tritonobs.spec.load import read_text

if TYPE_CHECKING:
    from tritonobs.plan.fleet import Plan

HEAD = """\
fleet: shop
replicas: [{name: a, url: "http://10.0.0.1:8000"}]
models:
  inspect: {pipeline: bls, calls: {detector: 1, nms: 2}, versions: {"1": {}}}
  detector: {versions: {"1": {}}}
  nms: {versions: {"1": {}}}
notify:
"""
ROBOT = "  dingtalk: {oncall: {webhook_file: secrets/webhook}}\n"
EVERYTHING = """\
  timezone: Asia/Shanghai
  auth: {token_file: secrets/token, alertmanager_file: /etc/alertmanager/token}
  dingtalk:
    oncall: {webhook_file: secrets/webhook, secret_file: secrets/secret, failover: [backup]}
    backup: {webhook_env: BACKUP_WEBHOOK}
    vision: {webhook_env: VISION_WEBHOOK}
  slack: {vision: {webhook_file: secrets/slack, channel: "#vision"}}
  webhook: {archive: {url: "http://archive/alerts"}, pager: {url_file: secrets/pager}}
  dead_man: {url_env: DEAD_MAN_URL, every: 2m}
  routes:
    - {match: {tier: experimental}, to: webhook/archive}
    - {match: {severity: critical, team: vision}, to: [dingtalk/vision, slack/vision], continue: true}
    - {match: {severity: [warning, info], model: 'odd "name"\\|.*'}, to: slack/vision}
    - {match: {severity: critical}, to: dingtalk/oncall}
"""


def _plan(notify: str) -> Plan:
    reading = read_text(HEAD + notify, "fleet.yaml")
    assert reading.spec is not None
    assert reading.findings == ()
    return build_plan(reading.spec, Path("/etc/shop"))


def _written(notify: str, folder: Path) -> Path:
    write_artifacts(render_alertmanager(_plan(notify)), folder)
    return folder / "alertmanager" / "alertmanager.yml"


def _config(notify: str) -> dict:
    return yaml.safe_load(render_alertmanager(_plan(notify))[0].text)


def _amtool(*arguments: str) -> str:
    done = subprocess.run([find("amtool"), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "notify",
    [
        pytest.param("  language: en\n", id="nobody to tell"),
        pytest.param(ROBOT, id="one robot"),
        pytest.param(EVERYTHING, id="everything"),
        pytest.param(
            EVERYTHING.replace("token_file:", "username: am, password_file:"), id="basic authentication"
        ),
    ],
)
def test_amtool_accepts_the_configuration(tmp_path: Path, notify: str) -> None:
    """Alertmanager 0.25 loads it, templates included."""
    assert "SUCCESS" in _amtool("check-config", str(_written(notify, tmp_path)))


FALLBACK = "dingtalk/oncall + dingtalk/vision + slack/vision + webhook/archive + webhook/pager"


@pytest.mark.parametrize(
    ("labels", "receivers"),
    [
        pytest.param(
            "alertname=Watchdog severity=none", "dead-man", id="the Watchdog goes to the dead man's switch"
        ),
        pytest.param("alertname=X severity=none", "nobody", id="severity none is nobody's"),
        pytest.param("tier=experimental severity=critical", "webhook/archive", id="a tier's own archive"),
        pytest.param(
            "severity=critical team=vision",
            "dingtalk/vision + slack/vision,dingtalk/oncall",
            id="a team's page goes on to the next route",
        ),
        pytest.param("severity=critical team=other", "dingtalk/oncall", id="another team's page"),
        pytest.param("severity=warning model=detector", FALLBACK, id="what no route takes goes to everybody"),
        pytest.param("alertname=X", FALLBACK, id="an alert without severity is not lost"),
        pytest.param(
            "alertname=TritonobsTest robot=backup", "dingtalk/backup", id="a test for a robot that stands in"
        ),
    ],
)
def test_alert_is_routed_as_written(tmp_path: Path, labels: str, receivers: str) -> None:
    """As `amtool config routes test` sees it."""
    config = str(_written(EVERYTHING, tmp_path))
    assert _amtool("config", "routes", "test", "--config.file", config, *labels.split()).strip() == receivers


@pytest.mark.parametrize("value", ['a"b', "a\\b", "a.*|b", "模型", "a b", "{x}", "a\nb", ""])
def test_matcher_selects_exactly_its_values(tmp_path: Path, value: str) -> None:
    """One value, or several, whatever they are made of."""
    for matchers in ([matcher("model", (value,))], [matcher("model", (value, "other"))]):
        config = {
            "route": {"receiver": "rest", "routes": [{"matchers": matchers, "receiver": "hit"}]},
            "receivers": [{"name": "rest"}, {"name": "hit"}],
        }
        path = tmp_path / "alertmanager.yml"
        path.write_text(yaml.safe_dump(config, allow_unicode=True))
        quoted = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        routed = [
            _amtool("config", "routes", "test", "--config.file", str(path), f'model="{shown}"').strip()
            for shown in (quoted, quoted + "x")
        ]
        assert routed == ["hit", "rest"]


def test_pages_are_told_fast_and_reminders_are_rare() -> None:
    """Every severity has its own pace."""
    routes = {route["matchers"][0]: route for route in _config(EVERYTHING)["route"]["routes"][-3:]}
    assert [
        (route["group_wait"], route["group_interval"], route["repeat_interval"]) for route in routes.values()
    ] == [("1s", "10s", "4h"), ("3m", "5m", "12h"), ("1m", "5m", "3d")]


def test_page_waits_for_no_other_page() -> None:
    """Each alert of a model is a group of its own where seconds count; the rest is told together."""
    routes = [route for route in _config(EVERYTHING)["route"]["routes"] if "severity" in route["matchers"][0]]
    paces = [*routes, *(inner for route in routes for inner in route.get("routes", ()))]
    grouped = {route["matchers"][0]: route.get("group_by") for route in paces if "group_wait" in route}
    assert grouped == {
        'severity="critical"': ["cluster", "model", "alertname"],
        'severity="warning"': None,
        'severity="info"': None,
    }


def test_route_for_one_severity_has_no_others(tmp_path: Path) -> None:
    """Only the paces that its alerts can have."""
    pages = _config(EVERYTHING)["route"]["routes"][-4]
    assert [route["matchers"] for route in pages["routes"]] == [['severity="critical"']]


def test_watchdog_is_accepted_at_every_tick() -> None:
    """A reminder is due before the next tick, so that none is left out."""
    route = _config(EVERYTHING)["route"]["routes"][0]
    assert (route["group_interval"], route["repeat_interval"]) == ("2m", "1m48s")


def test_secrets_stay_in_their_files() -> None:
    """Receivers name files, or `tritonobs serve`, which has the secrets; variables are named nowhere."""
    text = "".join(artifact.text for artifact in render_alertmanager(_plan(EVERYTHING)))
    receivers = {one["name"]: one for one in _config(EVERYTHING)["receivers"]}
    serve = "http://127.0.0.1:9900/alertmanager"
    assert [one["url"] for one in receivers[FALLBACK]["webhook_configs"]] == [
        f"{serve}/dingtalk/oncall",
        f"{serve}/dingtalk/vision",
        "http://archive/alerts",
        f"{serve}/webhook/pager",
    ]
    assert receivers["dead-man"]["webhook_configs"][0]["url"] == f"{serve}/webhook/dead-man"
    (first, _, archive, _) = receivers[FALLBACK]["webhook_configs"]
    assert first["http_config"] == {"authorization": {"credentials_file": "/etc/alertmanager/token"}}
    assert "http_config" not in archive
    assert receivers[FALLBACK]["slack_configs"][0]["api_url_file"] == "/etc/shop/secrets/slack"
    assert "_WEBHOOK" not in text
    assert "DEAD_MAN_URL" not in text


def test_same_plan_gives_the_same_bytes() -> None:
    """No clock, no order of chance."""
    assert render_alertmanager(_plan(EVERYTHING)) == render_alertmanager(_plan(EVERYTHING))


def test_inhibition_names_only_alerts_that_exist() -> None:
    """A renamed alert must be renamed there, too."""
    rules = [yaml.safe_load(artifact.text) for artifact in render_rules(_plan(ROBOT))]
    alerts = {rule.get("alert") for file in rules for group in file["groups"] for rule in group["rules"]}
    named = {name for one in TABLE for name in (*one.causes, *one.effects)}
    assert named <= alerts


def test_nothing_inhibits_itself() -> None:
    """No rule whose cause is its own effect, no circle of two."""
    pairs = {(cause, effect) for one in TABLE for cause in one.causes for effect in one.effects}
    assert not any(cause == effect or (effect, cause) in pairs for cause, effect in pairs)


def test_pipeline_speaks_for_its_members() -> None:
    """Its page inhibits what its members feel, not what may be the cause."""
    rule = next(rule for rule in inhibit_rules(_plan(ROBOT)) if 'model="inspect"' in rule["source_matchers"])
    assert 'model=~"detector|nms"' in rule["target_matchers"]
    assert "TritonWorkerDead" not in str(rule)


CHINESE_CALL = """\
{"receiver": "slack/vision", "status": "firing", "externalURL": "http://am:9093",
 "commonLabels": {"alertname": "A"},
 "alerts": [
  {"status": "firing", "startsAt": "2026-03-01T12:00:00Z",
   "labels": {"alertname": "A", "model": "inspect", "version": "1", "severity": "critical"},
   "annotations": {"summary": "too many requests", "summary_zh": "请求过多"}},
  {"status": "firing", "startsAt": "2026-03-01T12:00:00Z",
   "labels": {"alertname": "A", "model": "nms", "severity": "warning"},
   "annotations": {"summary": "only English"}},
  {"status": "resolved", "startsAt": "2026-03-01T12:00:00Z", "labels": {"alertname": "A", "model": "old"}}]}
"""


@pytest.mark.parametrize(("language", "words"), [("en", "tritonobs"), ("zh", "tritonobs.zh")])
def test_slack_speaks_the_language_of_the_fleet_file(tmp_path: Path, language: str, words: str) -> None:
    """Title, text and fallback; English where nothing is said."""
    notify = f"  language: {language}\n{ROBOT}  slack: {{vision: {{webhook_file: secrets/slack}}}}\n"
    config = yaml.safe_load(_written(notify, tmp_path).read_text())
    (slack,) = [one for receiver in config["receivers"] for one in receiver.get("slack_configs", ())][:1]
    assert [slack[field] for field in ("title", "fallback", "text")] == [
        f'{{{{ template "{words}.title" . }}}}',
        f'{{{{ template "{words}.title" . }}}}',
        f'{{{{ template "{words}.slack.text" . }}}}',
    ]


def test_chinese_text_for_slack_is_chinese(tmp_path: Path) -> None:
    """As Alertmanager itself fills it in; a rule without Chinese words shows its English ones."""
    templates = _written(ROBOT, tmp_path).parent / "templates" / "tritonobs.tmpl"
    (tmp_path / "call.json").write_text(CHINESE_CALL)
    text = _amtool(
        "template",
        "render",
        f"--template.glob={templates}",
        f"--template.data={tmp_path / 'call.json'}",
        '--template.text={{ template "tritonobs.zh.title" . }}\n{{ template "tritonobs.zh.slack.text" . }}',
    )
    assert "2 条告警触发中，1 条已恢复：A" in text  # noqa: RUF001 (Chinese punctuation)
    assert "*A inspect 版本 1* 严重\n请求过多\n自 2026-03-01 12:00:00 UTC 起" in text
    assert "*A nms* 警告\nonly English\n" in text
    assert "已恢复：A old" in text  # noqa: RUF001 (the same)


@pytest.mark.parametrize("pipelines", [pytest.param(200, id="some"), pytest.param(500, id="half of them")])
def test_the_configuration_of_a_thousand_models_stays_small(pipelines: int) -> None:
    """At most 150 KB, though each pipeline has a rule for its members: an object of a cluster holds it."""
    names_of = [f"team-a-recommender-model-{number:05d}" for number in range(1000)]
    models = [
        Model(
            name=name,
            versions=("1",),
            kind="bls" if place < pipelines else "model",
            calls=tuple(
                Call(stage=called, model=called, per_request=Decimal(1))
                for called in (names_of[-1 - place], names_of[-2 - place])
            )
            if place < pipelines
            else (),
        )
        for place, name in enumerate(names_of)
    ]
    plan = replace(_plan(ROBOT), models=tuple(models))

    sizes = {one.path: len(one.text.encode()) for one in render_alertmanager(plan)}

    assert sizes["alertmanager/alertmanager.yml"] <= 150_000
