"""A fleet at a glance: one row per model version, from the replicas' pages or from Prometheus."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tritonobs import names
from tritonobs.live import promql, questions
from tritonobs.live.ask import ask_all
from tritonobs.live.buckets import bucket_quantile
from tritonobs.live.pages import increases
from tritonobs.live.timings import mean_questions, timings_from

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tritonobs.clients.prometheus import PrometheusClient, Reading
    from tritonobs.live.ask import Unseen
    from tritonobs.live.pages import Pages
    from tritonobs.live.timings import Subject

SortKey = Literal["model", "qps", "errors", "mean", "p99", "queue"]
SORT_KEYS: tuple[SortKey, ...] = ("qps", "errors", "mean", "p99", "queue", "model")
_SILENT_SECONDS = 20.0
_SERVER = (names.MODEL, names.VERSION)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopRow:
    """A model version now; durations in seconds, None where unmeasured. `stages` are seconds a request."""

    model: str
    version: str
    qps: float
    limit: float | None
    error_ratio: float | None
    mean: float | None
    p99: float | None
    queue: float | None
    pending: float
    batch: float | None
    stages: tuple[tuple[str, float], ...]
    workers: int
    silent_workers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TopView:
    """All rows at one moment; `source` says where from, `seconds` over which time."""

    at: float
    seconds: float
    source: str
    rows: tuple[TopRow, ...]
    unseen: tuple[Unseen, ...] = ()


def view_of_pages(before: Pages, now: Pages, limits: Mapping[Subject, float]) -> TopView:
    """What happened between two readings of the pages."""
    seconds = max(now.at - before.at, 1e-9)

    def grew(name: str, *labels: str) -> dict[tuple[str, ...], float]:
        return {key: value / seconds for key, value in increases(before, now, name, *labels).items()}

    buckets: dict[Subject, dict[float, float]] = {}
    for (model, version, stage, le), rate in grew(
        f"{names.STAGE_DURATION}_bucket", *_SERVER, names.STAGE, names.LE
    ).items():
        if stage == names.TOTAL_STAGE:
            buckets.setdefault((model, version), {})[float(le)] = rate
    pending = now.rows(names.TRITON_PENDING, *_SERVER)
    numbers = _Numbers(
        requests=grew(names.TRITON_SUCCESS, *_SERVER),
        failures=grew(names.TRITON_FAILURE, *_SERVER, names.REASON),
        outcomes=grew(names.REQUESTS, *_SERVER, names.OUTCOME),
        request=grew(names.TRITON_REQUEST_US, *_SERVER),
        queue=grew(names.TRITON_QUEUE_US, *_SERVER),
        inferences=grew(names.TRITON_INFERENCES, *_SERVER),
        executions=grew(names.TRITON_EXECUTIONS, *_SERVER),
        stages=grew(f"{names.STAGE_DURATION}_sum", *_SERVER, names.STAGE),
        counts=grew(f"{names.STAGE_DURATION}_count", *_SERVER, names.STAGE),
        p99={subject: bucket_quantile(0.99, counts) for subject, counts in buckets.items()},
        pending=pending,
        beats=now.rows(names.HEARTBEAT, *_SERVER, names.WORKER),
        limits=limits,
    )
    return TopView(
        at=now.at,
        seconds=seconds,
        source=f"{len(now.pages)} metrics page{'' if len(now.pages) == 1 else 's'}",
        rows=numbers.rows(now.at),
        unseen=now.unseen,
    )


def view_of_prometheus(prometheus: PrometheusClient, *, window_seconds: float) -> TopView:
    """What Prometheus saw in the last seconds.

    Raises:
        ClientError: it did not answer all of it.
    """
    at, asked = time.time(), mean_questions("", window_seconds)
    window, moment = questions.window_questions("", window_seconds), questions.moment_questions("")
    for name in ("outcomes", "failures", "inferences", "executions"):
        asked[name] = window[name]
    asked |= {"heartbeats": moment["heartbeats"], "limits": moment["limits"]}
    asked["pending"] = promql.summed(names.TRITON_PENDING, promql.MODEL_VERSION)
    total = promql.selector(promql.one_of(names.STAGE, [names.TOTAL_STAGE]))
    asked["p99"] = promql.quantile(0.99, names.STAGE_DURATION, total, window_seconds, promql.MODEL_VERSION)
    answers = ask_all(prometheus, asked, at=at)
    timings = timings_from(answers, at=at, window_seconds=window_seconds)

    def rows(name: str, *labels: str) -> dict[tuple[str, ...], float]:
        return _by(answers[name], *(labels or _SERVER))

    numbers = _Numbers(
        requests=rows("requests"),
        failures=rows("failures", *_SERVER, names.REASON),
        outcomes=rows("outcomes", *_SERVER, names.OUTCOME),
        request=rows("request"),
        queue=rows("queue"),
        inferences=rows("inferences"),
        executions=rows("executions"),
        stages={key: (timing.mean or 0.0) * timing.rate for key, timing in timings.stages.items()},
        counts={key: timing.rate for key, timing in timings.stages.items()},
        p99={(key[0], key[1]): value for key, value in rows("p99").items() if value == value},  # noqa: PLR0124 (NaN)
        pending=rows("pending"),
        beats=rows("heartbeats", *_SERVER, names.WORKER),
        limits={(key[0], key[1]): value for key, value in rows("limits").items()},
    )
    return TopView(
        at=at, seconds=window_seconds, source=f"Prometheus {prometheus.address}", rows=numbers.rows(at)
    )


def sorted_rows(rows: Iterable[TopRow], key: SortKey, chosen: str = "") -> tuple[TopRow, ...]:
    """Rows whose model contains `chosen`, largest first (by name: first letter first)."""
    kept = [row for row in rows if chosen.lower() in row.model.lower()]
    by_name = sorted(kept, key=lambda row: (row.model, row.version))
    if key == "model":
        return tuple(by_name)
    field = "error_ratio" if key == "errors" else key
    return tuple(sorted(by_name, key=lambda row: -(getattr(row, field) or 0.0)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Numbers:
    """Rates a second by labels (durations of Triton in microseconds), however they were come by."""

    requests: Mapping[tuple[str, ...], float]
    failures: Mapping[tuple[str, ...], float]
    outcomes: Mapping[tuple[str, ...], float]
    request: Mapping[tuple[str, ...], float]
    queue: Mapping[tuple[str, ...], float]
    inferences: Mapping[tuple[str, ...], float]
    executions: Mapping[tuple[str, ...], float]
    stages: Mapping[tuple[str, ...], float]
    counts: Mapping[tuple[str, ...], float]
    p99: Mapping[Subject, float | None]
    pending: Mapping[tuple[str, ...], float]
    beats: Mapping[tuple[str, ...], float]
    limits: Mapping[Subject, float]

    def rows(self, at: float) -> tuple[TopRow, ...]:
        """One row for every model version that is loaded."""
        return tuple(self._row(key, at) for key in sorted(self.requests))

    def _row(self, key: tuple[str, ...], at: float) -> TopRow:
        model, version = subject = (key[0], key[1])
        good = self.requests[key]
        failed = sum(
            rate
            for (*place, reason), rate in self.failures.items()
            if tuple(place) == key and reason != "CANCELED"
        )
        told = {outcome: rate for (*place, outcome), rate in self.outcomes.items() if tuple(place) == key}
        # Models hand over once a second: their counts of a short look are a second's worth off.
        asked = good + failed or sum(told.values())
        bad = told.get("error", 0.0) + told.get("rejected", 0.0) + failed
        beats = [beat for (*place, _), beat in self.beats.items() if tuple(place) == key]
        runs = self.executions.get(key, 0.0)
        stages = {
            stage: spent / asked
            for (*place, stage), spent in self.stages.items()
            if tuple(place) == key and stage != names.TOTAL_STAGE and asked > 0 and spent > 0
        }
        return TopRow(
            model=model,
            version=version,
            qps=asked,
            limit=self.limits.get(subject, self.limits.get((model, ""))),
            error_ratio=min(1.0, bad / asked) if asked > 0 else None,
            mean=self._mean(key),
            p99=self.p99.get(subject),
            queue=self.queue.get(key, 0.0) / 1e6 / good if good > 0 else None,
            pending=self.pending.get(key, 0.0),
            batch=self.inferences.get(key, 0.0) / runs if runs > 0 else None,
            stages=tuple(sorted(stages.items(), key=lambda stage: -stage[1])),
            workers=len(beats),
            silent_workers=sum(at - beat > _SILENT_SECONDS for beat in beats),
        )

    def _mean(self, key: tuple[str, ...]) -> float | None:
        """A whole request as `stages` shows it: waiting, and the model's own total where it tells one."""
        good, total = self.requests[key], (*key, names.TOTAL_STAGE)
        if good > 0 and self.counts.get(total, 0.0) > 0:
            return self.queue.get(key, 0.0) / 1e6 / good + self.stages.get(total, 0.0) / self.counts[total]
        return self.request.get(key, 0.0) / 1e6 / good if good > 0 else None


def _by(readings: Iterable[Reading], *labels: str) -> dict[tuple[str, ...], float]:
    rows: dict[tuple[str, ...], float] = {}
    for reading in readings:
        key = tuple(reading.labels.get(label, "") for label in labels)
        rows[key] = rows.get(key, 0.0) + reading.value
    return rows
