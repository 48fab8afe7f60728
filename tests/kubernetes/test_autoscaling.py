"""Autoscalers of pools: what is scaled by what, and that missing data makes no pool smaller."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from support.fails_closed import open_paths
from tritonobs.cli.values import load_plan
from tritonobs.extensions.kubernetes.autoscaling import adapter_rules, autoscaling_objects
from tritonobs.extensions.kubernetes.build import artifacts
from tritonobs.plan.build import build_plan
from tritonobs.spec.load import read_text

if TYPE_CHECKING:
    from collections.abc import Callable

FLEET = """\
fleet: shop
cluster: east
replicas: {kubernetes: {selector: app=triton, namespace: models}}
addresses: {prometheus: "http://prometheus.monitoring:9090"}
kubernetes:
  objects:
    labels: {release: kps}
    autoscaling:
      triton-large: {models: [inspect, "Weird <<\\"name\\">> {}", flow], min_replicas: 2, max_replicas: 8}
      triton-llm:
        by: keda
        kind: ModelDeployment
        api: example.com/v1
        name: llm-app
        namespace: language
        models: [llm]
        language_models: [llm]
        max_replicas: 4
models:
  inspect: {qps_limit: 80}
  "Weird <<\\"name\\">> {}": {qps_limit: 8}
  flow: {pipeline: ensemble, qps_limit: 20, calls: {inspect: 1}}
  llm: {}
