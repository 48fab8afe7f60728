"""The plan: what a validated fleet file means, everything inherited and derived, nothing left open."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from tritonobs.plan.kubernetes import Kubernetes
from tritonobs.plan.notify import Notify

if TYPE_CHECKING:
    from datetime import datetime
    from decimal import Decimal
    from pathlib import Path

ALL_VERSIONS = ""
"""As a version: the model over all its versions (Prometheus takes an empty label as no label)."""
FLEET = ""
"""As the model of a limit: the whole fleet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """One running Triton server, one scrape target."""

    name: str
    http_url: str
    metrics_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QpsLimit:
    """The most requests a second a model version gets; `version` may be `ALL_VERSIONS`, `model` "" the fleet.

    Holds from `valid_from` until just before `valid_until`. `origin` says where it comes from: the field of
    the fleet file, an annotation, or the pipeline arithmetic that led to it.
    """

    model: str
    version: str
    qps: Decimal
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    origin: str = ""
    instead_of: str = ""
    """The field whose limit gives way to this one, because members of the pipeline leave no more room."""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLimit:
    """The most tokens of a kind, `tokens_in` or `tokens_out`, that a model version handles in a second."""

    model: str
    version: str
    kind: str
    per_second: Decimal
    origin: str = ""
    """The field of the fleet file it comes from."""


Limit = QpsLimit | TokenLimit


@dataclass(frozen=True, slots=True, kw_only=True)
class Slo:
    """An SLI with an objective, for one model version (or `ALL_VERSIONS`).

    `stage` and `target_seconds` are set for latency: the share of requests whose `stage` took at most
    `target_seconds`, which is one of the model's latency bucket bounds.
    """

    name: str
    model: str
    version: str
    objective_ratio: Decimal
    stage: str = ""
    target_seconds: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A pipeline calls `model` this often per request of its own, under the name `stage`."""

    stage: str
    model: str
    per_request: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model of the fleet; `calls` is not empty for a pipeline (`kind` says which sort)."""

    name: str
    versions: tuple[str, ...]
    kind: Literal["model", "bls", "ensemble"] = "model"
    calls: tuple[Call, ...] = ()
    team: str = ""
    tier: str = ""
    latency_bounds_seconds: tuple[Decimal, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Where the parts reach each other (`_url`), and where people follow links to (`_link`, and Grafana)."""

    prometheus_url: str
    alertmanager_url: str
    serve_url: str
    prometheus_link: str
    alertmanager_link: str
    grafana_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrometheusSettings:
    """How often Prometheus looks and how long it remembers."""

    scrape_interval_seconds: Decimal
    evaluation_interval_seconds: Decimal
    retention_days: int
    discovery: Literal["static", "serve"] = "static"
    """Whether it knows the replicas from its configuration, or asks `tritonobs serve` for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything the rest of tritonobs needs to know of a fleet."""

    fleet: str
    cluster: str
    replicas: tuple[Replica, ...]
    models: tuple[Model, ...]
    limits: tuple[QpsLimit, ...]
    """Resolved: inherited, carried along pipelines, in pieces of time (`plan.limits.limits_at` picks)."""
    slos: tuple[Slo, ...]
    slo_period_days: int
    limits_source: Literal["serve", "rules"]
    addresses: Addresses
    prometheus: PrometheusSettings
    notify: Notify = field(default_factory=Notify)
    kubernetes: Kubernetes = field(default_factory=Kubernetes)
    read_files: tuple[Path, ...] = ()
    """Files that were read besides the fleet file."""
    token_limits: tuple[TokenLimit, ...] = ()
    declared_limits: tuple[QpsLimit, ...] = ()
    """The limits as written, before inheritance and pipelines; infinite for `unlimited`."""
