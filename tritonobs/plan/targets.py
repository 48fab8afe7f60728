"""Scrape targets: the same list for Prometheus' own configuration and for http service discovery."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from tritonobs.plan.fleet import Plan, Replica
from tritonobs.plan.rules import labels_selected

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One address to scrape, with the labels its series get; those in `__` tell Prometheus how to ask."""

    address: str
    labels: dict[str, str]


def triton_targets(plan: Plan) -> tuple[Target, ...]:
    """The metrics pages of the replicas.

    Every series gets the names of the replica and of its cluster, and what the rules select besides the job.
    """
    labels = triton_labels(plan)
    return tuple(
        _target(replica, {plan.rules.replica_label: replica.name, **labels}) for replica in plan.replicas
    )


def triton_labels(plan: Plan) -> dict[str, str]:
    """What every server's series carry besides the job and the replica."""
    return {**plan.cluster_labels, **own_labels(plan.rules.selector, job="triton")}


def own_labels(selector: str, *, job: str) -> dict[str, str]:
    """The labels that targets of a job need, besides those it gives them, to be selected."""
    # Prometheus labels targets with the name of their job itself; only another job must be written.
    wanted = labels_selected(selector)
    return {label: value for label, value in wanted.items() if (label, value) != ("job", job)}


def address_of(url: str) -> str:
    """`host:port` of a URL, the port written out."""
    return _address(urlsplit(url))


def _target(replica: Replica, own: dict[str, str]) -> Target:
    parts = urlsplit(replica.metrics_url)
    labels = {
        "__scheme__": parts.scheme,
        "__metrics_path__": parts.path or "/metrics",
        **own,
    }
    return Target(address=_address(parts), labels=labels)


def _address(parts: SplitResult) -> str:
    # urlsplit takes the brackets off an IPv6 address; a target needs them.
    host = parts.hostname or ""
    port = parts.port or _PORTS[parts.scheme]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
