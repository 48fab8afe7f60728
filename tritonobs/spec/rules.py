"""The `rules:` section of fleet.yaml: series that the rules read, severities and thresholds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from tritonobs.spec.section import MOST_BOUNDS, LabelName, Section
from tritonobs.spec.values import Duration, bounded_duration, bounded_number, bounded_share, number_schema
from tritonobs.spec.words import found

Severity = Literal["critical", "warning", "info", "none"]
Tier = Literal["all", "shard", "global"]
TRITON: Final = 'job="triton"'
SERVE: Final = 'job="tritonobs"'
TRACES: Final = 'job="tritonobs-traces"'

_VALUE = r'"(?:[^"\\\n]|\\.)*"'
_MATCHER = rf"[a-zA-Z_][a-zA-Z0-9_]*\s*(?:=~|!~|!=|=)\s*{_VALUE}"
_SELECTOR = re.compile(rf"{_MATCHER}(?:\s*,\s*{_MATCHER})*")


def _selector(value: object) -> str:
    """Matchers of PromQL, without braces."""
    text = value.strip() if isinstance(value, str) else ""
    # Alerts repeat it in their texts, which are templates.
    if not _SELECTOR.fullmatch(text) or "{{" in text or "`" in text:
        allowed = 'allowed are matchers of PromQL without braces, like job="triton", namespace="models"'
        raise ValueError(f"found {found(value)}; {allowed}")
    return text


Selector = Annotated[
    str, BeforeValidator(_selector), WithJsonSchema({"type": "string", "examples": [TRITON]})
]


def _pattern(value: object) -> str:
    """A regular expression that can stand between quotes."""
    text = value if isinstance(value, str) else ""
    try:
        usable = bool(text) and not set('"\\\n`%') & set(text) and "{{" not in text
        re.compile(text)
    except re.error:
        usable = False
    if not usable:
        raise ValueError(
            f'found {found(value)}; allowed is a regular expression without ", \\, % and line breaks'
        )
    return text


Pattern = Annotated[str, BeforeValidator(_pattern), WithJsonSchema({"type": "string"})]


@dataclass(frozen=True, slots=True)
class Knob:
    """The knob of the mixin that a field sets; rules/config/thresholds.libsonnet has its value and reason."""

    name: str
    as_text: bool = False
    """Whether the mixin wants a duration as text, not its seconds."""
    share: bool = False
    """Whether it is a share of one, which people read in per cent."""


def _share(least: str, most: str) -> object:
    return BeforeValidator(bounded_share(Decimal(least), Decimal(most)))


def _times(least: str, most: str) -> object:
    return BeforeValidator(bounded_number(Decimal(least), Decimal(most)))


def _count(least: int, most: int) -> object:
    return BeforeValidator(bounded_number(Decimal(least), Decimal(most), whole=True))


def _time(least: int | str, most: int) -> object:
    return BeforeValidator(bounded_duration(Decimal(least), Decimal(most)))


_SHARES = WithJsonSchema({"type": ["string", "number"], "examples": ["80%", 0.8]})
_DURATIONS = WithJsonSchema({"type": "string", "examples": ["100ms", "5m"]})
_NUMBERS = WithJsonSchema(number_schema(Decimal(0), Decimal(1_000_000)))
Share = Annotated[Decimal, _share("0.01", "0.99"), _SHARES]
SmallShare = Annotated[Decimal, _share("0.0001", "0.5"), _SHARES]
Times = Annotated[Decimal, _times("1.1", "100"), _NUMBERS]
Excess = Annotated[Decimal, _times("1", "100"), _NUMBERS]
Deviations = Annotated[Decimal, _times("0", "20"), _NUMBERS]
Rate = Annotated[Decimal, _times("0.001", "1000000"), _NUMBERS]
Count = Annotated[Decimal, _count(1, 1_000_000), _NUMBERS]
Restarts = Annotated[Decimal, _count(2, 100), _NUMBERS]
Wait = Annotated[Decimal, _time("0.001", 3_600), _DURATIONS]
Ahead = Annotated[Decimal, _time(600, 43_200), _DURATIONS]
Kept = Annotated[Decimal, _time(3_600, 86_400), _DURATIONS]
Keep = Annotated[Decimal, _time(1, 3_600), _DURATIONS]


class ThresholdsSpec(Section):
    """Thresholds of the alerts. A field that is left out has the mixin's value."""

    limit_warning: Annotated[Share | None, Knob("limitWarningRatio", share=True)] = Field(
        default=None, description="Traffic is near a limit from this share of it on."
    )
    limit_noise: Annotated[Deviations | None, Knob("limitNoise")] = Field(
        default=None,
        description="A limit must be exceeded by this many standard deviations of chance; 0 for requests "
        "that come evenly.",
    )
    limit_noise_long: Annotated[Deviations | None, Knob("limitNoiseLong")] = Field(
        default=None, description="The same in windows of 5m and more."
    )
    limit_keep_firing: Annotated[Keep | None, Knob("limitKeepFiring", as_text=True)] = Field(
        default=None, description="How long an alert about a limit lasts through dips of the traffic."
    )
    limit_at_once: Annotated[Times | None, Knob("limitAtOnceRatio")] = Field(
        default=None, description="An excess of this many times the limit pages within seconds."
    )
    limit_soon: Annotated[Excess | None, Knob("limitSoonRatio")] = Field(
        default=None, description="An excess of this many times the limit pages after two and a half minutes."
    )
    limit_lasting: Annotated[Excess | None, Knob("limitLastingRatio")] = Field(
        default=None, description="The same after nine minutes."
    )
    limit_long: Annotated[Excess | None, Knob("limitLongRatio")] = Field(
        default=None, description="The same after a quarter of an hour."
    )
    limit_base: Annotated[Share | None, Knob("limitBase", share=True)] = Field(
        default=None, description="The share of a limit around which past variation of traffic is allowed."
    )
    limit_breath: Annotated[Deviations | None, Knob("limitBreath")] = Field(
        default=None,
        description="How much of the past variation of traffic is allowed; 0 for traffic that does not vary.",
    )
    limit_near_kept: Annotated[Kept | None, Knob("limitNearKept", as_text=True)] = Field(
        default=None,
        description="How long the warning before a limit stays while traffic is not clearly lower.",
    )
    limit_left: Annotated[Share | None, Knob("limitLeftRatio", share=True)] = Field(
        default=None, description="It ends when an hour stayed below this share of where it begins."
    )
    spike: Annotated[Times | None, Knob("spikeRatio")] = Field(
        default=None, description="A burst between two scrapes: this many times the limit."
    )
    spike_keep_firing: Annotated[Keep | None, Knob("spikeKeepFiring", as_text=True)] = Field(
        default=None, description="How long the alert about a burst lasts after it."
    )
    forecast: Annotated[Ahead | None, Knob("forecastSeconds")] = Field(
        default=None, description="How far ahead growing traffic is forecast."
    )
    forecast_keep_firing: Annotated[Keep | None, Knob("forecastKeepFiring", as_text=True)] = Field(
        default=None, description="How long the alert about growing traffic lasts after it."
    )
    forecast_floor: Annotated[Share | None, Knob("forecastFloorRatio", share=True)] = Field(
        default=None, description="Growth below this share of the limit is not an alert."
    )
    forecast_noise: Annotated[Deviations | None, Knob("forecastNoise")] = Field(
        default=None, description="Growth must exceed this many standard deviations of chance."
    )
    traffic_drop: Annotated[Share | None, Knob("dropRatio", share=True)] = Field(
        default=None, description="Traffic is below this share of yesterday's and last week's."
    )
    traffic_drop_floor: Annotated[Rate | None, Knob("dropFloor")] = Field(
        default=None, description="Only where it was at least this many requests a second then."
    )
    silence_requests: Annotated[Count | None, Knob("silenceRequests")] = Field(
        default=None, description="Silence is an alert where at least this many requests were expected."
    )
    queue_wait: Annotated[Wait | None, Knob("queueSeconds")] = Field(
        default=None, description="Requests wait longer than this for a model instance, on average."
    )
    busy: Annotated[Share | None, Knob("busyRatio", share=True)] = Field(
        default=None, description="Model instances work this share of the time."
    )
    requests_waiting: Annotated[Rate | None, Knob("waitingRequests")] = Field(
        default=None, description="Batches are inefficient where more requests than this wait, on average."
    )
    requests_per_execution: Annotated[Times | None, Knob("requestsPerExecution")] = Field(
        default=None, description="Batches are inefficient with fewer requests an execution than this."
    )
    stage_budget: Annotated[Share | None, Knob("stageBudgetRatio", share=True)] = Field(
        default=None, description="A stage needs this share of the latency threshold of the whole request."
    )
    replica_slower: Annotated[Times | None, Knob("skewRatio")] = Field(
        default=None, description="A replica is this many times slower than the others."
    )
    replica_requests: Annotated[Count | None, Knob("skewRequests")] = Field(
        default=None, description="A replica is judged by at least this many requests in 5m."
    )
    error_surge: Annotated[Times | None, Knob("surgeRatio")] = Field(
        default=None, description="A reason of errors is this many times as frequent as in the last hour."
    )
    error_surge_errors: Annotated[Count | None, Knob("surgeErrors")] = Field(
        default=None, description="Only from this many errors in 5m on."
    )
    error_surge_noise: Annotated[Times | None, Knob("surgeNoise")] = Field(
        default=None,
        description="And above the usual number by this many standard deviations and this many errors.",
    )
    untraced: Annotated[Share | None, Knob("untracedRatio", share=True)] = Field(
        default=None, description="Traces represent fewer requests than Triton counted, by this share."
    )
    untraced_noise: Annotated[Deviations | None, Knob("untracedNoise")] = Field(
        default=None, description="And by more than this many standard deviations of the sample."
    )
    untraced_requests: Annotated[Count | None, Knob("untracedRequests")] = Field(
        default=None, description="And by this many requests: some are under way at both ends of the hour."
    )
    invalid_share: Annotated[Share | None, Knob("invalidRatio", share=True)] = Field(
        default=None,
        description="Bad input of one stage and reason is this share of the requests of a model.",
    )
    restarts: Annotated[Restarts | None, Knob("restartsPerQuarterHour")] = Field(
        default=None, description="A server or worker starts this many times in a quarter of an hour."
    )
    cache_drop: Annotated[Share | None, Knob("cacheDropRatio", share=True)] = Field(
        default=None, description="The cache's hit ratio falls below this share of the last hour's."
    )
    cache_worth: Annotated[Share | None, Knob("cacheWorthRatio", share=True)] = Field(
        default=None, description="Only where the hit ratio was above this."
    )
    kv_cache: Annotated[Share | None, Knob("kvCacheRatio", share=True)] = Field(
        default=None, description="The KV cache of a language model is this full."
    )
    kv_cache_mean: Annotated[Share | None, Knob("kvCacheMeanRatio", share=True)] = Field(
        default=None, description="Only where it is this full on average."
    )
    preemptions: Annotated[Share | None, Knob("preemptedRatio", share=True)] = Field(
        default=None, description="This share of a language model's requests is preempted."
    )
    autoscaler_turns: Annotated[Restarts | None, Knob("autoscalerTurns")] = Field(
        default=None, description="An autoscaler changes its direction this many times in an hour."
    )
    host_memory: Annotated[Share | None, Knob("hostMemoryRatio", share=True)] = Field(
        default=None, description="This share of a host's memory is in use."
    )
    accelerator_memory: Annotated[Share | None, Knob("acceleratorMemoryRatio", share=True)] = Field(
        default=None, description="This share of an accelerator's memory is in use."
    )
    accelerator_busy: Annotated[Share | None, Knob("acceleratorBusyRatio", share=True)] = Field(
        default=None, description="An accelerator works this share of a quarter of an hour."
    )
    accelerator_clock: Annotated[Share | None, Knob("acceleratorClockRatio", share=True)] = Field(
        default=None, description="An accelerator's clock falls below this share of the day's highest."
    )
    slo_unmeasured: Annotated[SmallShare | None, Knob("sloUnmeasuredRatio", share=True)] = Field(
        default=None, description="This share of the requests is not measured for an SLO."
    )


