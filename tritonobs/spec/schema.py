"""What may be written in fleet.yaml, field by field; JSON Schema and docs/reference.md are made from it."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    Tag,
    model_validator,
)
from typing_extensions import Self  # pydantic brings it

from tritonobs.findings import Node, Source, found, listed, quoted
from tritonobs.section import MOST_BOUNDS, MOST_ENTRIES, MOST_MODELS, MOST_REPLICAS, MOST_SLOS, File, Section
from tritonobs.spec.kubernetes import KubernetesSpec
from tritonobs.spec.notify import NotifySpec, OwnAlertmanager
from tritonobs.spec.rules import RulesSpec
from tritonobs.spec.values import CallCount, Duration, Moment, Name, Objective, Qps, Tokens, Url, Version

_MOST_PORT, _LONG = 65_535, 20
_LABEL = r"(?:[a-zA-Z0-9.-]+/)?[a-zA-Z0-9]([a-zA-Z0-9_.-]*[a-zA-Z0-9])?"
_PODS = re.compile(
    rf"{_LABEL}(?:\s*(?:=|==|!=)\s*[a-zA-Z0-9_.-]*)?(?:\s*,\s*{_LABEL}(?:\s*(?:=|==|!=)\s*[a-zA-Z0-9_.-]*)?)*"
)
_HOST = re.compile(r"[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?\.?")


def _port(value: object) -> int:
    text = str(value)
    # `²` is a digit too, and int() refuses thousands of digits in words of its own.
    if not (text.isascii() and text.isdigit() and len(text) < _LONG and 1 <= int(text) <= _MOST_PORT):
        raise ValueError(f"found {found(value)}; allowed is a port, 1 to {_MOST_PORT}")
    return int(text)


def _selector(value: object) -> str:
    text = value.strip() if isinstance(value, str) else ""
    if not _PODS.fullmatch(text):
        raise ValueError(
            f"found {found(value)}; allowed are labels of pods, like app=triton,tier!=test, "
            "with =, == or !=, and a bare key; not in, notin or !key"
        )
    return text


def _host(value: object) -> str:
    if not isinstance(value, str) or not _HOST.fullmatch(value):
        raise ValueError(f"found {found(value)}; allowed is a host name, like triton.models.svc")
    return value


Port = Annotated[int, BeforeValidator(_port)]


class ReplicaSpec(Section):
    """One running Triton server."""

    name: Name = Field(description="The name that people use; the label `replica`.")
    url: Url = Field(description="Triton's HTTP address.")
    metrics_url: Url | None = Field(
        default=None,
        description="Triton's metrics endpoint; port 8002 and /metrics on the same host when left out.",
    )


class PodsSpec(Section):
    """Triton servers are the running pods with these labels."""

    selector: Annotated[str, BeforeValidator(_selector)] = Field(
        description="Labels of the pods, as `kubectl get pods -l` takes them: `=`, `==`, `!=` and a bare "
        "key; not `in`, `notin` or `!key`."
    )
    namespace: str = Field(
        default="",
        pattern=r"^([a-z0-9]([a-z0-9-]*[a-z0-9])?)?$",
        description="Their namespace; all namespaces when left out.",
    )
    port: Port = Field(default=8002, description="The port of Triton's metrics endpoint.")
    http_port: Port = Field(default=8000, description="The port of Triton's HTTP address.")


def _targets_path(path: Path) -> Path:
    # Prometheus takes no other names, and would refuse the whole configuration.
    if path.suffix not in {".json", ".yml", ".yaml"}:
        raise ValueError(f"found {quoted(str(path))}; allowed is a name that ends in .json, .yml or .yaml")
    return path


class FileSpec(Section):
    """Triton servers are the targets of a file as Prometheus' file_sd reads it."""

    path: Annotated[File, AfterValidator(_targets_path)] = Field(
        description="JSON or YAML; read again when it changes."
    )
    http_port: Port = Field(default=8000, description="The port of Triton's HTTP address.")


class DnsSpec(Section):
    """Triton servers are the addresses behind a name, like that of a headless Service."""

    name: Annotated[str, BeforeValidator(_host)] = Field(description="The host name; its A records (IPv4).")
    port: Port = Field(default=8002, description="The port of Triton's metrics endpoint.")
    http_port: Port = Field(default=8000, description="The port of Triton's HTTP address.")


class HttpSpec(Section):
    """Triton servers are the targets of a page as Prometheus' http_sd reads it."""

    url: Url = Field(description="The page's address.")
    http_port: Port = Field(default=8000, description="The port of Triton's HTTP address.")


