"""The objects of a fleet as files: a kustomize base, and a Helm chart that carries the very same objects."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from pathlib import PurePosixPath

from tritonobs import __version__
from tritonobs.extensions.kubernetes.autoscaling import adapter_rules, autoscaling_objects
from tritonobs.extensions.kubernetes.objects import NAME, Object, board_object
from tritonobs.extensions.kubernetes.operator import alertmanager_object, monitor_objects, rule_objects
from tritonobs.extensions.kubernetes.workload import (
    FleetFile,
    access_objects,
    reach_objects,
    workload_objects,
)
from tritonobs.plan.fleet import Plan
from tritonobs.plan.kubernetes import Objects
from tritonobs.render.artifact import Artifact, yaml_text
from tritonobs.render.grafana import render_dashboards
from tritonobs.render.rules import render_objectives, render_rules

FOLDER = "kubernetes"
_COMMENT = "Made by tritonobs build."


def render_kubernetes(plan: Plan, fleet: FleetFile) -> tuple[Artifact, ...]:
    """Everything a cluster needs for the fleet: rules and boards as objects, and `tritonobs serve`.

    Raises:
        RenderFailed: something is too large for an object.
    """
    objects = plan.kubernetes.naming
    files: dict[str, Object] = {}
    for made in all_objects(plan, objects, fleet):
        files[f"{made['kind'].lower()}-{made['metadata']['name']}.yaml"] = made
    texts = {name: yaml_text(made, comment=_COMMENT) for name, made in files.items()}
    base = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": list(texts),
    }
    apart = alertmanager_object(plan, objects)
    return (
        Artifact(path=f"{FOLDER}/base/kustomization.yaml", text=yaml_text(base, comment=_COMMENT)),
        *(Artifact(path=f"{FOLDER}/base/{name}", text=text) for name, text in texts.items()),
        Artifact(path=f"{FOLDER}/alertmanagerconfig.yaml", text=yaml_text(apart, comment=_COMMENT)),
        *adapter_rules(plan, objects),
        *_chart(objects, texts, yaml_text(apart, comment=_COMMENT)),
    )


def all_objects(plan: Plan, objects: Objects, fleet: FleetFile) -> Iterator[Object]:
    """The objects in the order in which they are best applied; of a shard, what it scrapes and records."""
    if plan.rules.tier == "shard":
        yield from monitor_objects(plan, objects)
        yield from _rules(plan, objects)
        return
    yield from access_objects(plan, objects)
    yield from workload_objects(plan, objects, fleet)
    yield from reach_objects(plan, objects)
    yield from monitor_objects(plan, objects)
    yield from autoscaling_objects(plan, objects)
    yield from _rules(plan, objects)
    for artifact in render_objectives(plan):
        yield from rule_objects(f"{NAME}-{_stem(artifact)}", artifact, objects)
    for artifact in render_dashboards(plan, source=""):
        yield board_object(f"{NAME}-board-{_stem(artifact).removeprefix(f'{NAME}-')}", artifact, objects)


def _rules(plan: Plan, objects: Objects) -> Iterator[Object]:
    for artifact in render_rules(plan):
        yield from rule_objects(f"{NAME}-{_stem(artifact)}", artifact, objects)


def _stem(artifact: Artifact) -> str:
    """`prometheus/rules/records.rules.yml` is `records`."""
    return PurePosixPath(artifact.path).name.partition(".")[0]


def _chart(objects: Objects, texts: dict[str, str], apart: str) -> Iterator[Artifact]:
    """The objects as files of the chart, and one template that puts the values over them."""
    folder = f"{FOLDER}/chart"
    about = {
        "apiVersion": "v2",
        "name": NAME,
        "description": "Rules, boards and tritonobs serve for one fleet of Triton servers.",
        "type": "application",
        "version": __version__,
        "appVersion": __version__,
        "kubeVersion": ">=1.25.0-0",
    }
    yield Artifact(path=f"{folder}/Chart.yaml", text=yaml_text(about, comment=_COMMENT))
    for name in ("values.yaml", "values.schema.json", "templates/objects.yaml", "templates/NOTES.txt"):
        template = resources.files("tritonobs.extensions.kubernetes") / "chart" / name
        text = template.read_text(encoding="utf-8").replace("@NAMESPACE@", objects.namespace)
        yield Artifact(path=f"{folder}/{name}", text=text)
    # Named one by one: a file that an earlier build left behind is not installed.
    yield Artifact(path=f"{folder}/objects.txt", text="".join(f"{name}\n" for name in texts))
    yield Artifact(path=f"{folder}/alertmanagerconfig.yaml", text=apart)
    for name, text in texts.items():
        yield Artifact(path=f"{folder}/objects/{name}", text=text)
