"""Times in Prometheus: per model version from Triton, per stage from the models."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from tritonobs import names
from tritonobs.clients.prometheus import PrometheusClient, Reading
from tritonobs.plan.objectives import BOUNDS, middle
from tritonobs.timings import promql
from tritonobs.timings.ask import ask_all

Subject = tuple[str, str]
"""A model and its version."""
Phase = tuple[str, str, str]
"""A model, its version and a phase of traced requests."""
StageSubject = tuple[str, str, str]
"""A model, its version and a stage."""
Answers: TypeAlias = "Mapping[str, tuple[Reading, ...]]"
"""Prometheus' answers, by the name of the question."""
REQUEST_PHASE, QUEUE_PHASE = "request", "queue"
COMPUTE_PHASES = ("input", "infer", "output")
_QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Requests a second and their durations in seconds over a window; None where not measured.

    Quantiles come from buckets. One at or below `lowest` lies somewhere in the first of them, one at
    `highest` may be anything above; None where the buckets are not known. A quantile is None where fewer
    requests stand behind it than it takes; it is `known`, that of the highest which they have, or more.
    """

    rate: float
    mean: float | None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    lowest: float | None = None
    highest: float | None = None
    known: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTiming:
    """What Triton charged to the requests of one model version; means in seconds, None without requests."""

    rate: float
    request: float | None
    queue: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineCall:
    """A pipeline calls `model` under the name `stage`, `per_request` times."""

    pipeline: str
    stage: str
    model: str
    per_request: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """One window of a fleet, or of some models of it.

    `backends` are whole requests as a backend reports them that Triton cannot time (vLLM); `streaming` are
    the model versions known to answer in several responses. `traced` are the times of requests and of their
    phases (queue, input, infer, output), where Triton traces some.
    """

    at: float
    window_seconds: float
    servers: Mapping[Subject, ServerTiming]
    stages: Mapping[StageSubject, Timing]
    calls: tuple[PipelineCall, ...] = ()
    backends: Mapping[Subject, Timing] = field(default_factory=dict)
    streaming: frozenset[Subject] = frozenset()
    traced: Mapping[Phase, Timing] = field(default_factory=dict)

    def subjects(self) -> tuple[Subject, ...]:
        """Every model version of which anything was measured."""
        return tuple(sorted({*self.servers, *((model, version) for model, version, _ in self.stages)}))

    def requests(self, subject: Subject) -> float:
        """Requests a second of a model version, by Triton or by the model itself."""
        server, total = self.servers.get(subject), self.stages.get((*subject, names.TOTAL_STAGE))
        return max(server.rate if server else 0.0, total.rate if total else 0.0)


def read_timings(
    prometheus: PrometheusClient, *, at: float, window_seconds: float, models: Iterable[str] = ()
) -> Timings:
    """The window that ends at `at` (Unix seconds), of these models and those they call; without any, of all.

    Raises:
        ClientError: Prometheus did not answer all of it.
    """
    scope = promql.Scope.asked(prometheus)
    calls = prometheus.query(calls_question(scope), at=at)
    scope = scope.about(with_callees(models, pipeline_calls(calls)))
    questions = mean_questions(scope, window_seconds) | bucket_questions(scope, window_seconds)
    answers = {"calls": calls, **ask_all(prometheus, questions, at=at)}
    return timings_from(answers, at=at, window_seconds=window_seconds)


def timings_from(answers: Answers, *, at: float, window_seconds: float) -> Timings:
    """The answers to this module's questions (and to `calls`) as timings; what was not asked is not there."""
    servers = _servers(answers)
    first = {(key[0], key[1]) for key in _by(answers.get("streaming", ()), promql.MODEL_VERSION)}
    return Timings(
        at=at,
        window_seconds=window_seconds,
        servers=servers,
        stages=_stages(answers, window_seconds),
        calls=pipeline_calls(answers.get("calls", ())),
        backends=_backends(answers, window_seconds),
        # Until 25.12 only decoupled models have this histogram; later all do, and it says nothing.
        streaming=frozenset(first if first < set(servers) else ()),
        traced=_traced(answers, window_seconds),
    )


def calls_question(scope: promql.Scope) -> str:
    """PromQL for the calls of pipelines: of all models, because its answer shows which of them matter."""
    return f"{names.PIPELINE_CALLS}{scope.around()}"


