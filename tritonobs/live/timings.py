"""What Prometheus knows of time spent: per model version from Triton, per stage from the models."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tritonobs import names
from tritonobs.live import promql
from tritonobs.live.ask import ask_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tritonobs.clients.prometheus import PrometheusClient, Reading

Subject = tuple[str, str]
"""A model and its version."""
StageSubject = tuple[str, str, str]
"""A model, its version and a stage."""

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
    ensembles: frozenset[str] = field(default_factory=frozenset)

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
    graph = ask_all(prometheus, {"calls": names.PIPELINE_CALLS, "info": names.MODEL_INFO}, at=at)
    calls = tuple(_calls(graph["calls"]))
    chosen = promql.selector(promql.one_of(names.MODEL, _with_callees(models, calls)))
    answers = ask_all(prometheus, _questions(chosen, window_seconds), at=at)
    ensembles = {reading.labels.get(names.MODEL, "") for reading in graph["info"] if _is_ensemble(reading)}
    return Timings(
        at=at,
        window_seconds=window_seconds,
        servers=_servers(answers),
        stages=_stages(answers),
        calls=calls,
        ensembles=frozenset(ensembles),
    )


def _questions(chosen: str, window_seconds: float) -> dict[str, str]:
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
    } | {
        name: promql.quantile(ratio, names.STAGE_DURATION, chosen, window_seconds, promql.MODEL_VERSION_STAGE)
        for name, ratio in _QUANTILES.items()
    }


def _servers(answers: Mapping[str, tuple[Reading, ...]]) -> dict[Subject, ServerTiming]:
    spent = {name: _by(answers[name], promql.MODEL_VERSION) for name in ("request", "queue", "compute")}
    return {
        (key[0], key[1]): ServerTiming(
            rate=rate,
            **{name: _mean(values.get(key, math.nan) / 1e6, rate) for name, values in spent.items()},
        )
        for key, rate in _by(answers["requests"], promql.MODEL_VERSION).items()
    }


def _stages(answers: Mapping[str, tuple[Reading, ...]]) -> dict[StageSubject, Timing]:
    seconds = _by(answers["sum"], promql.MODEL_VERSION_STAGE)
    quantiles = {name: _by(answers[name], promql.MODEL_VERSION_STAGE) for name in _QUANTILES}
    return {
        (key[0], key[1], key[2]): Timing(
            rate=rate,
            mean=_mean(seconds.get(key, math.nan), rate),
            **{name: _number(values.get(key, math.nan)) for name, values in quantiles.items()},
        )
        for key, rate in _by(answers["count"], promql.MODEL_VERSION_STAGE).items()
    }


def _by(readings: Iterable[Reading], labels: tuple[str, ...]) -> dict[tuple[str, ...], float]:
    return {tuple(reading.labels.get(label, "") for label in labels): reading.value for reading in readings}


def _mean(seconds: float, rate: float) -> float | None:
    return _number(seconds / rate) if rate > 0 else None


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _calls(readings: Iterable[Reading]) -> Iterable[PipelineCall]:
    found = {
        (
            reading.labels.get(names.PIPELINE, ""),
            reading.labels.get(names.STAGE, ""),
            reading.labels.get(names.MODEL, ""),
        ): reading.value
        for reading in readings
    }
    for (pipeline, stage, model), per_request in sorted(found.items()):
        yield PipelineCall(pipeline=pipeline, stage=stage, model=model, per_request=per_request)


def _with_callees(models: Iterable[str], calls: tuple[PipelineCall, ...]) -> set[str]:
    wanted, fresh = set[str](), set(models)
    while fresh:
        wanted |= fresh
        fresh = {call.model for call in calls if call.pipeline in fresh} - wanted
    return wanted


def _is_ensemble(reading: Reading) -> bool:
    return reading.labels.get(names.KIND) == "ensemble"
