"""Scrape targets: the same list for Prometheus' own configuration and for http service discovery."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from tritonobs import names

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tritonobs.plan.fleet import Replica

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One address to scrape, with the labels its series get; those in `__` tell Prometheus how to ask."""

    address: str
    labels: dict[str, str]


def triton_targets(replicas: Iterable[Replica]) -> tuple[Target, ...]:
    """The metrics pages of the replicas; every series gets the replica's name."""
    return tuple(_target(replica) for replica in replicas)


def address_of(url: str) -> str:
    """`host:port` of a URL, the port written out."""
    return _address(urlsplit(url))


def _target(replica: Replica) -> Target:
    parts = urlsplit(replica.metrics_url)
    labels = {
        "__scheme__": parts.scheme,
        "__metrics_path__": parts.path or "/metrics",
        names.REPLICA: replica.name,
    }
    return Target(address=_address(parts), labels=labels)


def _address(parts: SplitResult) -> str:
    host = parts.hostname or ""
    port = parts.port or _PORTS[parts.scheme]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