class DiscoverySpec(Section):
    """How to find the servers; exactly one of these."""

    kubernetes: PodsSpec | None = Field(default=None, description="Pods of a Kubernetes cluster.")
    file: FileSpec | None = Field(default=None, description="A file with targets.")
    dns: DnsSpec | None = Field(default=None, description="A host name with several addresses.")
    http: HttpSpec | None = Field(default=None, description="A page with targets.")

    @model_validator(mode="after")
    def _one_way(self) -> DiscoverySpec:
        if len(self.model_fields_set) != 1:
            ways = listed(sorted(type(self).model_fields))
            raise ValueError(
                f"found {len(self.model_fields_set)} ways to find the servers; allowed is one of {ways}"
            )
        return self


LIST, DISCOVERY = "[list]", "[discovery]"
"""Marks in pydantic's paths: which of the two was written."""


def _kind(value: Any) -> str:  # noqa: ANN401 (anything that the file holds)
    return DISCOVERY if isinstance(value, (dict, DiscoverySpec)) else LIST


Replicas = Annotated[
    Annotated[tuple[ReplicaSpec, ...], Field(min_length=1, max_length=MOST_REPLICAS), Tag(LIST)]
    | Annotated[DiscoverySpec, Tag(DISCOVERY)],
    Discriminator(_kind),
]


class PublicSpec(Section):
    """Addresses for browsers, if they differ (containers, proxies); links use them."""

    prometheus: Url | None = Field(default=None, description="Prometheus, for people.")
    alertmanager: Url | None = Field(default=None, description="Alertmanager, for people.")
    serve: Url | None = Field(default=None, description="`tritonobs serve`, for people: it has the runbooks.")


class AddressesSpec(Section):
    """Addresses at which the parts reach each other, and people too unless `public` differs."""

    prometheus: Url = Field(default="http://127.0.0.1:9090", description="Prometheus.")
    alertmanager: Url = Field(default="http://127.0.0.1:9093", description="Alertmanager.")
    serve: Url = Field(default="http://127.0.0.1:9900", description="`tritonobs serve`.")
    serve_names: tuple[str, ...] = Field(
        default=(),
        description="Other host names of `serve`. Requests for any host except these, that of "
        "`serve` and loopback are refused.",
    )
    grafana: Url | None = Field(default=None, description="Grafana, for links to boards.")
    runbooks: Url | None = Field(
        default=None,
        description="Your own runbooks, at this address and /ALERT. Default: those of `tritonobs serve`.",
    )
    public: PublicSpec = Field(
        default_factory=PublicSpec, description="The addresses in links, if they differ."
    )


class PrometheusSpec(Section):
    """How often Prometheus scrapes and evaluates, and how long it keeps samples."""

    scrape_interval: Duration = Field(default=Decimal(5), description="Time between two scrapes of a server.")
    evaluation_interval: Duration | None = Field(
        default=None,
        description="Time between two evaluations of traffic and limits. Stages and error budgets are "
        "evaluated less often. Default, and the least: `scrape_interval`.",
    )
    retention: Duration = Field(
        default=Decimal(180 * 86_400),
        description="How long samples are kept, in whole days; at least `slo_period`.",
    )
    discovery: Literal["static", "serve"] = Field(
        default="static",
        description="Source of the list of replicas: Prometheus' own file, or `tritonobs serve` (no reload).",
    )
    shards: tuple[Url, ...] = Field(
        default=(),
        max_length=100,
        description="The Prometheus that share the servers, where `rules.tier` is global or shard; "
        "the first is shard 0.",
    )
    agents: tuple[Url, ...] = Field(
        default=(),
        max_length=100,
        description="The vmagents that share the servers and write to one VictoriaMetrics, which is "
        "`addresses.prometheus`; the first is member 0.",
    )


class IncidentsSpec(Section):
    """Alerts that belong together, and what `triage` finds about them."""

    triage: bool = Field(
        default=True,
        description="Whether `tritonobs serve` looks for the cause, and messages begin with it.",
    )
    update_interval: Duration = Field(
        default=Decimal(300),
        description="The least time between two messages of an incident about what can wait: warnings, "
        "another cause, recovery.",
    )
    hold_back: bool = Field(
        default=True,
        description="Whether such updates wait, and alerts that a message of the incident named are left "
        "out of the next. false: every alert is sent as it comes.",
    )
    folder: File | None = Field(
        default=None,
        description="A folder in which `tritonobs serve` keeps incidents and what `triage` read, for "
        "`tritonobs incidents`; nothing is kept when left out.",
    )


