"""A fleet at a glance: one row per model version, from the replicas' pages or from Prometheus.

Pages are all read at one moment, for a live view without Prometheus.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

from tritonobs import names
from tritonobs.clients.exposition import MetricsPage, read_page
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.timings import outcomes, promql, questions
from tritonobs.timings.ask import Readings, Unseen, ask_all
from tritonobs.timings.measured import (
    Subject,
    bucket_quantile,
    calls_question,
    highest_told,
    histograms,
    mean_questions,
    pipeline_calls,
    tells,
)
from tritonobs.timings.outcomes import WORKER_LABELS, Ended, Key, Worker, ended, workers
from tritonobs.timings.promql import scrape_interval_seconds

SortKey = Literal["model", "qps", "errors", "mean", "p99", "queue"]
SORT_KEYS: tuple[SortKey, ...] = ("qps", "errors", "mean", "p99", "queue", "model")
_SERVER = (names.MODEL, names.VERSION)

_PREFIXES = ("nv_inference_", "nv_gpu_", "nv_cpu_utilization", "tritonobs_")
_TIMEOUT_SECONDS = 2.0
_SILENT_SECONDS = 6.0
"""A worker whose heartbeat does not move in this time is silent.

Workers beat every 0.5 s to 5 s (`stage.settings`) and may be late, so a shorter time shows nothing.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopRow:
    """A model version now; durations in seconds, None where unmeasured. `stages` are seconds a request.

    `mean` is a whole request. `p99` is that of the time in the model, without its wait in Triton's queue;
    None with fewer than a hundred requests: it is `known`, or more.
    `bounds` are the lowest and the highest value of its buckets. `limited_qps` is the rate that `limit`
    is about: a limit of the model counts all its versions. Of two limits it is the one that is used up more.
    `silent_workers` are those that were not replaced.
    """

    model: str
    version: str
    qps: float
    limit: float | None
    limited_qps: float
    error_ratio: float | None
    mean: float | None
    p99: float | None
    queue: float | None
    pending: float
    batch: float | None
    stages: tuple[tuple[str, float], ...]
    workers: int
    silent_workers: int
    bounds: tuple[float, float] | None = None
    invalid_ratio: float | None = None
    """The share that was the caller's fault, and not an error."""
    known: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopView:
    """All rows at one moment; `source` says where from, `seconds` over which time."""

    at: float
    seconds: float
    source: str
    rows: tuple[TopRow, ...]
    unseen: tuple[Unseen, ...] = ()


def view_of_pages(
    before: Pages,
    now: Pages,
    limits: Mapping[Subject, float],
    ensembles: Collection[str] = (),
    calls: Collection[tuple[str, str]] = (),
) -> TopView:
    """What happened between two readings of the pages.

    `ensembles` are the models that are one, `calls` pairs of a pipeline and a model that it calls.
    """
    grew = partial(rates, before, now)
    buckets = grew(f"{names.STAGE_DURATION}_bucket", names.STAGE, *_SERVER, names.LE)
    succeeded = grew(names.TRITON_SUCCESS, *outcomes.LABELS)
    numbers = _Numbers(
        seconds=max(0.0, now.at - before.at),
        ended=ended(
            succeeded,
            grew(names.TRITON_FAILURE, *outcomes.LABELS, names.REASON),
            grew(names.REQUESTS, *outcomes.LABELS, names.OUTCOME),
            ensembles,
            calls,
        ),
        requests=grew(names.TRITON_SUCCESS, *_SERVER),
        request=grew(names.TRITON_REQUEST_US, *_SERVER),
        queue=grew(names.TRITON_QUEUE_US, *_SERVER),
        inferences=grew(names.TRITON_INFERENCES, *_SERVER),
        executions=grew(names.TRITON_EXECUTIONS, *_SERVER),
        stages=grew(f"{names.STAGE_DURATION}_sum", *_SERVER, names.STAGE),
        counts=grew(f"{names.STAGE_DURATION}_count", *_SERVER, names.STAGE),
        buckets=histograms({key[1:]: rate for key, rate in buckets.items() if key[0] == names.TOTAL_STAGE}),
        pending=now.rows(names.TRITON_PENDING, *_SERVER),
        workers=workers(moved(before, now), succeeded),
        limits=limits,
    )
    return TopView(
        at=now.at,
        # The clock may be set back between two readings.
        seconds=max(0.0, now.at - before.at),
        source=f"{len(now.pages)} metrics endpoint{'' if len(now.pages) == 1 else 's'}",
        rows=numbers.rows(),
        unseen=now.unseen,
    )


