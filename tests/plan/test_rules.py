"""The `rules:` section: what is refused, and where what is written arrives."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from tritonobs import assets
from tritonobs.plan.build import check
from tritonobs.plan.fleet import Plan
from tritonobs.plan.rules import selects
from tritonobs.render.everything import render_fleet
from tritonobs.render.rules import mixin_knobs
from tritonobs.spec.load import read_text
from tritonobs.spec.rules import threshold_knobs

HEAD = 'fleet: shop\nreplicas: [{name: a, url: "http://10.0.0.1:8000"}]\n'
MODELS = "models: {m: {qps_limit: 8, slos: {up: {objective: 99%}}}}\n"
PODS = """\
rules:
  selector: 'job="models/triton", namespace="models"'
  serve_selector: 'service="watch"'
  replica_label: pod
  cluster_label: k8s
  keep_firing: false
  severities: {TritonServerDown: warning, TritonModelReloaded: none}
  thresholds: {limit_warning: 70%, queue_wait: 250ms, forecast: 2h, limit_keep_firing: 3m, restarts: 5}
"""


def _said(text: str) -> list[str]:
    reading = read_text(HEAD + MODELS + text, "f")
    found = [*reading.findings, *(check(reading.spec) if reading.spec and not reading.findings else ())]
    return [
        f"{finding.severity.name} {finding.path}: {finding.message} ({finding.hint})" for finding in found
    ]


def _files(plan: Plan) -> dict[str, Any]:
    return {
        artifact.path: yaml.load(artifact.text, Loader=yaml.CSafeLoader)
        if artifact.path.endswith(".yml")
        else artifact.text
        for artifact in render_fleet(plan)
    }


def _alerts(files: dict[str, Any]) -> dict[str, dict[str, Any]]:
    groups = [
        group
        for name in ("alerts", "records")
        for group in files[f"prometheus/rules/{name}.rules.yml"]["groups"]
    ]
    return {rule["alert"]: rule for group in groups for rule in group["rules"] if "alert" in rule}


WRONG = [
    pytest.param(
        "rules: {severities: {TritonServerDwon: info}}",
        "ERROR rules.severities.TritonServerDwon: is not an alert; alerts are",
        "did you mean TritonServerDown?",
        id="an alert that is not there",
    ),
    pytest.param(
        "rules: {severities: {TritonServerDown: page}}",
        'found "page"; allowed are critical, warning, info and none',
        "",
        id="a severity that is none",
    ),
    pytest.param(
        "rules: {thresholds: {queue_wiat: 1s}}",
        "ERROR rules.thresholds.queue_wiat: unknown field; allowed are limit_warning",
        "did you mean queue_wait?",
        id="a threshold that is not there",
    ),
    pytest.param(
        "rules: {thresholds: {busy: 90}}",
        'found "90"; allowed is a share from 1% to 99%, like 80% or 0.8; write 90% if you mean per cent',
        "",
        id="a share without its sign",
    ),
    pytest.param(
        "rules: {thresholds: {limit_warning: 1}}",
        "allowed is a share from 1% to 99%",
        "",
        id="all of a limit",
    ),
    pytest.param(
        "rules: {thresholds: {restarts: 2.5}}",
        'found "2.5"; allowed is a whole number from 2 to 100',
        "",
        id="half a restart",
    ),
    pytest.param(
        "rules: {thresholds: {forecast: 1m}}",
        'found "1m"; allowed is a duration from 10m to 12h',
        "",
        id="a forecast that comes too late",
    ),
    pytest.param(
        "rules: {thresholds: {queue_wait: }}", "found nothing", "", id="a threshold that was forgotten"
    ),
    pytest.param(
        "rules: {selector: '{job=\"triton\"}'}",
        "allowed are matchers of PromQL without braces",
        "",
        id="a selector with braces",
    ),
    pytest.param(
        "rules: {selector: 'job=\"a\"} or vector(1) #'}",
        "allowed are matchers of PromQL without braces",
        "",
        id="a selector that is an expression",
    ),
    pytest.param(
        "rules: {selector: 'job=~\"tri(\"'}",
        'ERROR rules.selector: "tri(" is not a regular expression',
        "",
        id="a pattern that is none",
    ),
    pytest.param(
        "rules: {selector: 'job=~\"other.*\"'}",
        'WARNING rules.selector: prometheus.yml as built gives job="triton", which this does not select',
        "targets then get them",
        id="a selector that selects nothing of what is built",
    ),
    pytest.param(
        "rules: {replica_label: model}",
        'ERROR rules.replica_label: found "model", which already has another meaning',
        "",
        id="a label that is taken",
    ),
    pytest.param(
        "rules: {replica_label: pod, cluster_label: pod}",
        'ERROR rules.cluster_label: found "pod", which is the replica_label, too',
        "",
        id="one label for both",
    ),
    pytest.param(
        "kubernetes: {objects: {}}\nrules: {replica_label: replica}",
        "WARNING rules.replica_label: Thanos usually takes the label replica for copies",
        "like pod or instance",
        id="an operator, and the label that Thanos takes",
    ),
    pytest.param(
        "rules: {replica_label: replica}",
        "WARNING rules.replica_label: Thanos usually takes the label replica",
        "",
        id="the label that Thanos takes, chosen",
    ),
    pytest.param(
        "kubernetes: {kinds: [Deployment]}\nlimits_source: rules",
        "WARNING kubernetes.kinds: annotations are ignored: limits_source is rules",
        "write limits_source: serve, or watch: false",
        id="annotations that nobody would follow",
    ),
]


@pytest.mark.parametrize(("text", "message", "hint"), WRONG)
def test_what_cannot_be_meant_is_told(text: str, message: str, hint: str) -> None:
    """Once, at its field, with what is allowed and the nearest word."""
    (said,) = _said(text)

    assert message in said
    assert hint in said


@pytest.mark.parametrize(
    "text",
    [
        "",
        PODS,
        'rules: {selector: \'job=~"tri.+", env!="test"\'}',
        "kubernetes: {objects: {}}\nrules: {replica_label: instance, selector: 'job=~\"x\"'}",
        "rules: {cluster_label: none}",
        "kubernetes: {kinds: [Deployment]}",
        "kubernetes: {watch: false, kinds: [Deployment]}\nlimits_source: rules",
        "kubernetes: {objects: {}}\nlimits_source: rules",
    ],
)
def test_what_can_be_meant_is_fine(text: str) -> None:
    """Nothing is said about it."""
    assert _said(text) == []


@pytest.mark.parametrize(("source", "followed"), [("serve", True), ("rules", False)])
def test_annotations_are_followed_where_limits_come_from_serve(
    plan_of: Callable[[str], Plan], *, source: str, followed: bool
) -> None:
    """A rules file has the limits of the fleet file: what serve follows and announces would be in no rule."""
    plan = plan_of(f"{MODELS}kubernetes: {{}}\nlimits_source: {source}\n")

    assert (plan.kubernetes.watched is not None) == followed


def test_what_is_written_is_in_the_rules(plan_of: Callable[[str], Plan]) -> None:
    """Selectors, labels, severities and thresholds, each where it belongs."""
    files = _files(plan_of(MODELS + PODS))
    alerts = _alerts(files)
    exprs = {
        rule["record"]: rule["expr"]
        for group in files["prometheus/rules/records.rules.yml"]["groups"]
        for rule in group["rules"]
        if "record" in rule
    }
    down, near, restarts = (
        alerts[name] for name in ("TritonServerDown", "TritonQpsNearLimit", "TritonRestartLoop")
    )

    assert down["expr"].startswith('up{job="models/triton", namespace="models"} == 0\n  unless\n')
    assert alerts["TritonobsServeDown"]["expr"].startswith('(up{service="watch"} == 0)\nunless on (k8s)')
    assert (down["labels"]["severity"], alerts["TritonModelReloaded"]["labels"]["severity"]) == (
        "warning",
        "none",
    )
    assert "0.9 * 0.7 * subject:tritonobs_qps_limit:held" in near["expr"]
    assert "1.1 * 0.7 * subject:tritonobs_qps_limit:near" in exprs["subject:tritonobs_limit_near:rate"]
    assert "$labels.pod " in down["annotations"]["description"]
    assert "keep_firing_for" not in near
    assert "> 0.25)" in alerts["TritonQueueWaitHigh"]["expr"]
    assert (
        "in {{ 7200 | humanizeDuration }}" in alerts["TritonQpsWillExceedLimit"]["annotations"]["description"]
    )
    assert "at least 5 times" in restarts["annotations"]["description"]
    assert (
        "sum by (k8s, model, version, pod)"
        in exprs["replica_model_version:triton_requests_succeeded:rate20s"]
    )


def test_what_is_written_is_in_what_surrounds_the_rules(plan_of: Callable[[str], Plan]) -> None:
    """Targets get the labels that are selected; routes, inhibitions, limits and boards use the labels."""
    text = MODELS + PODS + "limits_source: rules\n"
    files = _files(plan_of(text))
    prometheus, alertmanager = files["prometheus/prometheus.yml"], files["alertmanager/alertmanager.yml"]
    jobs = {job["job_name"]: job["static_configs"][0]["labels"] for job in prometheus["scrape_configs"]}
    limits = files["prometheus/rules/objectives.rules.yml"]["groups"][0]["rules"]
    board = files["grafana/dashboards/boards/tritonobs-hosts.json"]

    assert prometheus["global"]["external_labels"] == {"k8s": "default"}
    own = {"job": "models/triton", "namespace": "models", "k8s": "default", "pod": "a"}
    assert jobs["triton"] == {"__scheme__": "http", "__metrics_path__": "/metrics", **own}
    assert jobs["tritonobs"] == {"k8s": "default", "service": "watch"}
    assert all(rule["labels"]["k8s"] == "default" for rule in limits)
    assert alertmanager["route"]["group_by"] == ["k8s", "model"]
    equals = {label for rule in alertmanager["inhibit_rules"] for label in rule["equal"]}
    assert equals == {"k8s", "pod", "model", "version", "slo"}
    assert 'k8s=~\\"$cluster\\"' in board
    boards = [text for path, text in files.items() if path.endswith(".json")]
    assert [text for text in boards if '"value": 0.7\n' in text]
    assert 'max by (pod) (up{job=\\"models/triton\\", namespace=\\"models\\", ' in board


def test_without_a_cluster_label_nothing_names_one(plan_of: Callable[[str], Plan]) -> None:
    """No series is expected to carry it, and none is given it."""
    files = _files(plan_of(MODELS + "rules: {cluster_label: none}\nlimits_source: rules\n"))
    prometheus, alertmanager = files["prometheus/prometheus.yml"], files["alertmanager/alertmanager.yml"]
    limits = files["prometheus/rules/objectives.rules.yml"]["groups"][0]["rules"]

    assert prometheus["global"]["external_labels"] == {}
    assert "cluster" not in {label for rule in limits for label in rule.get("labels", {})}
    assert alertmanager["route"]["group_by"] == ["model"]
    assert "cluster" not in {label for rule in alertmanager["inhibit_rules"] for label in rule["equal"]}


def test_every_threshold_of_the_mixin_is_a_field() -> None:
    """But those that Python's backtests compute with, and what they stand for cannot be set apart from."""
    knobs = mixin_knobs({})
    fields = {knob.name for knob in threshold_knobs().values()}

    assert fields <= knobs.keys()
    tables = assets.folder("rules").rglob("thresholds.json")
    table = [row for path in tables for row in json.loads(path.read_text())]
    assert all(row["why"].endswith(".") for row in table)
    assert {row["knob"] for row in table} - fields == {
        "sloMinimumBad",
        "sloMinimumBadSamples",
        "sloThresholdCap",
        "burnLastingRatio",
        "burnAgainRatio",
        "burnWorseRatio",
        "burnVersionShare",
        "budgetLeftRatio",
    }


SELECTED = [
    ('job="triton"', {"job": "triton"}, True),
    ('job="triton", env="a"', {"job": "triton"}, False),
    ('job=~"tri|x"', {"job": "triton"}, False),
    ('job=~"tri.*", env!="test"', {"job": "triton"}, True),
    ('job!~"tri.*"', {"job": "triton"}, False),
    (r'job="a\"b,c"', {"job": 'a"b,c'}, True),
]


@pytest.mark.parametrize(("selector", "labels", "selected"), SELECTED)
def test_a_selector_selects_as_prometheus_does(selector: str, labels: dict[str, str], selected: bool) -> None:  # noqa: FBT001 (a case)
    """Patterns match whole values; a label that is missing is empty."""
    assert selects(selector, labels) is selected
