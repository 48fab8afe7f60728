"""The QPS limit that a model can serve: the rate at which requests begin to queue; for people, too."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

from tritonobs import names
from tritonobs.clients.prometheus import PrometheusClient, Series
from tritonobs.report.console import Column, Line, Table
from tritonobs.report.formats import latency, rate, share
from tritonobs.timings import promql
from tritonobs.timings.measured import calls_question, pipeline_calls
from tritonobs.timings.outcomes import LABELS, Ended, ended
from tritonobs.timings.promql import Span
from tritonobs.timings.questions import ensemble_question
from tritonobs.units import format_latency

DEFAULT_HEADROOM_RATIO = 0.2

_LATE = 1.5
"""A mean 1.5 times that of a model without waiting means that requests wait."""
_LATE_SECONDS = 0.002
_FAILING_RATIO = 0.01
_BINS = 24
_FEWEST_POINTS = 5
_MOST_POINTS = 5_000
_WINDOW_SECONDS = 60.0
_CALM_SHARE = 0.3
_HURT_RATIO, _HURT_SECONDS, _HURT_GROWTH = 0.2, 1.0, 10.0
_READ = {
    "succeeded": (names.TRITON_SUCCESS, LABELS),
    "failed": (names.TRITON_FAILURE, (*LABELS, names.REASON)),
    "outcomes": (names.REQUESTS, (*LABELS, names.OUTCOME)),
    "spent": (names.TRITON_REQUEST_US, LABELS),
}
"""Counters whose rates are read, and the labels of the answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A model at some rate: mean seconds of a request, and the share of requests that failed."""

    qps: float
    seconds: float
    failed_ratio: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A limit, and what it rests on. Without a `knee_qps` the model was never seen busy.

    `calm_seconds` is the mean of a request while none waits, `good_qps` the highest rate served as well.
    """

    model: str
    limit_qps: float
    good_qps: float
    knee_qps: float | None
    calm_seconds: float
    headroom_ratio: float
    operations: tuple[Operation, ...]


def suggest(
    model: str, operations: Sequence[Operation], *, headroom_ratio: float = DEFAULT_HEADROOM_RATIO
) -> Suggestion:
    """The limit that keeps `headroom_ratio` free below the rate at which waiting begins.

    Raises:
        ValueError: fewer than five different rates, which say nothing about a knee.
    """
    points = sorted(operations, key=lambda point: point.qps)
    if len(points) < _FEWEST_POINTS:
        raise ValueError(
            f"{len(points)} different rates of {model} were seen; a knee needs {_FEWEST_POINTS} or more"
        )
    calm = median(point.seconds for point in points[: max(2, round(len(points) * _CALM_SHARE))])
    late = [_is_late(point, calm) for point in points]
    # From here on it is late at every rate but perhaps one: a single hiccup below is not a knee.
    knee = next(
        (at for at in range(len(points)) if late[at] and sum(late[at:]) >= 0.75 * len(late[at:])), None
    )
    good = points[-1].qps if knee is None else points[max(0, knee - 1)].qps
    return Suggestion(
        model=model,
        # Two digits: a limit is a decision, not a measurement.
        limit_qps=float(f"{good * (1 - headroom_ratio):.2g}"),
        good_qps=good,
        knee_qps=None if knee is None else points[knee].qps,
        calm_seconds=calm,
        headroom_ratio=headroom_ratio,
        operations=tuple(points),
    )


def far_too_much(operations: Sequence[Operation]) -> bool:
    """Whether to stop: enough rates were seen, and the last one was served badly."""
    if len(operations) < _FEWEST_POINTS:
        return False
    first, last = operations[0], operations[-1]
    return last.failed_ratio > _HURT_RATIO or last.seconds > max(_HURT_SECONDS, _HURT_GROWTH * first.seconds)


def operations_in_history(prometheus: PrometheusClient, span: Span, *, model: str) -> tuple[Operation, ...]:
    """What the model did in the past, at every rate it had: medians of times with a similar rate.

    Raises:
        ClientError: Prometheus did not answer.
    """
    step = max(span.seconds / _MOST_POINTS, _WINDOW_SECONDS)
    scope = promql.Scope.asked(prometheus, (model,))
    ensembles = {model} if prometheus.query(ensemble_question(scope), at=span.end) else set[str]()
    called = pipeline_calls(prometheus.query(calls_question(scope), at=span.end))
    calls = {(call.pipeline, call.model) for call in called if call.pipeline == model}
    # What its members call invalid is not failed.
    scope = scope.about({model, *(member for _, member in calls)})
    ask = partial(prometheus.query_range, start=span.start, end=span.end, step_seconds=step)
    seen = {
        name: _by_moment(ask(promql.summed(promql.rate(metric, scope.of(), step), labels)), labels)
        for name, (metric, labels) in _READ.items()
    }
    operations = []
    for at, succeeded in seen["succeeded"].items():
        every = ended(succeeded, seen["failed"].get(at, {}), seen["outcomes"].get(at, {}), ensembles, calls)
        versions = [one for (name, _), one in every.items() if name == model]
        whole = Ended(requests=sum(one.requests for one in versions), bad=sum(one.bad for one in versions))
        good, spent = (
            sum(value for key, value in found.items() if key[1] == model)
            for found in (succeeded, seen["spent"].get(at, {}))
        )
        if 0 < whole.requests < math.inf and 0 < good < math.inf and math.isfinite(spent):
            operations.append(
                Operation(qps=whole.requests, seconds=spent / 1e6 / good, failed_ratio=whole.ratio or 0.0)
            )
    return _binned(operations)


