"""OpenSLO v1 documents beside a fleet file."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from tritonobs.plan.build import build_plan
from tritonobs.plan.check import check
from tritonobs.plan.fleet import Slo
from tritonobs.spec.load import read_fleet

if TYPE_CHECKING:
    from pathlib import Path

FLEET = """\
fleet: shop
replicas: [{name: a, url: "http://10.0.0.1:8000"}]
models: {inspect: {versions: {1: {}, 2: {}}}, nms: {slos: {up: {objective: 99%}}}}
openslo: [slo/*.yaml]
"""
RATIO = """\
apiVersion: openslo/v1
kind: SLO
metadata: {name: answers, displayName: Answers without an error}
spec:
  service: inspect
  indicator:
    metadata: {name: good-answers}
    spec:
      ratioMetric:
        counter: true
        good: {metricSource: {type: tritonobs}}
        total: {metricSource: {type: tritonobs, spec: {}}}
  timeWindow: [{duration: 30d, isRolling: true}]
  budgetingMethod: Occurrences
  objectives: [{displayName: good, target: 0.9995}]
"""
LATENCY = """\
apiVersion: openslo/v1
kind: SLI
metadata: {name: decode-time}
spec:
  thresholdMetric: {metricSource: {type: tritonobs, spec: {model: inspect, version: "2", stage: decode}}}
---
apiVersion: openslo/v1
kind: Service
metadata: {name: vision}
spec: {description: not used}
---
apiVersion: openslo/v1
kind: SLO
metadata: {name: decode}
spec:
  service: vision
  indicatorRef: decode-time
  objectives:
    - {op: lte, value: 0.05, targetPercent: 99}
    - {op: lte, value: 0.25, target: 0.999}
"""


def _fleet(folder: Path, **documents: str) -> Path:
    (folder / "slo").mkdir()
    for name, text in documents.items():
        (folder / "slo" / f"{name}.yaml").write_text(text)
    (folder / "fleet.yaml").write_text(FLEET)
    return folder / "fleet.yaml"


def _complaints(path: Path) -> list[str]:
    reading = read_fleet(path)
    assert reading.spec is not None
    findings = [*reading.findings, *check(reading.spec)]
    return [str(finding).replace(f"{path.parent}/", "") for finding in findings]


def test_documents_become_slos(tmp_path: Path) -> None:
    """A ratio counts answers, a threshold times a stage; a model's SLO is each of its versions' too."""
    path = _fleet(tmp_path, a=RATIO, b=LATENCY)
    reading = read_fleet(path)
    assert (reading.findings, check(reading.spec)) == ((), ())
    plan = build_plan(reading.spec, tmp_path)

    answers = {"name": "answers", "model": "inspect", "objective_ratio": Decimal("0.9995")}
    decode = {"model": "inspect", "version": "2", "stage": "decode"}
    assert plan.slos == (
        Slo(**answers, version=""),
        Slo(**answers, version="1"),
        Slo(**answers, version="2"),
        Slo(**decode, name="decode-1", objective_ratio=Decimal("0.99"), target_seconds=Decimal("0.05")),
        Slo(**decode, name="decode-2", objective_ratio=Decimal("0.999"), target_seconds=Decimal("0.25")),
        Slo(name="up", model="nms", version="", objective_ratio=Decimal("0.99")),
    )
    assert plan.read_files == (tmp_path / "slo" / "a.yaml", tmp_path / "slo" / "b.yaml")


COMPLAINTS = [
    pytest.param(
        RATIO,
        "type: tritonobs}}",
        "type: Prometheus}}",
        'slo/a.yaml:11:37: spec.indicator.spec.ratioMetric.good.metricSource.type: found "Prometheus"; '
        "allowed is tritonobs",
        id="a query of its own",
    ),
    pytest.param(
        RATIO,
        "openslo/v1\n",
        "openslo/v1alpha\n",
        'slo/a.yaml:1:13: apiVersion: found "openslo/v1alpha"; '
        'allowed is "openslo/v1" (did you mean "openslo/v1"?)',
        id="another version of the format",
    ),
    pytest.param(
        RATIO,
        "kind: SLO",
        "kind: SLOO",
        'slo/a.yaml:2:7: kind: found "SLOO"; allowed are SLO, SLI, Service, DataSource, AlertPolicy, '
        "AlertCondition, AlertNotificationTarget (did you mean SLO?)",
        id="an unknown kind",
    ),
    pytest.param(
        RATIO,
        "0.9995",
        "99.95",
        'slo/a.yaml:15:44: spec.objectives[0].target: found "99.95"; '
        "allowed is a share of good requests from 50% up to, but not, 100%, like 99.9% or 0.999; "
        "write 99.95% if you mean per cent",
        id="per cent as a ratio",
    ),
    pytest.param(
        RATIO,
        "displayName: good, ",
        "timeSliceTarget: 0.9, ",
        "slo/a.yaml:15:17: spec.objectives[0].timeSliceTarget: unknown field; "
        "allowed are displayName, op, value, target and targetPercent",
        id="time slices",
    ),
    pytest.param(
        RATIO,
        "Occurrences",
        "Timeslices",
        'slo/a.yaml:14:20: spec.budgetingMethod: found "Timeslices"; allowed is Occurrences',
        id="budgets by time slices",
    ),
    pytest.param(
        RATIO,
        "isRolling: true",
        "isRolling: false",
        'slo/a.yaml:13:43: spec.timeWindow[0].isRolling: found "false"; allowed is true',
        id="calendar periods",
    ),
    pytest.param(
        RATIO,
        "30d",
        "7d",
        "slo/a.yaml:13:27: spec.timeWindow[0].duration: 7d is not the fleet's slo_period, 30d; "
        "all SLOs of a fleet have one period",
        id="another period than the fleet's",
    ),
    pytest.param(
        RATIO,
        "service: inspect",
        "service: inspct",
        'slo/a.yaml:5:12: spec.service: "inspct" is no model of this fleet; models are inspect and nms '
        "(did you mean inspect?)",
        id="an unknown model",
    ),
    pytest.param(
        RATIO,
        "service: inspect",
        "service: nms",
        None,
        id="another model is fine",
    ),
    pytest.param(
        RATIO.replace("service: inspect", "service: nms"),
        "name: answers",
        "name: up",
        'slo/a.yaml:15:16: spec.objectives[0]: "up" is promised in fleet.yaml too; rename one of them',
        id="a name the fleet file has too",
    ),
    pytest.param(
        RATIO,
        "        good: {metricSource: {type: tritonobs}}\n",
        "",
        "slo/a.yaml:7:5: spec.indicator: a ratioMetric needs either good or bad",
        id="half a ratio",
    ),
    pytest.param(
        RATIO,
        "target: 0.9995",
        "target: 0.9995, value: 1",
        "slo/a.yaml:15:16: spec.objectives[0]: has a value, which a ratioMetric is not compared with",
        id="a value for a ratio",
    ),
    pytest.param(
        LATENCY,
        "indicatorRef: decode-time",
        "indicatorRef: decode-tim",
        'slo/a.yaml:17:17: spec.indicatorRef: "decode-tim" is no SLI of the files read '
        "(did you mean decode-time?)",
        id="an unknown SLI",
    ),
    pytest.param(
        LATENCY,
        "  indicatorRef: decode-time\n",
        "",
        "slo/a.yaml:16:3: spec: needs either indicator or indicatorRef",
        id="no SLI",
    ),
    pytest.param(
        LATENCY,
        "value: 0.25",
        "value: 0.2",
        "slo/a.yaml:20:24: spec.objectives[1].value: 200ms is no latency bound of inspect; "
        "the nearest are 150ms and 250ms",
        id="a threshold that is no bound",
    ),
    pytest.param(
        LATENCY,
        "op: lte, value: 0.05, ",
        "",
        "slo/a.yaml:19:7: spec.objectives[0]: a thresholdMetric needs op: lte and a value in seconds",
        id="a latency without a threshold",
    ),
    pytest.param(
        LATENCY,
        'version: "2"',
        'version: "3"',
        'slo/a.yaml:17:17: spec.indicatorRef: "3" is no version of inspect; there are 1 and 2',
        id="an unknown version",
    ),
    pytest.param(
        LATENCY,
        "  objectives:",
        "  alertPolicies: [page]\n  objectives:",
        "slo/a.yaml:18:3: spec.alertPolicies: is not used: every SLO has the same burn-rate alerts",
        id="alert policies",
    ),
    pytest.param(
        LATENCY,
        "kind: Service",
        "kind: [",
        None,
        id="text that is no YAML",
    ),
]


@pytest.mark.parametrize(("document", "old", "new", "complaint"), COMPLAINTS)
def test_what_does_not_fit_is_told_in_the_document(
    tmp_path: Path, document: str, old: str, new: str, complaint: str | None
) -> None:
    """File, line, column, field, and what is allowed."""
    assert old in document
    complaints = _complaints(_fleet(tmp_path, a=document.replace(old, new, 1)))

    if complaint is not None:
        assert complaints[:1] == [complaint]


def test_a_document_that_is_no_yaml_is_one_finding(tmp_path: Path) -> None:
    """At its place in its own file."""
    (complaint,) = _complaints(_fleet(tmp_path, a="kind: [\n"))

    assert complaint.startswith("slo/a.yaml:2:1: not YAML: ")


def test_a_pattern_without_a_file_is_told(tmp_path: Path) -> None:
    """A folder that was moved does not silently take its SLOs along."""
    assert _complaints(_fleet(tmp_path)) == ['fleet.yaml:4:11: openslo[0]: no file matches "slo/*.yaml"']


def test_one_name_in_two_documents_is_told(tmp_path: Path) -> None:
    """Two promises of one name would be one series."""
    assert _complaints(_fleet(tmp_path, a=RATIO, b=RATIO)) == [
        'slo/b.yaml:15:16: spec.objectives[0]: "answers" is promised twice; first at '
        f"{tmp_path}/slo/a.yaml:15:16".replace(f"{tmp_path}/", "")
    ]
