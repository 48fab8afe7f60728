"""What `build` writes for a cluster: the objects of a fleet, with addresses as pods know them.

They are files of a kustomize base, and of a Helm chart that carries the very same objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from tritonobs import __version__
from tritonobs.cli.say import say
from tritonobs.extensions.kubernetes.autoscaling import adapter_rules, autoscaling_objects
from tritonobs.extensions.kubernetes.objects import NAME, PORT, Object, board_object
from tritonobs.extensions.kubernetes.operator import alertmanager_object, monitor_objects, rule_objects
from tritonobs.extensions.kubernetes.workload import (
    HOME,
    FleetFile,
    access_objects,
    reach_objects,
    service_names,
    workload_objects,
)
from tritonobs.files import read_bytes
from tritonobs.files import read_text as text_of
from tritonobs.outside import is_loopback
from tritonobs.plan.build import build_plan
from tritonobs.plan.fleet import Plan
from tritonobs.plan.kubernetes import Objects
from tritonobs.render.artifact import Artifact, yaml_text
from tritonobs.render.grafana import render_dashboards
from tritonobs.render.rules import render_objectives, render_rules
from tritonobs.spec.load import MAX_BYTES, load_fleet, unpacked
from tritonobs.spec.schema import DiscoverySpec, Spec


def objects(plan: Plan, fleet: Path) -> tuple[Artifact, ...]:
    """The objects where the fleet file asks for them (`kubernetes.objects`), else none.

    Raises:
        RenderFailed: something is too large for an object.
        SpecInvalid: a file that the fleet file names cannot be read.
    """
    return artifacts(plan, fleet) if plan.kubernetes.objects else ()


def artifacts(_: Plan, fleet: Path) -> tuple[Artifact, ...]:
    """The fleet's objects, with addresses as pods of the cluster know them.

    Raises:
        RenderFailed: something is too large for an object.
        SpecInvalid: a file that the fleet file names cannot be read.
    """
    spec = load_fleet(fleet)
    # Relative paths count from the folder in which the pod finds the fleet file.
    plan = in_cluster(build_plan(spec, Path(HOME)))
    # The text as people wrote it, with comments; the renderer packs it again where it is too large.
    text = unpacked(fleet, read_bytes(fleet, most=MAX_BYTES)).decode()
    base = fleet.absolute().parent
    others = {str(one): text_of(base / one, most=MAX_BYTES) for one in _named(spec, base)}
    return render_kubernetes(plan, FleetFile(text=text, others=others))


def in_cluster(plan: Plan) -> Plan:
    """The plan with the Service as the address of serve, unless the fleet file names another."""
    addresses = plan.addresses
    parts = urlsplit(addresses.serve_url)
    # Loopback in a fleet file is the machine of its author; in a cluster every pod has its own.
    if not is_loopback(parts.hostname or ""):
        return plan
    served = f"http://{service_names(plan.kubernetes.naming)[2]}:{PORT}"
    moved = {
        field: value.replace(addresses.serve_url, served)
        for field in ("serve_url", "serve_link", "runbooks_link")
        if (value := getattr(addresses, field)).startswith(addresses.serve_url)
    }
    return replace(plan, addresses=replace(addresses, **moved))


def _named(spec: Spec, base: Path) -> tuple[Path, ...]:
    """The plain files that the fleet file names by relative paths; others are the image's business."""
    found = spec.replicas.file if isinstance(spec.replicas, DiscoverySpec) else None
    targets = found.path if found else None
    templates = [robot.template_file for _, _, robot in spec.notify.robots()]
    named = dict.fromkeys(filter(None, (*templates, spec.notify.alertmanager_file, targets)))
    # Targets may be written where the pods are; the other files must be here.
    elsewhere = targets and (".." in targets.parts or not (base / targets).exists())
    absent = [file for file in named if file.is_absolute() or (elsewhere and file == targets)]
    for file in absent:
        say(
            f"{file} is in no object: serve reads it, so put it into its image, or beside the fleet file",
            err=True,
        )
    return tuple(file for file in named if file not in absent)


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
        *adapter_rules(plan),
        *_chart(objects, texts, yaml_text(apart, comment=_COMMENT)),
    )


def all_objects(plan: Plan, objects: Objects, fleet: FleetFile) -> Iterator[Object]:
    """The objects in the order in which they are best applied; of a shard, what it scrapes and records."""
    if plan.rules.tier == "shard":
        yield from monitor_objects(plan, objects)
        yield from _rules(render_rules(plan), objects)
        return
    yield from access_objects(plan, objects)
    yield from workload_objects(plan, objects, fleet)
    yield from reach_objects(plan, objects)
    yield from monitor_objects(plan, objects)
    yield from autoscaling_objects(plan, objects)
    yield from _rules((*render_rules(plan), *render_objectives(plan)), objects)
    for artifact in render_dashboards(plan, source=""):
        yield board_object(f"{NAME}-board-{_stem(artifact).removeprefix(f'{NAME}-')}", artifact, objects)


def _rules(artifacts: Iterable[Artifact], objects: Objects) -> Iterator[Object]:
    for artifact in artifacts:
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