def _by_moment(found: Iterable[Series], labels: tuple[str, ...]) -> dict[float, dict[tuple[str, ...], float]]:
    moments: dict[float, dict[tuple[str, ...], float]] = {}
    for series in found:
        key = tuple(series.labels.get(label, "") for label in labels)
        for at, value in series.points:
            moments.setdefault(at, {})[key] = value
    return moments


def _binned(moments: Sequence[Operation]) -> tuple[Operation, ...]:
    """One operation for every range of rates, so that a long night does not outweigh a short rush."""
    if not moments:
        return ()
    # The smallest numbers there are become 0 when they are divided.
    width = max(moment.qps for moment in moments) / _BINS or math.inf
    bins: dict[int, list[Operation]] = {}
    for moment in moments:
        # The highest rate itself would be a bin of its own behind the last.
        bins.setdefault(min(int(moment.qps / width), _BINS - 1), []).append(moment)
    return tuple(
        Operation(
            qps=median(moment.qps for moment in group),
            seconds=median(moment.seconds for moment in group),
            failed_ratio=median(moment.failed_ratio for moment in group),
        )
        for _, group in sorted(bins.items())
    )


def _is_late(point: Operation, calm_seconds: float) -> bool:
    waits = point.seconds > _LATE * calm_seconds and point.seconds - calm_seconds > _LATE_SECONDS
    # A bounded queue refuses as fast as before, so times alone would not show it.
    return waits or point.failed_ratio > _FAILING_RATIO


def describe(suggestion: Suggestion) -> str:
    """The suggestion in two sentences."""
    calm, limit = format_latency(suggestion.calm_seconds), f"{suggestion.limit_qps:g}"
    if suggestion.knee_qps is None:
        return (
            f"{suggestion.model} served up to {suggestion.good_qps:.3g} requests/s without waiting ({calm}). "
            f"A limit of {limit} is safe, a higher one may be."
        )
    return (
        f"{suggestion.model} begins to wait at {suggestion.knee_qps:.3g} requests/s; up to "
        f"{suggestion.good_qps:.3g} a request takes {calm}. With {suggestion.headroom_ratio:.0%} headroom "
        f"the limit is {limit}."
    )


def suggestion_table(suggestion: Suggestion) -> Table:
    """Every rate that was seen, the knee marked."""
    return Table(
        title=f"{suggestion.model}: mean request time by rate",
        columns=tuple(Column(title=title, right=True) for title in ("req/s", "mean", "failed", "")),
        lines=tuple(
            Line(
                cells=(
                    rate(point.qps),
                    latency(point.seconds),
                    share(point.failed_ratio),
                    "waits" if suggestion.knee_qps is not None and point.qps >= suggestion.knee_qps else "",
                ),
                style="yellow" if point.qps == suggestion.knee_qps else "",
            )
            for point in suggestion.operations
        ),
    )


_WIDTH, _HEIGHT, _MARGIN = 720, 360, 60


def suggestion_page(suggestion: Suggestion, sentence: str) -> str:
    """The knee drawn: mean request time over rate, with the limit."""
    from tritonobs.report.formats import template  # noqa: PLC0415 (brings jinja2)

    # All may be 0, and `x` and `y` divide by them.
    most_qps = max(point.qps for point in suggestion.operations) or 1.0
    most_seconds = max(point.seconds for point in suggestion.operations) or 1.0

    def x(qps: float) -> float:
        return round(_MARGIN + (_WIDTH - 2 * _MARGIN) * qps / most_qps, 1)

    def y(seconds: float) -> float:
        return round(_HEIGHT - _MARGIN - (_HEIGHT - 2 * _MARGIN) * seconds / most_seconds, 1)

    marks = [(suggestion.limit_qps, "#2e7d32", f"limit {suggestion.limit_qps:g}")]
    if suggestion.knee_qps is not None:
        marks.append((suggestion.knee_qps, "#c62828", f"waits from {suggestion.knee_qps:.3g}"))
    return template(__package__, "suggestion.html").render(
        title=suggestion.model,
        sentence=sentence,
        width=_WIDTH,
        height=_HEIGHT,
        margin=_MARGIN,
        points=[
            {
                "x": x(point.qps),
                "y": y(point.seconds),
                "words": f"{rate(point.qps)}/s: {latency(point.seconds)}",
            }
            for point in suggestion.operations
        ],
        marks=[{"x": x(qps), "colour": colour, "words": words} for qps, colour, words in marks],
        most_time=latency(most_seconds),
        most_rate=rate(most_qps),
    )
