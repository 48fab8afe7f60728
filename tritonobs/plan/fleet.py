"""The plan: what a validated fleet file means, everything inherited and derived, nothing left open."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Literal

from tritonobs.plan.kubernetes import Kubernetes
from tritonobs.plan.notify import Notify
from tritonobs.plan.replicas import ReplicaSource
from tritonobs.plan.rules import RuleSettings

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
    """The field whose limit yields to this one, because members of the pipeline leave no more room."""
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

    `stage` and `threshold_seconds` are set for latency: the share of requests whose `stage` took at most
    `threshold_seconds`, which is one of the model's latency bucket bounds. From `traces` it is the whole
    request.
    """

    name: str
    model: str
    version: str
    objective_ratio: Decimal
    stage: str = ""
    threshold_seconds: Decimal | None = None
    source: Literal["stages", "traces"] = "stages"
    charges_invalid: bool = False
    """Whether availability charges what models call the caller's fault; else it counts nowhere."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Where the parts reach each other (`_url`), and where people follow links to (`_link`, and Grafana)."""

    prometheus_url: str
    alertmanager_url: str
    serve_url: str
    prometheus_link: str
    alertmanager_link: str
    grafana_url: str = ""
    runbooks_link: str = "http://127.0.0.1:9900/runbooks"
    serve_link: str = "http://127.0.0.1:9900"
    serve_names: tuple[str, ...] = ()
    """Host names under which serve is asked, besides that of `serve_url`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrometheusSettings:
    """How often Prometheus looks and how long it remembers."""

    scrape_interval_seconds: Decimal
    evaluation_interval_seconds: Decimal
    retention_days: int
    discovery: Literal["static", "serve"] = "static"
    """Whether it knows the replicas from its configuration, or asks `tritonobs serve` for them."""
    shards: tuple[str, ...] = ()
    """The addresses of those that share the servers, each called by its place."""
    agents: tuple[str, ...] = ()
    """The same of those that share the servers and write all they scrape to one store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """Triton's own traces: who receives them, and the OTLP address they are passed on to ("" for none)."""

    receiver_url: str = "http://127.0.0.1:9900"
    forward: str = ""


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
    rules: RuleSettings = field(default_factory=RuleSettings)
    traces: Traces = field(default_factory=Traces)
    token_limits: tuple[TokenLimit, ...] = ()
    replica_source: ReplicaSource | None = None
    """How the replicas are found where the file does not name them; `replicas` then are those found."""
    declared_limits: tuple[QpsLimit, ...] = ()
    """The limits as written, before inheritance and pipelines; infinite for `unlimited`."""

    @property
    def cluster_labels(self) -> dict[str, str]:
        """The label that says which cluster series are of, or nothing where they carry none."""
        label = self.rules.cluster_label
        return {label: self.cluster} if label else {}