def view_of_prometheus(prometheus: PrometheusClient, *, window_seconds: float) -> TopView:
    """What Prometheus saw in the last seconds.

    Raises:
        ClientError: it did not answer all of it.
    """
    scope = promql.Scope.asked(prometheus)
    at, asked = time.time(), mean_questions(scope, window_seconds)
    window = questions.window_questions(scope, window_seconds)
    moment = questions.moment_questions(scope, scrape_interval_seconds(prometheus.targets()))
    for name in ("outcomes", "failures", "inferences", "executions", "replica_requests"):
        asked[name] = window[name]
    for name in ("alive", "limits", "ensembles"):
        asked[name] = moment[name]
    asked["pending"] = promql.summed(f"{names.TRITON_PENDING}{scope.of()}", promql.MODEL_VERSION)
    total = scope.of(promql.one_of(names.STAGE, [names.TOTAL_STAGE]))
    asked["total_buckets"] = promql.rates(
        f"{names.STAGE_DURATION}_bucket", total, window_seconds, (*promql.MODEL_VERSION, names.LE)
    )
    asked["calls"] = calls_question(scope)
    answers = ask_all(prometheus, asked, at=at)

    def rows(name: str, *labels: str) -> dict[tuple[str, ...], float]:
        return _summed(((one.labels, one.value) for one in answers[name]), labels or _SERVER)

    succeeded = rows("replica_requests", *outcomes.LABELS)
    numbers = _Numbers(
        seconds=window_seconds,
        ended=ended(
            succeeded,
            rows("failures", *outcomes.LABELS, names.REASON),
            rows("outcomes", *outcomes.LABELS, names.OUTCOME),
            {model for (model,) in rows("ensembles", names.MODEL)},
            {(call.pipeline, call.model) for call in pipeline_calls(answers["calls"])},
        ),
        requests=rows("requests"),
        request=rows("request"),
        queue=rows("queue"),
        inferences=rows("inferences"),
        executions=rows("executions"),
        stages=rows("sum", *_SERVER, names.STAGE),
        counts=rows("count", *_SERVER, names.STAGE),
        buckets=histograms(rows("total_buckets", *_SERVER, names.LE)),
        pending=rows("pending"),
        workers=workers(rows("alive", *WORKER_LABELS), succeeded),
        limits={(key[0], key[1]): value for key, value in rows("limits").items()},
    )
    return TopView(
        at=at, seconds=window_seconds, source=f"Prometheus {prometheus.address}", rows=numbers.rows()
    )


def sorted_rows(rows: Iterable[TopRow], key: SortKey, chosen: str = "") -> tuple[TopRow, ...]:
    """Rows whose model contains `chosen`, largest first (by name: first letter first)."""
    kept = [row for row in rows if chosen.lower() in row.model.lower()]
    # Sorting is stable: rows with equal numbers keep their order.
    by_name = sorted(kept, key=lambda row: (row.model, row.version))
    if key == "model":
        return tuple(by_name)
    field = "error_ratio" if key == "errors" else key
    # An unknown P99 is at least what is known.
    return tuple(
        sorted(
            by_name,
            key=lambda row: -(getattr(row, field) or (row.known if field == "p99" else None) or 0.0),
        )
    )


