"""The plan: what a validated fleet file means, everything inherited and derived, nothing left open.

Servers are written out in the fleet file, or found while tritonobs runs. The scrape targets made of them are
the same list for Prometheus' own configuration and for http service discovery.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from tritonobs.findings import Step
from tritonobs.plan.kubernetes import Kubernetes
from tritonobs.plan.notify import Notify
from tritonobs.plan.rules import RuleSettings, labels_selected
from tritonobs.spec.schema import (
    DiscoverySpec,
    DnsSpec,
    FileSpec,
    HttpSpec,
    ModelSpec,
    PodsSpec,
    ReplicaSpec,
    Spec,
    VersionSpec,
)
from tritonobs.units import host_port

ALL_VERSIONS = ""
"""As a version: the model over all its versions (Prometheus takes an empty label as no label)."""
FLEET = ""
"""As the model of a limit: the whole fleet."""

# Triton's own default.
_METRICS_PORT = 8002

_PORTS = {"http": 80, "https": 443}


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
    """Whether availability charges what models call the caller's fault; else it is not counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A pipeline calls `model` this often per request of its own, under the name `stage`."""

    stage: str
    model: str
    per_request: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model of the fleet; `calls` is not empty for a pipeline (`kind` says of which kind)."""

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
    """Host names under which clients reach serve, besides that of `serve_url`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrometheusSettings:
    """How often Prometheus scrapes and how long it keeps samples."""

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
    """Triton's own traces: their receiver, and the OTLP address they are passed on to ("" for none)."""

    receiver_url: str = "http://127.0.0.1:9900"
    forward: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Incidents:
    """Whether the cause of alerts is looked for, and the folder in which incidents are kept, if one is.

    `update_seconds` is the time between two messages of an incident about what can wait; 0 where
    nothing waits.
    """

    triage: bool = True
    update_seconds: Decimal = Decimal(300)
    folder: Path | None = None


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
    incidents: Incidents = field(default_factory=Incidents)
    token_limits: tuple[TokenLimit, ...] = ()
    replica_source: ReplicaSource | None = None
    """How the replicas are found where the file does not name them; `replicas` then are those found."""
    declared_limits: tuple[QpsLimit, ...] = ()
    """The limits as written, before inheritance and pipelines; infinite for `unlimited`."""

    @property
    def cluster_labels(self) -> dict[str, str]:
        """The label with the cluster of a series, or nothing where series carry none."""
        label = self.rules.cluster_label
        return {label: self.cluster} if label else {}


Pods = PodsSpec
TargetsFile = FileSpec
Resolved = DnsSpec
TargetsPage = HttpSpec
ReplicaSource = Pods | TargetsFile | Resolved | TargetsPage
"""As the fleet file says it; the path of a file is absolute."""


def build_source(spec: Spec, base: Path) -> ReplicaSource | None:
    """How the servers are found, or None where the fleet file names them."""
    how = spec.replicas
    if not isinstance(how, DiscoverySpec):
        return None
    if how.file:
        return how.file.model_copy(update={"path": base / how.file.path})
    return how.kubernetes or how.dns or how.http


def build_replicas(spec: Spec) -> tuple[Replica, ...]:
    """Every replica that the file names, with the address of its metrics page."""
    return () if isinstance(spec.replicas, DiscoverySpec) else tuple(map(_replica, spec.replicas))


def build_models(spec: Spec) -> tuple[Model, ...]:
    """Every model, in the order of the file."""
    return tuple(
        Model(
            name=name,
            versions=tuple(model.versions),
            kind=model.pipeline or "model",
            calls=tuple(
                Call(stage=stage, model=call.model or stage, per_request=call.per_request)
                for stage, call in model.calls.items()
            ),
            team=_first(model.team, spec.defaults.team),
            tier=_first(model.tier, spec.defaults.tier),
        )
        for name, model in spec.models.items()
    )


def sections(spec: Spec) -> Iterator[tuple[tuple[Step, ...], str, str, ModelSpec | VersionSpec]]:
    """Every model, each before its versions: where it stands in the file, its name, the version."""
    for name, model in spec.models.items():
        path = ("models", name)
        yield path, name, ALL_VERSIONS, model
        for version, own in model.versions.items():
            yield (*path, "versions", version), name, version, own


def _first(own: str | None, inherited: str | None) -> str:
    # An empty text of one's own ends inheritance; only what is left out inherits.
    return own if own is not None else inherited or ""


def _replica(replica: ReplicaSpec) -> Replica:
    beside = f"{urlsplit(replica.url).scheme}://{address_of(replica.url, _METRICS_PORT)}/metrics"
    return Replica(name=replica.name, http_url=replica.url, metrics_url=replica.metrics_url or beside)


Group: TypeAlias = dict[str, Any]
"""Targets and their labels, as Prometheus' static_configs and http_sd have them."""


def target_groups(plan: Plan) -> list[Group]:
    """The metrics pages of the replicas, one group a replica, so that each keeps its name.

    Every series gets the names of the replica and of its cluster, and what the rules select besides the job.
    """
    labels = triton_labels(plan)
    return [
        page_group(replica.metrics_url, {plan.rules.replica_label: replica.name, **labels})
        for replica in plan.replicas
    ]


def page_group(url: str, labels: Mapping[str, str]) -> Group:
    """A page, with the labels its series get; those in `__` say how Prometheus scrapes it."""
    parts = urlsplit(url)
    how = {"__scheme__": parts.scheme, "__metrics_path__": parts.path or "/metrics"}
    return {"targets": [address_of(url)], "labels": {**how, **labels}}


def triton_labels(plan: Plan) -> dict[str, str]:
    """What every server's series carry besides the job and the replica."""
    return {**plan.cluster_labels, **own_labels(plan.rules.selector, job="triton")}


def own_labels(selector: str, *, job: str) -> dict[str, str]:
    """The labels that targets of a job need, besides those it gives them, to be selected."""
    # Prometheus labels targets with the name of their job itself; only another job must be written.
    wanted = labels_selected(selector)
    return {label: value for label, value in wanted.items() if (label, value) != ("job", job)}


def address_of(url: str, port: int | None = None) -> str:
    """`host:port` of a URL, the port written out; with a `port`, that one."""
    parts = urlsplit(url)
    return host_port(parts.hostname or "", port or parts.port or _PORTS[parts.scheme])


def names_by_address(replicas: Iterable[Replica]) -> dict[str, str]:
    """Names of replicas by host and port of their API and of their page, as the label `instance` has them."""
    return {
        urlsplit(url).netloc: replica.name
        for replica in replicas
        for url in (replica.http_url, replica.metrics_url)
    }


def known_names(plan: Plan) -> frozenset[str]:
    """The names the fleet file gives serve, and the receiver of traces."""
    urls = (plan.addresses.serve_url, plan.traces.receiver_url)
    names = (*(urlsplit(url).hostname or "" for url in urls), *plan.addresses.serve_names)
    return frozenset(name.lower() for name in names if name)
