"""Pods that kwok runs, found and scraped through our chart's objects; too many requests to them page."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from support.control_plane import ControlPlane, missing, wait
from support.fake_pods import FakePods
from support.fleets import build_objects
from support.operated import (
    OperatedPrometheus,
    alertmanager_config,
    alertmanager_object,
    ask,
    firing,
    operated_config,
    rule_files,
)
from support.pools import NODE, pod
from support.programs import AlertmanagerProgram, ServeProgram, free_port
from tritonobs.extensions.lab.robot import RobotDouble
from tritonobs.programs import find

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.e2e, pytest.mark.kubernetes, pytest.mark.timeout(900)]

PODS = 20
LIMIT, QPS = 8, 1.5
"""20 servers get 30 requests a second together."""
FLEET = """\
fleet: shop
cluster: east
limits_source: rules
replicas: {{kubernetes: {{selector: "app=triton,tier!=test", namespace: models, port: {port}}}}}
prometheus: {{scrape_interval: 5s, evaluation_interval: 5s}}
kubernetes:
  api: {api}
  ca_file: {ca}
  token_file: token
  watch: false
  objects: {{labels: {{release: kps}}}}
models: {{inspect: {{qps_limit: {limit}, versions: {{"1": {{}}}}}}}}
notify: {{dingtalk: {{oncall: {{webhook_file: webhook, secret_file: secret}}}}}}
"""
INSTALL = ("install", "triton", "--namespace", "monitoring", "--set", "alertmanagerConfig=true")


@pytest.fixture(name="plane", scope="module")
def _plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    why = missing("kubectl", "helm", "etcd", "kube-apiserver", "operator", "kwok", "prometheus")
    if why:
        pytest.skip(why)
    with ControlPlane(tmp_path_factory.mktemp("plane"), operator=True, pods=True) as plane:
        for name in ("monitoring", "models"):
            plane.kubectl("create", "namespace", name)
        plane.apply(NODE, *(pod(f"triton-{number}", {"app": "triton"}) for number in range(PODS)))
        plane.apply(pod("web", {"app": "web"}), pod("trial", {"app": "triton", "tier": "test"}))
        yield plane


def _secrets(folder: Path, plane: ControlPlane, robot: RobotDouble) -> None:
    for name, text in (("token", plane.token), ("webhook", robot.webhook_url), ("secret", robot.secret)):
        (folder / name).touch(mode=0o600)
        (folder / name).write_text(text)


def test_pods_are_scraped_and_an_overflow_pages(plane: ControlPlane, tmp_path: Path) -> None:
    """One target a pod though each has three ports; and a message by the chart's rules and routes."""
    port, serve = free_port(), free_port()
    fleet = FLEET.format(port=port, limit=LIMIT, api=plane.url, ca=plane.ca)
    chart = build_objects(tmp_path, fleet) / "chart"
    plane.apply(alertmanager_object())
    plane.program("helm", *INSTALL, str(chart))
    config = operated_config(plane)
    wait(lambda: "dingtalk" in alertmanager_config(plane), "the operator's routes")
    # There is nobody who knows the names of Services.
    here = alertmanager_config(plane).replace("tritonobs.monitoring.svc:9900", f"127.0.0.1:{serve}")
    (tmp_path / "am.yml").write_text(here)

    with ExitStack() as running:
        robot = running.enter_context(RobotDouble())
        _secrets(tmp_path, plane, robot)
        running.enter_context(ServeProgram(tmp_path / "fleet.yaml", port=serve))
        running.enter_context(FakePods(plane, port, qps=QPS))
        manager = running.enter_context(
            AlertmanagerProgram(find("alertmanager"), tmp_path / "am.yml", tmp_path / "am")
        )
        prometheus = running.enter_context(
            OperatedPrometheus(tmp_path, config, rule_files(plane), alertmanager=manager.url)
        )
        url = prometheus.url
        wait(lambda: len(ask(url, "up == 1")) == PODS, "the targets", seconds=90)
        labels = [row["metric"] for row in ask(url, "up")]
        assert {one["pod"] for one in labels} == {f"triton-{number}" for number in range(PODS)}
        assert {(one["job"], one["namespace"], one["cluster"]) for one in labels} == {
            ("triton", "models", "east")
        }
        assert {one.get("container") for one in labels} == {None}
        wait(lambda: "TritonQpsAboveLimit" in firing(manager.url), "the page", seconds=90)
        assert firing(manager.url)["TritonQpsAboveLimit"]["model"] == "inspect"
        assert "TritonServerScrapedTwice" not in firing(manager.url)
        wait(lambda: _told(robot, "TritonQpsAboveLimit"), "the message", seconds=60)


def _told(robot: RobotDouble, alert: str) -> bool:
    return any(alert in message.text for message in robot.messages)