def mean_questions(scope: promql.Scope, window_seconds: float) -> dict[str, str]:
    """PromQL for rates and means of these models, of Triton and of the stages; few series."""
    chosen = scope.of()

    def per_model(metric: str) -> str:
        return promql.rates(metric, chosen, window_seconds, promql.MODEL_VERSION)

    def per_stage(part: str) -> str:
        metric = f"{names.STAGE_DURATION}_{part}"
        return promql.rates(metric, chosen, window_seconds, promql.MODEL_VERSION_STAGE)

    return {
        "requests": per_model(names.TRITON_SUCCESS),
        "request": per_model(names.TRITON_REQUEST_US),
        "queue": per_model(names.TRITON_QUEUE_US),
        "count": per_stage("count"),
        "sum": per_stage("sum"),
        "backend_sum": per_model(f"{names.VLLM_REQUEST}_sum"),
        "backend_count": per_model(f"{names.VLLM_REQUEST}_count"),
        "streaming": promql.summed(f"{names.TRITON_FIRST_RESPONSE}_count{chosen}", promql.MODEL_VERSION),
    }


def bucket_questions(scope: promql.Scope, window_seconds: float) -> dict[str, str]:
    """PromQL for percentiles of these models' stages and traced requests: every bucket, read once for all."""
    chosen, version = scope.of(), promql.MODEL_VERSION

    def rates(metric: str, *by: str) -> str:
        return promql.rates(metric, chosen, window_seconds, by)

    return {
        "traced_samples": rates(names.TRACE_SAMPLES, *version),
        "traced_buckets": rates(f"{names.TRACE_DURATION}_bucket", *version, names.PHASE, names.LE),
        "traced_sum": rates(f"{names.TRACE_DURATION}_sum", *version, names.PHASE),
        "buckets": rates(f"{names.STAGE_DURATION}_bucket", *promql.MODEL_VERSION_STAGE, names.LE),
        "backend_buckets": rates(f"{names.VLLM_REQUEST}_bucket", *version, names.LE),
    }


def _servers(answers: Answers) -> dict[Subject, ServerTiming]:
    spent = {name: _by(answers.get(name, ()), promql.MODEL_VERSION) for name in ("request", "queue")}
    return {
        (key[0], key[1]): ServerTiming(
            rate=rate,
            # NaN becomes None: a counter that is not there is not 0.
            **{name: _mean(values.get(key, math.nan) / 1e6, rate) for name, values in spent.items()},
        )
        for key, rate in _by(answers.get("requests", ()), promql.MODEL_VERSION).items()
    }


def _stages(answers: Answers, seconds: float) -> dict[StageSubject, Timing]:
    timings = _timings(answers, "", promql.MODEL_VERSION_STAGE, seconds)
    return {(key[0], key[1], key[2]): timing for key, timing in timings.items()}


def _traced(answers: Answers, window_seconds: float) -> dict[Phase, Timing]:
    labels = (*promql.MODEL_VERSION, names.PHASE)
    counts = histograms(_by(answers.get("traced_buckets", ()), (*labels, names.LE)))
    seconds = _by(answers.get("traced_sum", ()), labels)
    # Buckets are weighted: of one in a hundred, a hundred requests are one. (Older snapshots did not ask.)
    samples = _by(answers.get("traced_samples", ()), promql.MODEL_VERSION)
    return {
        (key[0], key[1], key[2]): Timing(
            # That bucket holds all requests, so nothing asks for their count.
            rate=buckets.get(math.inf, 0.0),
            mean=_mean(seconds.get(key, math.nan), buckets.get(math.inf, 0.0)),
            **{
                # As the rules read traced times; a line through the bucket is up to 10 % off.
                name: None if value is None else middle(value)
                for name, value in _told(buckets, samples.get(key[:2]), window_seconds).items()
            },
            lowest=BOUNDS[0],
            highest=BOUNDS[-1],
        )
        for key, buckets in counts.items()
        if buckets.get(math.inf, 0.0) > 0
    }


def _backends(answers: Answers, seconds: float) -> dict[Subject, Timing]:
    timings = _timings(answers, "backend_", promql.MODEL_VERSION, seconds)
    return {(key[0], key[1]): timing for key, timing in timings.items() if timing.rate > 0}