def threshold_knobs() -> dict[str, Knob]:
    """The mixin's knob of every field of `thresholds`."""
    return {
        name: next(one for one in info.metadata if isinstance(one, Knob))
        for name, info in ThresholdsSpec.model_fields.items()
    }


class RulesSpec(Section):
    """What the recording and alerting rules are made with."""

    selector: Selector = Field(
        default=TRITON,
        description="Selects the series of Triton and its models: matchers of PromQL without braces.",
    )
    serve_selector: Selector = Field(default=SERVE, description="Selects the series of `tritonobs serve`.")
    traces_selector: Selector = Field(
        default=TRACES, description="Selects the series of the receiver of traces."
    )
    replica_label: LabelName | None = Field(
        default=None,
        description="The label that distinguishes replicas; when left out `pod` in Kubernetes, else "
        "`replica`. Thanos takes `replica` for copies of Prometheus and merges the servers.",
    )
    cluster_label: LabelName = Field(
        default="cluster",
        description="The label that distinguishes clusters in one Prometheus; `none` if targets have none.",
    )
    pool_names: Pattern = Field(
        default=".*triton.*",
        description="The Deployments, StatefulSets and autoscalers that are pools of Triton servers: "
        "a regular expression for their whole name.",
    )
    latency_thresholds: tuple[Duration, ...] = Field(
        default=(),
        max_length=MOST_BOUNDS,
        description="The thresholds that latency SLOs may have; any when left out. Error budgets then read "
        "no other buckets of stages, which are most series of hundreds of servers.",
    )
    tier: Tier = Field(
        default="all",
        description="`all` for one Prometheus. `global` where several share the servers: `build` writes one "
        "that reads their records, and their part in `prometheus/shards`. `shard`: that part alone.",
    )
    keep_firing: bool = Field(
        default=True, description="false for rulers that refuse keep_firing_for (vmalert before 1.87)."
    )
    records_at_once: bool = Field(
        default=True,
        description="false for rulers that write records elsewhere (vmalert, Thanos Ruler with remote "
        "write): a rule then reads those of the previous evaluation. Always false with `prometheus.agents`.",
    )
    severities: dict[str, Severity] = Field(
        default_factory=dict,
        max_length=200,
        description="Alert name to critical, warning, info or none (visible, sent to no receiver).",
    )
    thresholds: ThresholdsSpec = Field(
        default_factory=ThresholdsSpec, description="Thresholds of the alerts."
    )
