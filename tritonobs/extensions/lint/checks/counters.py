"""Checks of types and windows: counters, gauges, quantiles and averages, and over how long they are taken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tritonobs.extensions.lint.catalogue import Named
from tritonobs.extensions.lint.checks.registry import Context, Edit, Hit, check
from tritonobs.extensions.lint.checks.series import INSTEAD_OF_BUCKETS
from tritonobs.extensions.lint.expression import seconds_of, variable_at
from tritonobs.extensions.lint.shapes import COMPARISONS, FLOWS
from tritonobs.extensions.lint.tree import (
    Aggregate,
    Binary,
    Call,
    Node,
    Number,
    Selector,
    Subquery,
    walk,
)
from tritonobs.findings import Severity

_PRESENCE: Final = frozenset(
    ["absent", "absent_over_time", "changes", "resets", "timestamp", "present_over_time", "count_over_time"]
)
_COUNTED: Final = frozenset(("count", "group", "count_values"))
_OVER_TIME: Final = frozenset(
    ("max_over_time", "min_over_time", "avg_over_time", "sum_over_time", "quantile_over_time")
)
_TRITON: Final = frozenset(("model", "server", "vllm", "trtllm"))
_RATE_WORDS: Final = (
    r"(?<![a-z])(?:rate|avg|average|mean|latency|qps|ratio|throughput)(?![a-rt-z])|per.?second"
)
_TWO_SAMPLES = frozenset((*FLOWS, "delta", "idelta", "deriv"))
_RECORDED: Final = frozenset(("gauge", "rate", "mean", "share", "quantile"))
"""What a record may be that no rate is taken of."""
_DCGM_SECONDS = 30.0
"""How often dcgm-exporter collects (its default)."""


@check(
    "raw-counter",
    Severity.WARNING,
    title="A counter without rate or increase",
    why="A counter holds everything since the server's start and is reset by a restart or when a "
    "model is reloaded. Its value says nothing about now, and an alert on it never ends.",
    wrong="sum by (model) (nv_inference_request_failure) > 10",
    right="sum by (model) (increase(nv_inference_request_failure[5m])) > 10",
)
def raw_counter(seen: Context) -> Iterator[Hit]:
    """Counters whose value itself is used."""
    if seen.expression.use in ("variable", "hpa"):
        return
    if seen.expression.use == "record" and not seen.says(_RATE_WORDS):
        return
    # Grafana's `delta` is how much a counter rose in the time that is shown.
    if seen.expression.settings.get("reduced") == "delta":
        return
    told: set[str] = set()
    for one, found, above in seen.read:
        if not found.counter or found.series.group not in _TRITON or one.name in told:
            continue
        if _is_presence(one, above, alert=seen.expression.use == "alert"):
            continue
        told.add(one.name)
        yield Hit(
            start=one.start,
            message=f"{one.name} is a counter: its value is everything since the server's start",
            hint="write rate(…[5m]) or increase(…[5m])",
        )


def _is_presence(one: Selector, above: tuple[Node, ...], *, alert: bool) -> bool:
    """Whether the value is turned into a rate, or only its presence is of interest."""
    if one.seconds is not None:
        call = above[-1] if above else None
        return not (isinstance(call, Call) and call.func in _OVER_TIME)
    below: Node = one
    for node in reversed(above):
        if isinstance(node, Call) and (node.func in _PRESENCE or node.func in FLOWS):
            return True
        if isinstance(node, Aggregate) and node.op in _COUNTED:
            return True
        if isinstance(node, Binary) and _only_there(node, below, alert=alert):
            return True
        below = node
    return False


def _only_there(node: Binary, below: Node, *, alert: bool) -> bool:
    if node.op in ("and", "unless"):
        return node.rhs is below or alert
    other = node.rhs if node.lhs is below else node.lhs
    number = other.value if isinstance(other, Number) else None
    if node.op in COMPARISONS:
        return number == 0 and node.op in ("==", ">=")
    return node.op in ("*", "^") and number == 0


@check(
    "rate-of-sum",
    Severity.ERROR,
    title="The rate of a sum of counters",
    why="A sum of counters falls when one of its servers restarts or a model is unloaded, and `rate` takes "
    "that for a restart of all: it counts everything again. Take the rate first, then the sum.",
    wrong="rate(sum by (model) (nv_inference_request_success)[5m:])",
    right="sum by (model) (rate(nv_inference_request_success[5m]))",
)
def rate_of_sum(seen: Context) -> Iterator[Hit]:
    """Functions of counters over a subquery that adds counters up."""
    for node in seen.calls(*FLOWS):
        inner = node.args[0]
        added = [one for one, _ in walk(inner) if isinstance(one, Aggregate) and one.op in ("sum", "avg")]
        recorded = isinstance(inner, Selector) and not seen.found(inner) and seen.shape(inner)
        if (recorded and recorded.kind == "counter" and recorded.labels.exact) or (
            isinstance(inner, Subquery) and any(seen.shape(one.inner).kind == "counter" for one in added)
        ):
            message = f"{node.func} of a sum counts everything again when one of its servers restarts"
            yield Hit(start=node.start, message=message, hint="take the rate first, then the sum")


@check(
    "delta-of-counter",
    Severity.ERROR,
    title="delta, idelta, deriv or predict_linear of a counter",
    why="They are for gauges: a restart, or a model that is reloaded, counts as a large negative number.",
    wrong="sum by (model) (delta(nv_inference_queue_duration_us[1m]))",
    right="sum by (model) (increase(nv_inference_queue_duration_us[1m]))",
    fixed=True,
)
def delta_of_counter(seen: Context) -> Iterator[Hit]:
    """Functions of gauges over counters."""
    instead = {"delta": "increase", "deriv": "rate", "idelta": "increase"}
    for node in seen.calls(*instead, "predict_linear", "holt_winters"):
        found = seen.found(node.args[0])
        if not found or not found.counter:
            continue
        right = instead.get(node.func, "")
        certain = node.func in ("delta", "deriv")
        edits = (Edit(start=node.start, end=node.start + len(node.func), text=right),) if certain else ()
        yield Hit(
            start=node.start,
            message=f"{node.func} of a counter, {found.series.name}: a restart becomes a negative number",
            hint=f"write {right}" if right else "take the rate of it first",
            edits=edits,
        )


@check(
    "rate-of-gauge",
    Severity.ERROR,
    title="rate or increase of a gauge",
    why="A gauge falls as well as rises, and `rate` takes each fall for a restart of a counter.",
    wrong="rate(nv_inference_pending_request_count[5m])",
    right="avg_over_time(nv_inference_pending_request_count[5m])",
)
def rate_of_gauge(seen: Context) -> Iterator[Hit]:
    """Functions of counters over gauges and over quantiles of summaries."""
    for node in seen.calls(*FLOWS, "resets"):
        inner = node.args[0]
        below = inner.inner if isinstance(inner, Subquery) else inner
        found = seen.found(below)
        if isinstance(below, Selector) and seen.shape(below).kind in _RECORDED and not found:
            message = f"{below.name} is a record of a {seen.shape(below).kind}, which falls as well as rises"
            yield Hit(start=node.start, message=message, hint="write avg_over_time, max_over_time or delta")
        if not found or found.counter or found.series.cumulative:
            continue
        if found.series.type == "summary":
            message = f"{node.func} of the quantiles of {found.series.name}"
            yield Hit(start=node.start, message=message, hint="a rate needs its _sum or _count")
        elif found.series.type == "histogram":
            message = f"{found.series.name} is a histogram: the name alone has no series"
            yield Hit(start=node.start, message=message, hint="a rate needs its _bucket, _sum or _count")
        else:
            message = f"{found.series.name} is a gauge, and {node.func} takes each fall for a restart"
            yield Hit(start=node.start, message=message, hint="write avg_over_time, max_over_time or delta")


@check(
    "quantile-without-buckets",
    Severity.ERROR,
    title="histogram_quantile over series without buckets",
    why="`histogram_quantile` reads `le` of `_bucket` series. Triton's durations are plain counters, so the "
    "result is always empty. Without buckets there is a mean, a summary (`summary_latencies`) or a "
    "histogram of your own.",
    wrong="histogram_quantile(0.95, sum by (model) (rate(nv_inference_request_duration_us[5m])))",
    right="histogram_quantile(0.95, sum by (model, le) "
    "(rate(nv_inference_first_response_histogram_ms_bucket[5m])))",
)
def quantile_without_buckets(seen: Context) -> Iterator[Hit]:
    """Quantiles whose series or aggregation have no `le`."""
    for node in seen.calls("histogram_quantile"):
        shape = seen.shape(node.args[-1])
        if not shape.triton:
            continue
        if not any(one.part == "_bucket" for one in shape.series):
            name = shape.series[0].series.name
            kind = shape.series[0].series.type
            hint = "read its _bucket series" if kind == "histogram" else INSTEAD_OF_BUCKETS
            yield Hit(start=node.start, message=f"{name} has no buckets: it is a {kind}", hint=hint)
            continue
        if shape.labels.lacks("le"):
            message = "the aggregation loses le, which histogram_quantile needs"
            yield Hit(start=node.start, message=message, hint="write by (…, le)")


@check(
    "quantile-out-of-range",
    Severity.ERROR,
    title="A quantile that is not between 0 and 1",
    why="The first argument is a share: 0.99 is P99. Above 1 the result is +Inf.",
    wrong="histogram_quantile(99, sum by (le) (rate(nv_inference_first_response_histogram_ms_bucket[5m])))",
    right="histogram_quantile(0.99, sum by (le) (rate(nv_inference_first_response_histogram_ms_bucket[5m])))",
    fixed=True,
)
def quantile_out_of_range(seen: Context) -> Iterator[Hit]:
    """Numbers above 1 or below 0."""
    for node in seen.calls("histogram_quantile"):
        first = node.args[0]
        if not isinstance(first, Number) or 0 <= first.value <= 1 or not seen.shape(node.args[-1]).triton:
            continue
        right = f"{first.value / 100:g}" if 1 < first.value <= 100 else ""  # noqa: PLR2004 (percent)
        edits = (Edit(start=first.start, end=first.end, text=right),) if right else ()
        message = f"{first.value:g} is not a share between 0 and 1"
        yield Hit(start=first.start, message=message, hint=f"write {right}" if right else "", edits=edits)


@check(
    "aggregated-quantile",
    Severity.ERROR,
    title="A sum or an average of quantiles",
    why="Quantiles cannot be added or averaged: the P99 of two servers is not the mean of their P99s. A "
    "summary's quantiles can only be shown by server; the worst of them is an upper bound.",
    wrong='avg by (model) (nv_inference_request_summary_us{quantile="0.99"})',
    right='max by (model) (nv_inference_request_summary_us{quantile="0.99"})',
)
def aggregated_quantile(seen: Context) -> Iterator[Hit]:
    """Aggregations over summaries and over histogram_quantile."""
    for node in seen.aggregates("sum", "avg", "quantile"):
        shape = seen.shape(node.inner)
        if shape.kind == "quantile" and shape.triton:
            name = shape.series[0].series.name
            hint = "write max, or make quantiles of buckets"
            yield Hit(
                start=node.start, message=f"{node.op} of quantiles of {name} is not a quantile", hint=hint
            )


@check(
    "short-window",
    Severity.ERROR,
    title="A window shorter than two scrapes",
    why="`rate` needs two samples. A window below twice the scrape interval is often or always empty; four "
    "times is safe when a scrape is missed. The interval is taken for 15 s, or for the interval of the "
    "rules' group if that is shorter; `--scrape-interval` says otherwise.",
    wrong="rate(nv_inference_request_success[10s])",
    right="rate(nv_inference_request_success[1m])",
)
def short_window(seen: Context) -> Iterator[Hit]:
    """Ranges of rate and its like."""
    for one, found, call in _ranges(seen):
        if seen.expression.grafana and variable_at(seen.expression.text, one.range_start, one.range_end):
            continue
        scrape = _scrape_seconds(seen)
        scrape = max(scrape, _DCGM_SECONDS) if found.series.group == "dcgm" else scrape
        if one.seconds is not None and one.seconds < 2 * scrape:
            written = seen.expression.plain[one.range_start : one.range_end].strip()
            message = (
                f"[{written}] is shorter than two scrapes of {scrape:g} s: {call.func} finds no two samples"
            )
            yield Hit(start=one.range_start, message=message, hint=f"write at least [{_window(4 * scrape)}]")


def _ranges(seen: Context) -> Iterator[tuple[Selector, Named, Call]]:
    """Known series whose window a function reads that needs two samples, with both."""
    for one, found, above in seen.read:
        call = above[-1] if above else None
        if isinstance(call, Call) and call.func in _TWO_SAMPLES:
            yield one, found, call


def _scrape_seconds(seen: Context) -> float:
    """The scrape interval; rules that are evaluated more often say that scrapes are as frequent."""
    return min(seen.settings.scrape_seconds, seconds_of(seen.expression.settings.get("interval", "")))


def _window(seconds: float) -> str:
    return f"{seconds / 60:g}m" if seconds % 60 == 0 else f"{seconds:g}s"


@check(
    "interval-window",
    Severity.WARNING,
    title="$__interval as the window of a rate",
    why="`$__interval` is the width of a pixel: on a short time range it is less than two scrapes, and the "
    "panel is empty. `$__rate_interval` is never less than four scrapes.",
    wrong="rate(nv_inference_request_success[$__interval])",
    right="rate(nv_inference_request_success[$__rate_interval])",
    fixed=True,
)
def interval_window(seen: Context) -> Iterator[Hit]:
    """The variable of a pixel's width in rate and increase."""
    if not seen.expression.grafana:
        return
    for one, _, call in _ranges(seen):
        if variable_at(seen.expression.text, one.range_start, one.range_end) != "__interval":
            continue
        edits = (Edit(start=one.range_start, end=one.range_end, text="$__rate_interval"),)
        message = f"{call.func} over $__interval is empty where a pixel is less than two scrapes"
        yield Hit(start=one.range_start, message=message, hint="write $__rate_interval", edits=edits)


@check(
    "irate-in-alert",
    Severity.WARNING,
    title="irate in an alert, a record or a scaler",
    why="`irate` reads the last two samples only: one scrape decides whether an alert fires, and `for` "
    "begins again with each quiet one.",
    wrong="alert: sum by (model) (irate(nv_inference_request_failure[5m])) > 1",
    right="sum by (model) (rate(nv_inference_request_failure[5m])) > 1",
    fixed=True,
)
def irate_in_alert(seen: Context) -> Iterator[Hit]:
    """Where irate is more than a picture."""
    # A record that is called so is meant so.
    if seen.expression.use not in ("alert", "record", "scaler") or seen.says("irate"):
        return
    for node in seen.calls("irate"):
        if seen.found(node.args[0]):
            edits = (Edit(start=node.start, end=node.start + len("irate"), text="rate"),)
            message = "irate reads the last two samples only, so that one scrape decides"
            yield Hit(start=node.start, message=message, hint="write rate", edits=edits)