"""
LARGE, LLM = ("HorizontalPodAutoscaler", "triton-large"), ("ScaledObject", "triton-llm")
Made = dict[tuple[str, str], dict[str, Any]]
Rules = dict[str, dict[str, Any]]


@pytest.fixture(name="made", scope="module")
def _made() -> Made:
    plan = _plan()
    objects = autoscaling_objects(plan, plan.kubernetes.naming)
    return {(one["kind"], one["metadata"]["name"]): one for one in objects}


@pytest.fixture(name="rules", scope="module")
def _rules() -> Rules:
    plan = _plan()
    (artifact,) = adapter_rules(plan)
    return {one["name"]["as"]: one for one in yaml.safe_load(artifact.text)["rules"]["external"]}


def _plan(text: str = FLEET):
    reading = read_text(text, "fleet.yaml")
    assert reading.spec is not None, reading.findings
    return build_plan(reading.spec, Path())


def test_each_model_has_its_metrics(made: Made, rules: Rules) -> None:
    """A model that is missing blocks shrinking; a mean over models would hide it. Ensembles have no queue."""
    spec = made[LARGE]["spec"]
    names = [one["external"]["metric"]["name"] for one in spec["metrics"]]

    assert names == [
        "tritonobs_triton-large_inspect_load",
        "tritonobs_triton-large_inspect_ahead",
        "tritonobs_triton-large_inspect_queue",
        "tritonobs_triton-large_weird-name_load",
        "tritonobs_triton-large_weird-name_ahead",
        "tritonobs_triton-large_weird-name_queue",
        "tritonobs_triton-large_flow_load",
        "tritonobs_triton-large_flow_ahead",
    ]
    assert list(rules) == names
    assert spec["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "triton-large"}
    assert (spec["minReplicas"], spec["maxReplicas"]) == (2, 8)
    assert made[LARGE]["metadata"]["namespace"] == "models"


def test_keda_asks_prometheus_itself(made: Made) -> None:
    """A custom resource, elsewhere; waiting requests and the cache of a language model."""
    spec = made[LLM]["spec"]

    assert spec["scaleTargetRef"] == {
        "apiVersion": "example.com/v1",
        "kind": "ModelDeployment",
        "name": "llm-app",
    }
    assert made[LLM]["metadata"]["namespace"] == "language"
    assert [one["name"].rpartition("_")[2] for one in spec["triggers"]] == ["queue", "waiting", "kv-cache"]
    assert {one["metadata"]["serverAddress"] for one in spec["triggers"]} == {
        "http://prometheus.monitoring:9090"
    }
    assert spec["fallback"] == {"failureThreshold": 3, "replicas": 1, "behavior": "currentReplicasIfHigher"}


def test_names_of_models_are_data(rules: Rules) -> None:
    """prometheus-adapter would read << as the begin of a template."""
    rule = rules["tritonobs_triton-large_weird-name_load"]

    assert "<<" not in json.dumps(rule)
    labels = 'cluster="east",model="Weird \\x3c\\x3c\\"name\\">> {}",version=""'
    assert rule["seriesQuery"] == f"subject:triton_requests_offered:rate20s{{{labels}}}"
    assert rule["resources"] == {"namespaced": False}


def test_no_autoscaler_takes_missing_data_for_no_load(made: Made, rules: Rules) -> None:
    """Neither of the two, in no metric."""
    queries = {name: one["metricsQuery"] for name, one in rules.items()}

    assert [open_paths(one, queries) for one in made.values()] == [[], []]


def _set(*path: str | int) -> Callable[..., Callable[[Any], None]]:
    def to(value: object) -> Callable[[Any], None]:
        def plant(made: Any) -> None:
            for step in path[:-1]:
                made = made[step]
            made[path[-1]] = value(made[path[-1]]) if callable(value) else value

        return plant

    return to


_TRIGGER = ("spec", "triggers", 0, "metadata")
PLANTED = [
    (LLM, _set(*_TRIGGER, "ignoreNullValues")("true"), "takes an empty answer for 0"),
    (LLM, _set(*_TRIGGER)(lambda said: {k: v for k, v in said.items() if k != "ignoreNullValues"}), "for 0"),
    (LLM, _set(*_TRIGGER, "threshold")("0.5"), "has no fallback"),
    (LLM, _set(*_TRIGGER, "query")(lambda query: f"({query}) or vector(0)"), "makes a row without data"),
    (
        LLM,
        _set(*_TRIGGER, "query")(lambda query: query.replace(">= 0) < Inf", ">= 0 or up * 0) < Inf")),
        "a row",
    ),
    (LLM, _set(*_TRIGGER, "query")(lambda query: query.removesuffix(" < Inf")), "lets through"),
    (LLM, _set("spec", "fallback", "behavior")("static"), "falls back to a fixed number"),
    (LLM, _set("spec", "fallback")({}), "falls back to a fixed number"),
    (LLM, _set("spec", "minReplicaCount")(0), "no server at all"),
    (LARGE, _set("spec", "minReplicas")(0), "no server at all"),
    (LARGE, _set("spec", "metrics", 0, "external", "metric", "name")("another"), "no rule serves it"),
    (
        LARGE,
        _set("spec", "metrics", 0, "external", "target")({"type": "Value", "value": "1"}),
        "number of servers",
    ),
]


@pytest.mark.parametrize(("which", "plant", "says"), PLANTED)
def test_a_planted_way_is_found(made: Made, rules: Rules, which, plant, says: str) -> None:
    """Each way in which missing data would make the pool smaller."""
    queries = {name: one["metricsQuery"] for name, one in rules.items()}
    changed = copy.deepcopy(made[which])
    plant(changed)

    assert any(says in one for one in open_paths(changed, queries))


def test_objects_and_rules_are_built(tmp_path: Path) -> None:
    """With base and chart; the adapter's rules beside them, because they are values of another chart."""
    (tmp_path / "fleet.yaml").write_text(FLEET)
    paths = {one.path for one in artifacts(load_plan(tmp_path / "fleet.yaml"), tmp_path / "fleet.yaml")}

    assert "kubernetes/base/horizontalpodautoscaler-triton-large.yaml" in paths
    assert "kubernetes/chart/objects/scaledobject-triton-llm.yaml" in paths
    assert "kubernetes/prometheus-adapter.yaml" in paths


def test_without_pools_there_is_none_of_it(tmp_path: Path) -> None:
    """What nobody asked for is not built."""
    text = "fleet: s\nreplicas: {kubernetes: {selector: app=triton}}\nmodels: {m: {}}\n"
    (tmp_path / "fleet.yaml").write_text(text)
    paths = [one.path for one in artifacts(load_plan(tmp_path / "fleet.yaml"), tmp_path / "fleet.yaml")]

    assert not [one for one in paths if "autoscaler" in one or "scaledobject" in one or "adapter" in one]
