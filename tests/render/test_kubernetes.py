"""Kubernetes objects: what they carry is what the files hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tritonobs.plan.build import build_plan
from tritonobs.plan.kubernetes import ApiServer, Kubernetes, Objects
from tritonobs.render import kubernetes
from tritonobs.render.artifact import Artifact
from tritonobs.render.kubernetes import render_kubernetes
from tritonobs.render.objectives import render_objectives
from tritonobs.spec.load import load_fleet

if TYPE_CHECKING:
    from tritonobs.plan.fleet import Plan

EXAMPLE = Path(__file__).parents[2] / "examples" / "fleet.yaml"
WATCHED = ApiServer(url="", namespace="", token_file=Path("t"), ca_file=Path("c"))
OBJECTS = Objects(namespace="monitoring", labels={"release": "prometheus"})


@pytest.fixture(name="plan", scope="module")
def _plan() -> Plan:
    plan = build_plan(load_fleet(EXAMPLE), EXAMPLE.parent)
    return replace(plan, limits_source="rules", kubernetes=Kubernetes(objects=OBJECTS))


def _objects(plan: Plan, *artifacts: Artifact) -> list[dict[str, Any]]:
    texts = [artifact.text for artifact in render_kubernetes(plan, artifacts)]
    return [document for text in texts for document in yaml.safe_load_all(text)]


def test_rules_are_carried_whole(plan: Plan) -> None:
    """The groups of the object are the groups of the file, under the labels Prometheus selects by."""
    (artifact,) = render_objectives(plan)

    (rule,) = _objects(plan, artifact)

    assert (rule["apiVersion"], rule["kind"]) == ("monitoring.coreos.com/v1", "PrometheusRule")
    assert rule["metadata"] == {
        "name": "tritonobs-objectives",
        "namespace": "monitoring",
        "labels": {"release": "prometheus"},
    }
    assert rule["spec"] == yaml.safe_load(artifact.text)


def test_large_files_are_divided_between_groups(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """No object outgrows what Kubernetes stores, no group is lost or told twice."""
    monkeypatch.setattr(kubernetes, "LARGEST_BYTES", 2000)
    (artifact,) = render_objectives(plan)

    rules = _objects(plan, artifact)

    assert len({rule["metadata"]["name"] for rule in rules}) == len(rules) > 1
    groups = [group for rule in rules for group in rule["spec"]["groups"]]
    assert groups == yaml.safe_load(artifact.text)["groups"]


def test_boards_are_config_maps_for_the_sidecar(plan: Plan) -> None:
    """The JSON travels as it is."""
    board = Artifact(path="grafana/dashboards/Model_Version.json", text='{"title": "a: b"}\n')

    (config_map,) = _objects(plan, board)

    assert config_map["metadata"]["name"] == "tritonobs-model-version"
    assert config_map["metadata"]["labels"] == {"release": "prometheus", "grafana_dashboard": "1"}
    assert config_map["data"] == {"Model_Version.json": board.text}


@pytest.mark.parametrize(
    ("namespace", "kind"),
    [
        pytest.param("", "ClusterRole", id="all namespaces"),
        pytest.param("shop", "Role", id="one namespace"),
    ],
)
def test_the_rights_are_no_more_than_needed(plan: Plan, namespace: str, kind: str) -> None:
    """List and watch Deployments where annotations are followed, and nothing else anywhere."""
    watched = replace(WATCHED, namespace=namespace)
    account, role, binding = _objects(replace(plan, kubernetes=Kubernetes(objects=OBJECTS, watched=watched)))

    assert account["kind"] == "ServiceAccount"
    assert (role["kind"], role["metadata"].get("namespace", "")) == (kind, namespace)
    assert role["rules"] == [
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["list", "watch"]}
    ]
    assert binding["roleRef"]["kind"] == kind
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": account["metadata"]["name"], "namespace": "monitoring"}
    ]


def test_a_fleet_that_asks_for_no_objects_gets_none(plan: Plan) -> None:
    """Files are enough for most."""
    assert render_kubernetes(replace(plan, kubernetes=Kubernetes(watched=WATCHED)), ()) == ()
