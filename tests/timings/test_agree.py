"""The targets of a real Prometheus compared with a fleet file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from support.programs import PrometheusProgram, free_port
from tritonobs import programs
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.plan.build import build_plan
from tritonobs.spec.load import read_text
from tritonobs.timings.agree import disagreements

FLEET = """\
fleet: shop
cluster: east
replicas: [{name: a, url: "http://10.0.0.1:8000"}]
prometheus: {scrape_interval: 1s}
models: {inspect: {}}
"""
A, B = "127.0.0.1:1", "127.0.0.1:2"


def _job(*targets: dict[str, str], name: str = "triton", interval: str = "1s") -> dict[str, Any]:
    """A job; each target is its labels, and its address as `at`."""
    configs = [
        {"targets": [each["at"]], "labels": {label: text for label, text in each.items() if label != "at"}}
        for each in targets
    ]
    return {"job_name": name, "scrape_interval": interval, "scrape_timeout": "1s", "static_configs": configs}


def _found(folder: Path, rules: str, *jobs: dict[str, Any]) -> list[str]:
    spec = read_text(FLEET + rules, "fleet.yaml").spec
    assert spec is not None
    plan = build_plan(spec, folder)
    config = {"scrape_configs": list(jobs)}
    with PrometheusProgram(Path(programs.find("prometheus")), config, folder) as prometheus:
        client = PrometheusClient(prometheus.url, timeout_seconds=60)
        many = sum(len(job["static_configs"]) for job in jobs)
        deadline = time.monotonic() + 60
        while len(client.query("up")) < many:
            assert time.monotonic() < deadline, "Prometheus has not scraped"
            time.sleep(0.1)
        return [str(finding) for finding in disagreements(plan, client, spec.source)]


EAST = {"at": A, "cluster": "east", "replica": "a"}
AGREES = [
    pytest.param("", [_job(EAST)], id="one server"),
    pytest.param("", [_job(EAST, {"at": B, "cluster": "west", "replica": "b"})], id="another cluster beside"),
    pytest.param(
        "", [_job(EAST), _job({"at": B}, name="other", interval="2s")], id="another job is none of Triton"
    ),
    pytest.param(
        "rules: {cluster_label: none, replica_label: instance}", [_job({"at": A})], id="other labels"
    ),
    pytest.param("", [_job({"at": B}, name="other")], id="no server at all"),
]


@pytest.mark.parametrize(("rules", "jobs"), AGREES)
def test_targets_that_agree_are_not_mentioned(tmp_path: Path, rules: str, jobs: list[dict[str, Any]]) -> None:
    """Labels and interval are those of the fleet file; other jobs and clusters are not its business."""
    assert _found(tmp_path, rules, *jobs) == []


DIFFERS = [
    pytest.param(
        _job({"at": A, "cluster": "east"}, EAST | {"at": B}),
        'fleet.yaml:1:1: rules.replica_label: 1 target of Triton (127.0.0.1:1) has no label "replica", by '
        "which alerts and boards name servers (add it where Prometheus scrapes, or write the label that "
        "they have, such as instance)",
        id="no replica",
    ),
    pytest.param(
        _job({"at": A, "replica": "a"}, {"at": B, "replica": "b"}),
        "fleet.yaml:1:1: rules.cluster_label: 2 targets of Triton (127.0.0.1:1, 127.0.0.1:2) have no label "
        '"cluster"; limits, joins and absences are per cluster (add cluster="east" where Prometheus scrapes, '
        "or write rules.cluster_label: none)",
        id="no cluster",
    ),
    pytest.param(
        _job(EAST | {"cluster": "prod"}),
        'fleet.yaml:2:10: cluster: no target of Triton has cluster="east"; found prod '
        "(write that here, or change the label where Prometheus scrapes)",
        id="another cluster",
    ),
    pytest.param(
        _job(EAST, interval="2s"),
        "fleet.yaml:4:31: prometheus.scrape_interval: Prometheus scrapes 1 target of Triton every 2s; the "
        "windows of the rules are made for 1s (write 2s here, or change it where Prometheus scrapes)",
        id="another interval",
    ),
]


@pytest.mark.parametrize(("job", "finding"), DIFFERS)
def test_what_differs_is_said_with_what_to_write(tmp_path: Path, job: dict[str, Any], finding: str) -> None:
    """At the setting of the fleet file that is about it."""
    assert _found(tmp_path, "", job) == [finding]


def test_what_prometheus_does_not_answer_is_not_compared(tmp_path: Path) -> None:
    """Beside Prometheus there are stores that know no targets."""
    spec = read_text(FLEET, "fleet.yaml").spec
    assert spec is not None
    client = PrometheusClient(f"http://127.0.0.1:{free_port()}", retries=0)

    assert list(disagreements(build_plan(spec, tmp_path), client, spec.source)) == []
