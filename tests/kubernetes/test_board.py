"""Pools of servers are drawn from what kube-state-metrics tells: no stack of the tests has it."""

from __future__ import annotations

import re

from support.case import Case, reads
from support.promtool import run
from support.simulate import World
from tritonobs import programs
from tritonobs.render.grafana import load_boards
from tritonobs.render.rules import evaluate_mixin

LARGE = {"namespace": "models", "deployment": "triton-large"}
SMALL = {"namespace": "models", "statefulset": "triton-small"}
SCALER = {"namespace": "models", "horizontalpodautoscaler": "triton-large"}


def _drawn():
    """The queries of the board of hosts, by their place."""
    return {
        f"{panel['title']} {target['refId']}": target["expr"].replace("$cluster", ".*")
        for panel in load_boards()["hosts"]["panels"]
        for target in panel.get("targets", ())
    }


def test_pools_are_drawn_from_what_their_alerts_read():
    """A panel of other numbers would contradict the alert that leads to it."""
    series = re.compile(r"\bkube_\w+")
    groups = evaluate_mixin({})["alerts"]["groups"]
    read = {name for group in groups for rule in group["rules"] for name in series.findall(rule["expr"])}
    drawn = {name for expr in _drawn().values() for name in series.findall(expr)}

    assert len(drawn) == 6
    assert drawn - read == set()


def test_pools_of_both_kinds_and_their_autoscalers_are_drawn(tmp_path):
    """Two copies of kube-state-metrics are one line; what is no pool of servers is none."""
    world = World(minutes=2)
    for copy in ("a", "b"):
        for deployment, ready in (("triton-large", 3), ("grafana", 1)):
            labels = {**LARGE, "deployment": deployment, "instance": copy}
            world.gauge("kube_deployment_spec_replicas", 4, **labels)
            world.gauge("kube_deployment_status_replicas_available", ready, **labels)
    world.gauge("kube_statefulset_replicas", 2, **SMALL)
    world.gauge("kube_statefulset_status_replicas_ready", 2, **SMALL)
    world.gauge("kube_horizontalpodautoscaler_status_desired_replicas", 4, **SCALER)
    world.gauge("kube_horizontalpodautoscaler_spec_max_replicas", 8, **SCALER)
    drawn = _drawn()
    large, small = {**LARGE, "pool": "triton-large"}, {**SMALL, "pool": "triton-small"}
    checks = (
        reads(drawn["Ready replicas A"], 1, (large, 3), (small, 2)),
        reads(drawn["Ready replicas B"], 1, (large, 4), (small, 2)),
        reads(drawn["Desired replicas of autoscalers A"], 1, (SCALER, 4)),
        reads(drawn["Desired replicas of autoscalers B"], 1, (SCALER, 8)),
    )
    case = Case(says="pools", world=world, rules=(), checks=checks)

    assert run(programs.find("promtool"), [], case, tmp_path) == ""