@dataclass(frozen=True, kw_only=True)
class _Numbers:
    """Rates a second by labels (durations of Triton in microseconds), from either source."""

    seconds: float
    ended: Mapping[Subject, Ended]
    requests: Mapping[tuple[str, ...], float]
    request: Mapping[tuple[str, ...], float]
    queue: Mapping[tuple[str, ...], float]
    inferences: Mapping[tuple[str, ...], float]
    executions: Mapping[tuple[str, ...], float]
    stages: Mapping[tuple[str, ...], float]
    counts: Mapping[tuple[str, ...], float]
    buckets: Mapping[tuple[str, ...], Mapping[float, float]]
    pending: Mapping[tuple[str, ...], float]
    workers: tuple[Worker, ...]
    limits: Mapping[Subject, float]

    def rows(self) -> tuple[TopRow, ...]:
        """One row for every model version that is loaded."""
        return tuple(self._row((key[0], key[1])) for key in sorted(self.requests))

    @cached_property
    def _spent(self) -> dict[Subject, dict[str, float]]:
        spent: dict[Subject, dict[str, float]] = {}
        for (model, version, stage), seconds in self.stages.items():
            spent.setdefault((model, version), {})[stage] = seconds
        return spent

    @cached_property
    def _states(self) -> dict[Subject, list[str]]:
        states: dict[Subject, list[str]] = {}
        for worker in self.workers:
            states.setdefault((worker.model, worker.version), []).append(worker.state)
        return states

    @cached_property
    def _of_models(self) -> dict[str, float]:
        """Requests a second of models, all versions."""
        rates: dict[str, float] = {}
        for (model, _), end in self.ended.items():
            rates[model] = rates.get(model, 0.0) + end.requests
        return rates

    def _limit(self, subject: Subject) -> tuple[float | None, float]:
        """The limit of a version or of its model that is used up more, and the rate it is about."""
        model, own = subject[0], self.ended.get(subject, Ended()).requests
        asked = ((subject, own), ((model, ""), self._of_models.get(model, 0.0)))
        found = [(self.limits[limited], rate) for limited, rate in asked if limited in self.limits]
        return max(found, key=lambda one: one[1] / one[0] if one[0] > 0 else math.inf, default=(None, own))

    def _row(self, subject: Subject) -> TopRow:
        model, version = subject
        # Triton adds up the times of successes alone, so their number divides these.
        good, end = self.requests[subject], self.ended.get(subject, Ended())
        states, runs = self._states.get(subject, []), self.executions.get(subject, 0.0)
        # Stages and the requests they divide by are of the same heartbeats.
        measured = end.answered or end.requests
        stages = {
            stage: spent / measured
            for stage, spent in self._spent.get(subject, {}).items()
            if stage != names.TOTAL_STAGE and measured > 0 and spent > 0
        }
        buckets = self.buckets.get(subject, {})
        finite = sorted(bound for bound in buckets if math.isfinite(bound))
        samples = buckets.get(math.inf, 0.0) * self.seconds
        limit, limited_qps = self._limit(subject)
        return TopRow(
            model=model,
            version=version,
            qps=end.requests,
            limit=limit,
            limited_qps=limited_qps,
            error_ratio=end.ratio,
            invalid_ratio=end.invalid_ratio,
            mean=self._mean(subject),
            p99=bucket_quantile(0.99, buckets) if tells(0.99, samples) else None,
            known=None if tells(0.99, samples) else highest_told(buckets, samples),
            bounds=(finite[0], finite[-1]) if finite else None,
            queue=self.queue.get(subject, 0.0) / 1e6 / good if good > 0 else None,
            pending=self.pending.get(subject, 0.0),
            batch=self.inferences.get(subject, 0.0) / runs if runs > 0 else None,
            stages=tuple(sorted(stages.items(), key=lambda stage: -stage[1])),
            workers=sum(state != "replaced" for state in states),
            silent_workers=sum(state == "dead" for state in states),
        )

    def _mean(self, subject: Subject) -> float | None:
        """A whole request as `stages` shows it: wait and the model's total, or what Triton counted."""
        good, total = self.requests[subject], (*subject, names.TOTAL_STAGE)
        around = self.request.get(subject, 0.0) / 1e6 / good if good > 0 else None
        if good > 0 and self.counts.get(total, 0.0) > 0:
            counted = (
                self.queue.get(subject, 0.0) / 1e6 / good + self.stages.get(total, 0.0) / self.counts[total]
            )
            return max(counted, around or 0.0)
        return around