class TracesSpec(Section):
    """Triton's own traces of a sample of requests."""

    receiver: Url | None = Field(
        default=None,
        description="The receiver: a `tritonobs traces serve`; `tritonobs serve` when left out.",
    )
    forward: Url | None = Field(
        default=None,
        description="The OTLP address (http://host:4318/v1/traces) of a collector, Tempo or Jaeger to "
        "which every batch is passed on.",
    )


# A model that only inherits needs no more than its name: `nms:`.
def _nothing_is_empty(value: object) -> object:
    return {} if value is None else value


class ScheduledLimit(Section):
    """A limit between two moments; afterwards it reverts to the normal limit."""

    qps_limit: Qps = Field(description="The limit in this time, in requests/s.")
    valid_from: Moment | None = Field(
        default=None, description="Begins at this moment; has always been in force when left out."
    )
    valid_until: Moment | None = Field(
        default=None, description="Ends just before this moment; never ends when left out."
    )
    reason: str = Field(default="", description="The reason, for people who read the log.")

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
    """An SLO: about latency with `threshold`, else about availability. `none` disables an inherited SLO."""

    objective: Objective | None = Field(
        default=None, description="The target share of good requests in `slo_period`."
    )
    threshold: Duration | None = Field(
        default=None,
        description="Latency: a request is good when `stage` took at most this and nothing failed; one of "
        "the latency buckets. Without the time in Triton's queue, unless `source` is `traces`.",
    )
    stage: Name | None = Field(
        default=None,
        description="Latency: the stage that is timed; `total` is the time in the model, without its queue.",
    )
    source: Literal["stages", "traces"] | None = Field(
        default=None,
        description="Latency: what measures it. `stages` (default) is the time in models with our stages; "
        "`traces` is the whole request, queue included, of any model, from the requests that Triton traces.",
    )
    invalid: Literal["ignored", "bad"] | None = Field(
        default=None,
        description="Availability: requests that models call `invalid`, the caller's fault. `ignored` "
        "(default) counts them neither as good nor as bad, `bad` charges them like errors.",
    )

    # Private, so that no file can set it: the only way is `none` in place of the SLO.
    _promised: bool = PrivateAttr(default=True)

    @property
    def promised(self) -> bool:
        """False for `none`, which disables an inherited SLO."""
        return self._promised

    @model_validator(mode="wrap")
    @classmethod
    def _none_disables(cls, value: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        spec = handler({} if value == "none" else value)
        spec._promised = value != "none"  # noqa: SLF001 (its own)
        return spec


class TokensSpec(Section):
    """The most tokens a second of a language model, for prompts and for answers."""

    tokens_in: Tokens | None = Field(
        default=None, description="Tokens of prompts. `unlimited` ends inheritance."
    )
    tokens_out: Tokens | None = Field(
        default=None, description="Tokens of responses. `unlimited` ends inheritance."
    )


class CallSpec(Section):
    """A model that a pipeline calls; a plain number means `per_request`."""

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
_TEAM = Field(default=None, description="The team that owns it; a label of alerts that routes can match.")
_TIER = Field(default=None, description="Its importance (critical, standard, …); a label of alerts.")
_QPS = Field(
    default=None,
    description="The most requests/s, over all replicas. Inherited; `unlimited` ends inheritance.",
)
_TOKENS = Field(default=None, description="Limits of a language model; each is inherited on its own.")
_SCHEDULE = Field(
    default=(),
    max_length=MOST_ENTRIES,
    description="Temporary limits: a campaign, maintenance, a planned change.",
)
_BUCKETS = Field(
    default=(),
    max_length=MOST_BOUNDS,
    description="Upper bounds of the latency histogram, if config.pbtxt or the code sets its own.",
)
_SLOS: Any = Field(
    default_factory=dict,
    max_length=MOST_SLOS,
    description="SLOs by name; merged field by field with inherited SLOs.",
)


class VersionSpec(Section):
    """One version of a model: only the differences from the model."""

    qps_limit: Qps | None = _QPS
    scheduled_limits: tuple[ScheduledLimit, ...] = _SCHEDULE
    tokens_per_second_limit: TokensSpec | None = _TOKENS
    slos: Slos = _SLOS
    latency_buckets: tuple[Duration, ...] = _BUCKETS


class ModelSpec(Section):
    """One model of the fleet."""

    pipeline: Literal["bls", "ensemble"] | None = Field(
        default=None,
        description="Set for a model that calls others: `bls` in Python code, `ensemble` by configuration.",
    )
    calls: dict[Name, CallSpec] = Field(
        default_factory=dict,
        max_length=MOST_ENTRIES,
        description="The models that a pipeline calls: stage name to calls per request, or to a mapping.",
    )
    team: str | None = _TEAM
    tier: str | None = _TIER
    qps_limit: Qps | None = _QPS
    scheduled_limits: tuple[ScheduledLimit, ...] = _SCHEDULE
    tokens_per_second_limit: TokensSpec | None = _TOKENS
    slos: Slos = _SLOS
    latency_buckets: tuple[Duration, ...] = _BUCKETS
    versions: dict[Version, Annotated[VersionSpec, BeforeValidator(_nothing_is_empty)]] = Field(
        default_factory=dict,
        max_length=MOST_ENTRIES,
        description="The versions in service, each with its differences from the model.",
    )


class DefaultsSpec(Section):
    """Values that every model inherits."""

    team: str | None = _TEAM
    tier: str | None = _TIER
    qps_limit: Qps | None = _QPS
    tokens_per_second_limit: TokensSpec | None = _TOKENS
    slos: Slos = _SLOS


class Spec(Section):
    """A fleet of Triton servers, its SLOs and limits, and the receivers of alerts."""

    fleet: Name = Field(description="The fleet's name.")
    cluster: Name = Field(
        default="default", description="Value of the label `cluster` on every series and alert."
    )
    replicas: Replicas = Field(description="The Triton servers: a list, or how to find them.")
    addresses: AddressesSpec = Field(
        default_factory=AddressesSpec, description="Addresses of the other parts."
    )
    prometheus: PrometheusSpec = Field(default_factory=PrometheusSpec, description="Settings of Prometheus.")
    slo_period: Duration = Field(
        default=Decimal(30 * 86_400),
        description="The span of every objective, in whole days from 7d to 90d.",
    )
    limits_source: Literal["serve", "rules"] = Field(
        default="serve",
        description="How limits reach Prometheus: it scrapes `tritonobs serve`, or reads a rules file.",
    )
    limits_log: str | None = Field(
        default=None,
        pattern=r"^[^\x00]*$",
        description="The log of limit changes; beside this file when left out. "
        "The environment variable TRITONOBS_LIMITS_LOG takes precedence.",
    )
    qps_limit: Qps | None = Field(
        default=None, description="The most requests/s over all models that clients call."
    )
    scheduled_limits: tuple[ScheduledLimit, ...] = _SCHEDULE
    defaults: DefaultsSpec = Field(default_factory=DefaultsSpec, description="Inherited by every model.")
    models: dict[Name, Annotated[ModelSpec, BeforeValidator(_nothing_is_empty)]] = Field(
        min_length=1, max_length=MOST_MODELS, description="The models, by their name in the model repository."
    )
    kubernetes: KubernetesSpec | None = Field(
        default=None, description="Limits from annotations, and objects for the Prometheus operator."
    )
    rules: RulesSpec = Field(
        default_factory=RulesSpec, description="The series that the rules read, severities and thresholds."
    )
    traces: TracesSpec = Field(
        default_factory=TracesSpec, description="Triton's own traces of a sample of requests."
    )
    incidents: IncidentsSpec = Field(
        default_factory=IncidentsSpec, description="Alerts that belong together, and their cause."
    )
    notify: NotifySpec = Field(
        default_factory=NotifySpec, description="Receivers of alerts, and the messages they get."
    )

    _source: Source = PrivateAttr(default_factory=lambda: Source(file="", root=Node(line=0, column=0)))

    _own_alertmanager: OwnAlertmanager | None = PrivateAttr(default=None)

    @property
    def own_alertmanager(self) -> OwnAlertmanager | None:
        """What `notify.alertmanager_file` holds."""
        return self._own_alertmanager

    @property
    def source(self) -> Source:
        """The place of everything in the file this was read from."""
        return self._source

    def with_alertmanager(self, own: OwnAlertmanager | None) -> Spec:
        """Remember the user's own Alertmanager configuration."""
        self._own_alertmanager = own
        return self

    def read_from(self, source: Source) -> Spec:
        """Remember the file, so that later findings can name places in it."""
        self._source = source
        return self
