"""What Kubernetes has to do with a fleet, decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tritonobs.spec.kubernetes import KubernetesSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServer:
    """Where annotations are followed; an empty `url` is the cluster this process runs in."""

    url: str
    namespace: str
    token_file: Path
    ca_file: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Objects:
    """How the objects for an operator are labelled, and where they go."""

    namespace: str
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubernetes:
    """The `kubernetes:` section; what is None is not wanted."""

    watched: ApiServer | None = None
    objects: Objects | None = None


def build_kubernetes(spec: KubernetesSpec | None, base: Path) -> Kubernetes:
    """Fill in what is left out; relative paths count from `base`."""
    if spec is None:
        return Kubernetes()
    watched = ApiServer(
        url=spec.api or "",
        namespace=spec.namespace,
        token_file=base / spec.token_file,
        ca_file=base / spec.ca_file,
    )
    objects = Objects(namespace=spec.objects.namespace, labels=spec.objects.labels) if spec.objects else None
    return Kubernetes(watched=watched if spec.watch else None, objects=objects)