def _summed(
    series: Iterable[tuple[Mapping[str, str], float]], labels: tuple[str, ...]
) -> dict[tuple[str, ...], float]:
    """The labels and values of series, summed over every label but these."""
    rows: dict[tuple[str, ...], float] = {}
    for own, value in series:
        key = tuple(own.get(label, "") for label in labels)
        rows[key] = rows.get(key, 0.0) + value
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """The replicas' pages, by name or address; `at` is Unix time. `unseen` are those without an answer."""

    at: float
    pages: Mapping[str, MetricsPage]
    unseen: tuple[Unseen, ...] = ()

    def rows(self, name: str, *labels: str) -> dict[tuple[str, ...], float]:
        """A metric summed over replicas and over every label but these."""
        samples = (sample for page in self.pages.values() for sample in page.by_name.get(name, ()))
        return _summed(((sample.labels, sample.value) for sample in samples), labels)


def read_pages(urls: Iterable[str] | Mapping[str, str]) -> Pages:
    """Read every page; one that cannot be read is noted, not left out silently.

    Addresses may have names, by which their servers are then called.
    """
    readings = Readings()
    look = partial(read_page, prefixes=_PREFIXES, timeout_seconds=_TIMEOUT_SECONDS)
    at = time.time()
    named = urls if isinstance(urls, Mapping) else {url: url for url in urls}
    pages = readings.take({name: partial(look, url) for name, url in named.items()})
    return Pages(at=at, pages=pages, unseen=tuple(readings.unseen))


def rates(before: Pages, now: Pages, name: str, *labels: str) -> dict[tuple[str, ...], float]:
    """How much a counter grew a second, series by series as `steps` has it.

    A worker flushes its numbers with each heartbeat, so they cover the time between heartbeats.
    """
    # The clock may be set back between two readings.
    seconds = max(now.at - before.at, 1e-9)
    past = _beats(before)
    between = {key: beat - past[key] for key, beat in _beats(now).items() if beat > past.get(key, beat)}
    grown = steps(before, now, name)
    return _summed(((own, step / between.get(_worker(own), seconds)) for own, step in grown), labels)


def steps(before: Pages, now: Pages, name: str) -> Iterator[tuple[dict[str, str], float]]:
    """Every series of a counter, and how much it grew; a restart counts from 0.

    The label `instance` is the name or address of the page. A series that was not there before counts from
    its first sight: its age is unknown.
    """
    for address, page in now.pages.items():
        if address not in before.pages:
            continue
        past = _values(before.pages[address], name)
        for sample in page.by_name.get(name, ()):
            was = past.get(tuple(sorted(sample.labels.items())))
            step = 0.0 if was is None else sample.value - was if sample.value >= was else sample.value
            yield {**sample.labels, names.INSTANCE: address}, step


def _beats(pages: Pages) -> dict[Key, float]:
    """The heartbeat of every worker."""
    return {
        _worker({**sample.labels, names.INSTANCE: address}): sample.value
        for address, page in pages.pages.items()
        for sample in page.by_name.get(names.HEARTBEAT, ())
    }


def _worker(labels: Mapping[str, str]) -> Key:
    of = labels.get
    return of(names.INSTANCE, ""), of(names.MODEL, ""), of(names.VERSION, ""), of(names.WORKER, "")


def moved(before: Pages, now: Pages) -> dict[Key, float]:
    """By replica, model, version and worker: 1 where the heartbeat moved, or that is unknown; else 0."""
    beats, past = _beats(now), _beats(before)
    long_enough = now.at - before.at >= _SILENT_SECONDS
    return {key: float(not (long_enough and past.get(key) == beat)) for key, beat in beats.items()}


def _values(page: MetricsPage, name: str) -> dict[tuple[tuple[str, str], ...], float]:
    return {tuple(sorted(sample.labels.items())): sample.value for sample in page.by_name.get(name, ())}
