"""What was rendered as Kubernetes objects: rules for the operator, boards for Grafana, access rights.

The rights are those `tritonobs serve` needs to follow annotations: list and watch Deployments, nothing else.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import yaml

from tritonobs.render.artifact import Artifact, yaml_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tritonobs.plan.fleet import Plan
    from tritonobs.plan.kubernetes import Objects

FOLDER = "kubernetes"
LARGEST_BYTES = 700_000
"""An object has to fit into etcd's 1.5 MB with its managed fields, a ConfigMap into 1 MiB."""
_COMMENT = "Made by tritonobs build."
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def render_kubernetes(plan: Plan, artifacts: Iterable[Artifact]) -> tuple[Artifact, ...]:
    """Objects that carry the other artifacts of the fleet, or nothing where the fleet file asks for none."""
    objects = plan.kubernetes.objects
    if objects is None:
        return ()
    files: dict[str, list[dict[str, Any]]] = {}
    for artifact in artifacts:
        name = _name(artifact.path)
        if artifact.path.startswith("prometheus/rules/"):
            files[f"{name}.yaml"] = list(_rules(name, artifact, objects))
        elif artifact.path.startswith("grafana/") and artifact.path.endswith(".json"):
            files[f"{name}.yaml"] = [_board(name, artifact, objects)]
    if plan.kubernetes.watched:
        files["tritonobs-access.yaml"] = _access(plan.kubernetes.watched.namespace, objects)
    return tuple(
        Artifact(path=f"{FOLDER}/{name}", text=_documents(documents)) for name, documents in files.items()
    )


def _rules(name: str, artifact: Artifact, objects: Objects) -> Iterator[dict[str, Any]]:
    """The groups of a rules file, in as many objects as their size asks for."""
    groups = yaml.load(artifact.text, Loader=_LOADER)["groups"]  # noqa: S506 (a safe loader, in C where there is one)
    for number, part in enumerate(_parts(groups), start=1):
        suffix = f"-{number}" if number > 1 else ""
        yield {
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "PrometheusRule",
            "metadata": _metadata(f"{name}{suffix}", objects),
            "spec": {"groups": part},
        }


def _parts(groups: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    part: list[dict[str, Any]] = []
    size = 0
    for group in groups:
        own = len(repr(group))
        if part and size + own > LARGEST_BYTES:
            yield part
            part, size = [], 0
        part.append(group)
        size += own
    yield part


def _board(name: str, artifact: Artifact, objects: Objects) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(name, objects, {"grafana_dashboard": "1"}),
        "data": {PurePosixPath(artifact.path).name: artifact.text},
    }


def _access(watched: str, objects: Objects) -> list[dict[str, Any]]:
    """A service account that may list and watch Deployments, in one namespace or in all."""
    kind = "Role" if watched else "ClusterRole"
    place = {"namespace": watched} if watched else {}
    labels = {"labels": dict(objects.labels)} if objects.labels else {}
    metadata = {"name": "tritonobs", **place, **labels}
    rights = "rbac.authorization.k8s.io"
    rule = {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["list", "watch"]}
    subject = {"kind": "ServiceAccount", "name": "tritonobs", "namespace": objects.namespace}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _metadata("tritonobs", objects)},
        {"apiVersion": f"{rights}/v1", "kind": kind, "metadata": metadata, "rules": [rule]},
        {
            "apiVersion": f"{rights}/v1",
            "kind": f"{kind}Binding",
            "metadata": metadata,
            "roleRef": {"apiGroup": rights, "kind": kind, "name": "tritonobs"},
            "subjects": [subject],
        },
    ]


def _metadata(name: str, objects: Objects, labels: dict[str, str] | None = None) -> dict[str, Any]:
    every = {**objects.labels, **(labels or {})}
    return {"name": name, "namespace": objects.namespace, **({"labels": every} if every else {})}


def _name(path: str) -> str:
    """`prometheus/rules/records.rules.yml` is `tritonobs-records`: what Kubernetes takes as a name."""
    stem = re.sub(r"[^a-z0-9]+", "-", PurePosixPath(path).name.split(".")[0].lower()).strip("-")
    return stem if stem.startswith("tritonobs") else f"tritonobs-{stem}"


def _documents(documents: Sequence[dict[str, Any]]) -> str:
    texts = [
        yaml_text(document, comment=_COMMENT if not number else "")
        for number, document in enumerate(documents)
    ]
    return "---\n".join(texts)
