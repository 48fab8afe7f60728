"""`tritonobs serve` against a real API server, with the rights of our own Role and no others."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
import requests

from support.leaders import hand_over, serve_token
from support.programs import ServeProgram

if TYPE_CHECKING:
    from pathlib import Path

    from support.control_plane import ControlPlane

pytestmark = [pytest.mark.e2e, pytest.mark.kubernetes, pytest.mark.timeout(900)]

FLEET = """\
fleet: shop
replicas: {kubernetes: {selector: app=triton, namespace: models}}
kubernetes: {namespace: models, kinds: [Deployment, StatefulSet], objects: {labels: {release: kps}}}
models: {inspect: {qps_limit: 8}, nms: {qps_limit: 20}}
"""
PATIENCE_SECONDS = 60.0


@pytest.fixture(name="token", scope="module")
def _token(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> str:
    """That of the service account, with what the base grants it."""
    return serve_token(cluster, tmp_path_factory.mktemp("base"))


def test_a_leader_killed_in_a_burst_loses_nothing(cluster: ControlPlane, token: str, tmp_path: Path) -> None:
    """The assertions that hold with the double; the Lease is a real one."""
    how = {"fleet": {"api": cluster.url, "ca_file": str(cluster.ca)}, "token": token}
    done = hand_over(tmp_path, how)

    assert (done.sent, done.lost) == (100, ())
    assert done.most_times <= 2
    assert done.takeover_seconds <= 20
    assert done.most_in_a_minute <= 20


def test_an_annotation_is_in_force_and_told_on_the_object(
    cluster: ControlPlane, token: str, tmp_path: Path
) -> None:
    """`kubectl annotate` of a StatefulSet; a value that is none is told there, and the last one stays."""
    fleet = tmp_path / "fleet.yaml"
    where = f"{{api: {cluster.url}, ca_file: {cluster.ca}, token_file: token, "
    fleet.write_text(FLEET.replace("kubernetes: {namespace", f"kubernetes: {where}namespace"))
    (tmp_path / "token").touch(mode=0o600)
    (tmp_path / "token").write_text(token)
    pod = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"serviceName": "s", "selector": {"matchLabels": {"a": "b"}}, "template": pod, "replicas": 0}
    metadata = {"name": "nms", "namespace": "models"}
    cluster.apply({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec})

    with ServeProgram(fleet) as serve:
        _annotate(cluster, "80")
        _until(serve, "80.0")
        _annotate(cluster, "lots")
        told = _events(cluster, 2)
        assert [(one["reason"], one["involvedObject"]["kind"]) for one in told] == [
            ("LimitInForce", "StatefulSet"),
            ("LimitRefused", "StatefulSet"),
        ]
        assert told[0]["message"] == "limit 80 in force for nms"
        assert told[1]["message"].endswith("80 stays in force")
        _until(serve, "80.0")


def _annotate(cluster: ControlPlane, value: str) -> None:
    words = (
        "-n",
        "models",
        "annotate",
        "--overwrite",
        "statefulset",
        "nms",
        f"tritonobs.dev/max-qps={value}",
    )
    cluster.kubectl(*words)


def _until(serve: ServeProgram, value: str) -> None:
    ends = time.monotonic() + PATIENCE_SECONDS
    wanted = f'tritonobs_qps_limit{{model="nms",version=""}} {value}'
    while wanted not in (page := requests.get(f"{serve.url}/metrics", timeout=10).text):
        assert time.monotonic() < ends, [line for line in page.splitlines() if "qps_limit" in line]
        time.sleep(0.2)


def _events(cluster: ControlPlane, number: int) -> list[dict[str, Any]]:
    ends = time.monotonic() + PATIENCE_SECONDS
    while len(found := cluster.objects("events", namespace="models")) < number:
        assert time.monotonic() < ends, found
        time.sleep(0.2)
    return sorted(found, key=lambda one: str(one["reason"]))
