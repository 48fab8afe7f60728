"""The parts beside the servers in a fleet file: their addresses and settings."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from pydantic import Field

from tritonobs.spec.section import Section
from tritonobs.spec.values import Duration, Url


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
    evaluation_interval: Duration = Field(
        default=Decimal(5),
        description="Time between two evaluations of traffic and limits. Stages and error budgets are "
        "evaluated less often.",
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


class TracesSpec(Section):
    """Triton's own traces of a sample of requests."""

    receiver: Url | None = Field(
        default=None,
        description="Who receives them: a `tritonobs traces serve`; `tritonobs serve` when left out.",
    )
    forward: Url | None = Field(
        default=None,
        description="The OTLP address (http://host:4318/v1/traces) of a collector, Tempo or Jaeger to "
        "which every batch is passed on.",
    )