def _timings(
    answers: Answers, prefix: str, labels: tuple[str, ...], window_seconds: float
) -> dict[tuple[str, ...], Timing]:
    """Timings of histograms: from the questions with this prefix, by these labels."""
    seconds = _by(answers.get(f"{prefix}sum", ()), labels)
    counts = histograms(_by(answers.get(f"{prefix}buckets", ()), (*labels, names.LE)))
    # As they were asked for one by one, in snapshots of tritonobs 0.1.
    asked = {name: _by(answers.get(name, ()), labels) for name in _QUANTILES} if not prefix else {}
    return {
        key: Timing(
            rate=rate,
            mean=_mean(seconds.get(key, math.nan), rate),
            **(
                _quantiles(counts[key], window_seconds)
                if key in counts
                else {name: _number(values.get(key, math.nan)) for name, values in asked.items()}
            ),
        )
        for key, rate in _by(answers.get(f"{prefix}count", ()), labels).items()
    }


def _told(
    buckets: Mapping[float, float], per_second: float | None, seconds: float
) -> dict[str, float | None]:
    """The percentiles that this many requests a second have, and the highest one where some are lacking."""
    samples = None if per_second is None else per_second * seconds
    # A single request has no quantiles, and its time is worth showing.
    found = {
        name: bucket_quantile(ratio, buckets) if name == "p50" or tells(ratio, samples) else None
        for name, ratio in _QUANTILES.items()
    }
    lacking = samples is not None and not tells(_QUANTILES["p99"], samples)
    return found | ({"known": highest_told(buckets, samples)} if lacking and samples is not None else {})


def _quantiles(buckets: Mapping[float, float], seconds: float) -> dict[str, float | None]:
    """Percentiles from the buckets, and the bounds outside of which nothing exact is known."""
    known = _told(buckets, buckets.get(math.inf), seconds)
    bounds = sorted(bound for bound in buckets if math.isfinite(bound))
    return known | ({"lowest": bounds[0], "highest": bounds[-1]} if bounds else {})


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
        # Without those found before: pipelines that call each other would never end.
        fresh = {call.model for call in calls if call.pipeline in fresh} - wanted
    return wanted


def histograms(rows: Mapping[tuple[str, ...], float]) -> dict[tuple[str, ...], dict[float, float]]:
    """Counts by upper bound, of each subject, from rows whose last label is the bound."""
    found: dict[tuple[str, ...], dict[float, float]] = {}
    for (*subject, le), count in rows.items():
        # Others may write such a series without a bound, or with a word for one.
        with suppress(ValueError):
            found.setdefault(tuple(subject), {})[float(le)] = count
    return found


def bucket_quantile(ratio: float, buckets: Mapping[float, float]) -> float | None:
    """The value that `ratio` of the observations do not exceed, from cumulative counts by upper bound.

    Linear within a bucket, from 0 in the lowest; the highest finite bound for what lies above it. None
    without observations.
    """
    bounds = sorted(buckets)
    if not bounds or not math.isinf(bounds[-1]) or buckets[bounds[-1]] <= 0:
        return None
    rank = ratio * buckets[bounds[-1]]
    lower, below = 0.0, 0.0
    for bound in bounds:
        # A scrape in the middle of a flush may show a bucket below a smaller one.
        count = max(buckets[bound], below)
        if count >= rank:
            if math.isinf(bound):
                return lower
            return lower + (bound - lower) * ((rank - below) / (count - below) if count > below else 1.0)
        lower, below = bound, count
    return lower


def tells(ratio: float, samples: float | None) -> bool:
    """Whether this many observations have this quantile: one in a hundred above the P99 takes a hundred.

    None or NaN, where the number is not known, is taken for enough.
    """
    # Rates are read between scrapes, so their sums are whole numbers only nearly.
    return samples is None or not math.isfinite(samples) or round(samples) * (1 - ratio) >= 1 - 1e-9


def highest_told(buckets: Mapping[float, float], samples: float) -> float | None:
    """The value of the highest quantile that this many observations have; at least the median."""
    return bucket_quantile(max(0.5, 1 - 1 / samples), buckets) if samples > 0 else None
