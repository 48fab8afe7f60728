"""What may be written in fleet.yaml, field by field; JSON Schema and docs/fleet-file.md are made from it."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    PrivateAttr,
    model_validator,
)

from tritonobs.spec.kubernetes import KubernetesSpec
from tritonobs.spec.notify import NotifySpec
from tritonobs.spec.openslo import ImportedSlo
from tritonobs.spec.section import Section
from tritonobs.spec.source import Node, Source
from tritonobs.spec.values import CallCount, Duration, Moment, Name, Objective, Qps, Tokens, Url, Version


def _nothing_is_empty(value: object) -> object:
    return {} if value is None else value


class ScheduledLimit(Section):
    """A limit that holds from one moment to another and then gives way to the usual one."""

    qps_limit: Qps = Field(description="The limit while it holds, in requests a second.")
    valid_from: Moment | None = Field(
        default=None, description="Holds from this moment on; from always when left out."
    )
    valid_until: Moment | None = Field(
        default=None, description="Holds until just before this moment; for ever when left out."
    )
    reason: str = Field(default="", description="Why, for the people who will ask.")

    @model_validator(mode="after")
    def _has_an_end(self) -> ScheduledLimit:
        if self.valid_from is None and self.valid_until is None:
            raise ValueError(
                "valid_from and valid_until are both missing; write one of them, or a plain qps_limit"
            )
        if self.valid_from and self.valid_until and self.valid_from >= self.valid_until:
            raise ValueError("valid_from is not before valid_until")
        return self


class SloSpec(Section):
    """A promise: with `target` about latency, else about availability; `none` takes an inherited one back."""

    objective: Objective | None = Field(
        default=None, description="The promised share of good requests over `slo_period`."
    )
    target: Duration | None = Field(
        default=None,
        description="Latency: a request is good when `stage` took at most this; one of the latency bounds.",
    )
    stage: Name | None = Field(
        default=None, description="Latency: the stage that is timed; `total` is the whole request."
    )
    promised: bool = Field(default=True, description="false takes back a promise that would be inherited.")

    @model_validator(mode="before")
    @classmethod
    def _none_takes_back(cls, value: object) -> object:
        return {"promised": False} if value == "none" else value


class TokensSpec(Section):
    """The most tokens a second that a language model handles, for what comes in and for what goes out."""

    tokens_in: Tokens | None = Field(default=None, description="Of prompts. `unlimited` ends inheritance.")
    tokens_out: Tokens | None = Field(default=None, description="Of answers. `unlimited` ends inheritance.")


class CallSpec(Section):
    """One model that a pipeline calls; a plain number is short for `per_request`."""

    model: Name | None = Field(
        default=None, description="The called model; the name of the stage when left out."
    )
    per_request: CallCount = Field(
        default=Decimal(1), description="Calls per request of the pipeline, on average."
    )

    @model_validator(mode="before")
    @classmethod
    def _number_is_enough(cls, value: object) -> object:
        return {"per_request": value} if isinstance(value, (str, int, float)) else value


Slos = dict[Name, SloSpec]
_TEAM = Field(default=None, description="Who owns it; a label of alerts, and what routes can select on.")
_TIER = Field(default=None, description="How much it matters (critical, standard, …); a label of alerts.")
_QPS = Field(
    default=None,
    description="The most requests a second, over all replicas. Inherited; `unlimited` ends that.",
)
_TOKENS = Field(default=None, description="Limits of a language model, inherited each by itself.")
_SCHEDULE = Field(default=(), description="Limits for a time: campaigns, maintenance, a planned change.")
_SLOS: Any = Field(
    default_factory=dict, description="SLOs by name; merged field by field with what is inherited."
)


class VersionSpec(Section):
    """One version of a model: only what differs from the model."""

    qps_limit: Qps | None = _QPS
    scheduled_limits: tuple[ScheduledLimit, ...] = _SCHEDULE
    tokens_per_second_limit: TokensSpec | None = _TOKENS
    slos: Slos = _SLOS


class ModelSpec(Section):
    """One model of the fleet."""

    pipeline: Literal["bls", "ensemble"] | None = Field(
        default=None,
        description="Set for a model that calls others: `bls` in Python code, `ensemble` by configuration.",
    )
    calls: dict[Name, CallSpec] = Field(
        default_factory=dict,
        description="What a pipeline calls: stage name to calls per request, or to a mapping.",
    )
    team: str | None = _TEAM
    tier: str | None = _TIER
    qps_limit: Qps | None = _QPS
    scheduled_limits: tuple[ScheduledLimit, ...] = _SCHEDULE
    tokens_per_second_limit: TokensSpec | None = _TOKENS
    slos: Slos = _SLOS
    latency_bounds: tuple[Duration, ...] = Field(
        default=(),
        description="The histogram bounds, when `latency_buckets` in the model's config.pbtxt sets its own.",
    )
    versions: dict[Version, Annotated[VersionSpec, BeforeValidator(_nothing_is_empty)]] = Field(
        default_factory=dict, description="The versions in service, each with what differs from the model."
    )


class DefaultsSpec(Section):
    """What every model inherits that does not say otherwise."""

    team: str | None = _TEAM
    tier: str | None = _TIER
    qps_limit: Qps | None = _QPS
    tokens_per_second_limit: TokensSpec | None = _TOKENS
    slos: Slos = _SLOS


class ReplicaSpec(Section):
    """One running Triton server."""

    name: Name = Field(description="What people call it.")
    url: Url = Field(description="Triton's HTTP address.")
    metrics_url: Url | None = Field(
        default=None, description="Its metrics page; port 8002 and /metrics on the same host when left out."
    )


class PublicSpec(Section):
    """Where browsers reach the parts, if that is elsewhere: containers, proxies; links are made of these."""

    prometheus: Url | None = Field(default=None, description="Prometheus, as people reach it.")
    alertmanager: Url | None = Field(default=None, description="Alertmanager, as people reach it.")


class AddressesSpec(Section):
    """Where the parts reach each other; people too, unless `public` says otherwise."""

    prometheus: Url = Field(default="http://127.0.0.1:9090", description="Prometheus.")
    alertmanager: Url = Field(default="http://127.0.0.1:9093", description="Alertmanager.")
    serve: Url = Field(default="http://127.0.0.1:9900", description="`tritonobs serve`.")
    grafana: Url | None = Field(default=None, description="Grafana, for links to boards.")
    public: PublicSpec = Field(
        default_factory=PublicSpec, description="The addresses in links, where they differ."
    )


class PrometheusSpec(Section):
    """How often Prometheus looks, and how long it remembers."""

    scrape_interval: Duration = Field(default=Decimal(5), description="Between two scrapes of a server.")
    evaluation_interval: Duration = Field(
        default=Decimal(5),
        description="Between two evaluations of traffic and limits; stages and error budgets need fewer.",
    )
    retention: Duration = Field(
        default=Decimal(180 * 86_400),
        description="How long samples are kept, in whole days; at least `slo_period`.",
    )
    discovery: Literal["static", "serve"] = Field(
        default="static",
        description="Where Prometheus knows the replicas from: its own file, or `tritonobs serve` (hot).",
    )


class Spec(Section):
    """A fleet of Triton servers, its objectives and limits, and who to tell."""

    fleet: Name = Field(description="The fleet's name.")
    cluster: Name = Field(
        default="default", description="Value of the label `cluster` on every alert of this Prometheus."
    )
    replicas: tuple[ReplicaSpec, ...] = Field(min_length=1, description="The Triton servers.")
    addresses: AddressesSpec = Field(
        default_factory=AddressesSpec, description="Addresses of the other parts."
    )
    prometheus: PrometheusSpec = Field(default_factory=PrometheusSpec, description="Settings of Prometheus.")
    slo_period: Duration = Field(
        default=Decimal(30 * 86_400),
        description="The span an objective is promised over, in whole days from 7d to 90d.",
    )
    limits_source: Literal["serve", "rules"] = Field(
        default="serve",
        description="How limits reach Prometheus: it scrapes `tritonobs serve` (hot), or reads a rules file.",
    )
    limits_log: str | None = Field(
        default=None,
        description="The file that tells who changed which limit; beside this file when left out. "
        "The environment variable TRITONOBS_LIMITS_LOG goes before it.",
    )
    qps_limit: Qps | None = Field(
        default=None, description="The most requests a second over all models that clients call."
    )
    scheduled_limits: tuple[ScheduledLimit, ...] = _SCHEDULE
    defaults: DefaultsSpec = Field(default_factory=DefaultsSpec, description="Inherited by every model.")
    models: dict[Name, Annotated[ModelSpec, BeforeValidator(_nothing_is_empty)]] = Field(
        min_length=1, description="The models, by their name in the model repository."
    )
    openslo: tuple[str, ...] = Field(
        default=(),
        description="Files with OpenSLO v1 documents, or patterns like `slo/*.yaml`, whose SLOs count too.",
    )
    kubernetes: KubernetesSpec | None = Field(
        default=None, description="Limits from annotations, and objects for the Prometheus operator."
    )
    notify: NotifySpec = Field(default_factory=NotifySpec, description="Who is told.")

    _source: Source = PrivateAttr(default_factory=lambda: Source(file="", root=Node(line=0, column=0)))

    _imported: tuple[ImportedSlo, ...] = PrivateAttr(default=())
    _read_files: tuple[Path, ...] = PrivateAttr(default=())

    @property
    def imported_slos(self) -> tuple[ImportedSlo, ...]:
        """The SLOs of the OpenSLO documents."""
        return self._imported

    @property
    def read_files(self) -> tuple[Path, ...]:
        """The files that were read besides the fleet file."""
        return self._read_files

    @property
    def source(self) -> Source:
        """Where everything stands in the file this was read from."""
        return self._source

    def read_from(self, source: Source) -> Spec:
        """Remember the file, so that later findings can name places in it."""
        self._source = source
        return self

    def with_imported(self, slos: tuple[ImportedSlo, ...], files: tuple[Path, ...]) -> Spec:
        """Add the SLOs of the OpenSLO documents, and remember their files."""
        self._imported, self._read_files = slos, files
        return self
