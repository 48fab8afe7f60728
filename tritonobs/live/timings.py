"""What Prometheus knows of time spent: per model version from Triton, per stage from the models."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from tritonobs import names
from tritonobs.live import promql
from tritonobs.live.ask import ask_all
from tritonobs.live.buckets import bucket_quantile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tritonobs.clients.prometheus import PrometheusClient, Reading

Subject = tuple[str, str]
"""A model and its version."""
StageSubject = tuple[str, str, str]
"""A model, its version and a stage."""
Answers: TypeAlias = "Mapping[str, tuple[Reading, ...]]"
"""What Prometheus said, by the name of the question."""

_QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Requests a second and their durations in seconds over a window; None where nobody measured."""

    rate: float
    mean: float | None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTiming:
    """What Triton charged to the requests of one model version; means in seconds, None without requests."""

    rate: float
    request: float | None
    queue: float | None
    compute: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineCall:
    """A pipeline calls `model` under the name `stage`, `per_request` times."""

    pipeline: str
    stage: str
    model: str
    per_request: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """One window of a fleet, or of some models of it."""

    at: float
    window_seconds: float
    servers: Mapping[Subject, ServerTiming]
    stages: Mapping[StageSubject, Timing]
    calls: tuple[PipelineCall, ...] = ()

    def subjects(self) -> tuple[Subject, ...]:
        """Every model version of which anything was measured."""
        return tuple(sorted({*self.servers, *((model, version) for model, version, _ in self.stages)}))


def read_timings(
    prometheus: PrometheusClient, *, at: float, window_seconds: float, models: Iterable[str] = ()
) -> Timings:
    """The window that ends at `at` (Unix seconds), of these models and those they call; without any, of all.

    Raises:
        ClientError: Prometheus did not answer all of it.
    """
    calls = prometheus.query(names.PIPELINE_CALLS, at=at)
    chosen = promql.selector(promql.one_of(names.MODEL, with_callees(models, pipeline_calls(calls))))
    questions = mean_questions(chosen, window_seconds) | bucket_questions(chosen, window_seconds)
    answers = {"calls": calls, **ask_all(prometheus, questions, at=at)}
    return timings_from(answers, at=at, window_seconds=window_seconds)


def timings_from(answers: Answers, *, at: float, window_seconds: float) -> Timings:
    """The answers to this module's questions (and to `calls`) as timings; what was not asked is not there."""
    return Timings(
        at=at,
        window_seconds=window_seconds,
        servers=_servers(answers),
        stages=_stages(answers),
        calls=pipeline_calls(answers.get("calls", ())),
    )


def mean_questions(chosen: str, window_seconds: float) -> dict[str, str]:
    """PromQL for rates and means of these models, of Triton and of the stages; few series."""

    def per_model(*metrics: str) -> str:
        rates = " + ".join(promql.rate(metric, chosen, window_seconds) for metric in metrics)
        return promql.summed(rates, promql.MODEL_VERSION)

    def per_stage(part: str) -> str:
        rates = promql.rate(f"{names.STAGE_DURATION}_{part}", chosen, window_seconds)
        return promql.summed(rates, promql.MODEL_VERSION_STAGE)

    return {
        "requests": per_model(names.TRITON_SUCCESS),
        "request": per_model(names.TRITON_REQUEST_US),
        "queue": per_model(names.TRITON_QUEUE_US),
        "compute": per_model(*promql.COMPUTE_US),
        "count": per_stage("count"),
        "sum": per_stage("sum"),
    }


def bucket_questions(chosen: str, window_seconds: float) -> dict[str, str]:
    """PromQL for the stages' percentiles of these models: every bucket, read once for all of them."""
    rates = promql.rate(f"{names.STAGE_DURATION}_bucket", chosen, window_seconds)
    return {"buckets": promql.summed(rates, (*promql.MODEL_VERSION_STAGE, names.LE))}


def _servers(answers: Answers) -> dict[Subject, ServerTiming]:
    spent = {
        name: _by(answers.get(name, ()), promql.MODEL_VERSION) for name in ("request", "queue", "compute")
    }
    return {
        (key[0], key[1]): ServerTiming(
            rate=rate,
            **{name: _mean(values.get(key, math.nan) / 1e6, rate) for name, values in spent.items()},
        )
        for key, rate in _by(answers.get("requests", ()), promql.MODEL_VERSION).items()
    }


def _stages(answers: Answers) -> dict[StageSubject, Timing]:
    seconds = _by(answers.get("sum", ()), promql.MODEL_VERSION_STAGE)
    quantiles = _quantiles(answers)
    return {
        (key[0], key[1], key[2]): Timing(
            rate=rate,
            mean=_mean(seconds.get(key, math.nan), rate),
            **{name: _number(values.get(key, math.nan)) for name, values in quantiles.items()},
        )
        for key, rate in _by(answers.get("count", ()), promql.MODEL_VERSION_STAGE).items()
    }


def _quantiles(answers: Answers) -> dict[str, dict[tuple[str, ...], float]]:
    """Percentiles from the buckets, or as they were asked for one by one (snapshots of tritonobs 0.1)."""
    if "buckets" not in answers:
        return {name: _by(answers.get(name, ()), promql.MODEL_VERSION_STAGE) for name in _QUANTILES}
    counts: dict[tuple[str, ...], dict[float, float]] = {}
    for (*stage, le), rate in _by(answers["buckets"], (*promql.MODEL_VERSION_STAGE, names.LE)).items():
        counts.setdefault(tuple(stage), {})[float(le)] = rate
    return {
        name: {
            stage: value
            for stage, buckets in counts.items()
            if (value := bucket_quantile(ratio, buckets)) is not None
        }
        for name, ratio in _QUANTILES.items()
    }


def _by(readings: Iterable[Reading], labels: tuple[str, ...]) -> dict[tuple[str, ...], float]:
    return {tuple(reading.labels.get(label, "") for label in labels): reading.value for reading in readings}


def _mean(seconds: float, rate: float) -> float | None:
    return _number(seconds / rate) if rate > 0 else None


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def pipeline_calls(readings: Iterable[Reading]) -> tuple[PipelineCall, ...]:
    """What pipelines call, from the series the fleet file made."""
    found = {
        (
            reading.labels.get(names.PIPELINE, ""),
            reading.labels.get(names.STAGE, ""),
            reading.labels.get(names.MODEL, ""),
        ): reading.value
        for reading in readings
    }
    return tuple(
        PipelineCall(pipeline=pipeline, stage=stage, model=model, per_request=per_request)
        for (pipeline, stage, model), per_request in sorted(found.items())
    )


def with_callees(models: Iterable[str], calls: Iterable[PipelineCall]) -> set[str]:
    """These models and every model they call, directly or not."""
    calls = tuple(calls)
    wanted, fresh = set[str](), set(models)
    while fresh:
        wanted |= fresh
        fresh = {call.model for call in calls if call.pipeline in fresh} - wanted
    return wanted
