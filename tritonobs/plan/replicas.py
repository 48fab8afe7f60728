"""How the servers are known: written out in the fleet file, or found while tritonobs runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tritonobs.spec.replicas import DiscoverySpec
from tritonobs.spec.schema import Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Pods:
    """The running pods that match a label selector; an empty `namespace` is all of them."""

    selector: str
    namespace: str
    port: int
    http_port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetsFile:
    """The targets of a file as Prometheus' file_sd reads it."""

    path: Path
    http_port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """The addresses behind a host name."""

    name: str
    port: int
    http_port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetsPage:
    """The targets of a page as Prometheus' http_sd reads it."""

    url: str
    http_port: int


ReplicaSource = Pods | TargetsFile | Resolved | TargetsPage


def build_source(spec: Spec, base: Path) -> ReplicaSource | None:
    """How the servers are found, or None where the fleet file names them."""
    how = spec.replicas
    if not isinstance(how, DiscoverySpec):
        return None
    if how.kubernetes:
        pods = how.kubernetes
        return Pods(
            selector=pods.selector, namespace=pods.namespace, port=pods.port, http_port=pods.http_port
        )
    if how.file:
        return TargetsFile(path=base / how.file.path, http_port=how.file.http_port)
    if how.dns:
        return Resolved(name=how.dns.name, port=how.dns.port, http_port=how.dns.http_port)
    assert how.http is not None  # noqa: S101 (DiscoverySpec takes exactly one)
    return TargetsPage(url=how.http.url, http_port=how.http.http_port)
