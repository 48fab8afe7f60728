"""Checks of units: microseconds, ratios, and what a panel or an alert says about them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Final

from tritonobs.extensions.lint.checks.registry import Context, Edit, Hit, check
from tritonobs.extensions.lint.shapes import COMPARISONS, SETS, Shape
from tritonobs.extensions.lint.tree import Binary, Node, Number, Unary
from tritonobs.findings import Severity

_TIMES: Final = {"ns": 1e-9, "µs": 1e-6, "μs": 1e-6, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_SPANS: Final = {"dtdurations": 1.0, "dtdurationms": 1e-3, "clocks": 1.0, "clockms": 1e-3}
_BYTES: Final = {
    "bytes": 1.0,
    "decbytes": 1.0,
    "kbytes": 1024.0,
    "deckbytes": 1e3,
    "mbytes": 1024.0**2,
    "decmbytes": 1e6,
    "gbytes": 1024.0**3,
    "decgbytes": 1e9,
}
_RATIOS: Final = {"percentunit": 1.0, "percent": 0.01}
_WATTS: Final = {"watt": 1.0, "W": 1.0, "mwatt": 1e-3, "kwatt": 1e3}
_SCALES: Final = {"time": {**_TIMES, **_SPANS}, "bytes": _BYTES, "ratio": _RATIOS, "watt": _WATTS}
_NONE: Final = frozenset(("", "none", "short", "locale"))
_WORDS: Final = {
    1e-6: r"µs|μs|\bus\b|micro",
    1e-3: r"\bms\b|milli|毫秒",
    1.0: r"\bs\b|\bsecs?\b|\bseconds?\b|\(s\)",
}
_CALLED: Final = {1e-9: "nanoseconds", 1e-6: "microseconds", 1e-3: "milliseconds", 1.0: "seconds"}
_QUANTITY = re.compile(
    r"(?<![\w.])(\d+(?:\.\d+)?)\s*(µs|μs|us|ms|milliseconds?|s|sec|seconds?)\b", re.IGNORECASE
)
_PRINTED: Final = r"\$(?:value|values\.\w+(?:\.Value)?)\s*"
_VALUE = re.compile(
    r"\{\{\s*(?:printf\s+\"%[^\"]*f\"\s+)?"
    + _PRINTED
    + r"(?:\|\s*printf\s+\"%[^\"]*f\"\s*)?\}\}\s*(µs|us|ms|milliseconds|s\b|seconds|%)"
)
_HUMANIZED = re.compile(_PRINTED + r"\|\s*humanize(Duration|Percentage)\b")
_LASTS = re.compile(r"\b(?:for|last|past|within|every|during)\s+(?:the\s+)?$", re.IGNORECASE)
"""In front of a time that is how long something lasts."""
_BUSY: Final = (
    r"concurren|util|busy|load|satur|in.?flight|at once|in parallel|cumulative|per second|/s\b|总|并发"
)
_TIMELY: Final = r"latenc|duration|time|queue|delay|wait|compute|延迟|耗时|时间|时延"
_NEAR: Final = 1e-6
_LASTS_NEAR: Final = 20
_UNTOUCHED: Final = 80.0
"""The colour that Grafana gives every new panel, which no one chose."""
_PREFIXES: Final = 0.08


def _top(node: Node) -> Node:
    """The part that is shown or compared: the left side of comparisons and set operators, without signs."""
    while True:
        if isinstance(node, Binary) and (node.op in COMPARISONS or node.op in SETS) and not node.bool_:
            node = node.lhs if not isinstance(node.lhs, Number) else node.rhs
        elif isinstance(node, Unary):
            node = node.inner
        else:
            return node


def compared(node: Node) -> Iterator[tuple[Node, str, float, Number]]:
    """Comparisons with a number: the vector, the operator as if the vector stood left, and the number."""
    if isinstance(node, Binary):
        if node.op in SETS:
            yield from compared(node.lhs)
            if node.op in ("and", "or"):
                yield from compared(node.rhs)
        elif node.op in COMPARISONS:
            turned = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
            if isinstance(node.rhs, Number):
                yield node.lhs, node.op, node.rhs.value, node.rhs
                yield from compared(node.lhs)
            elif isinstance(node.lhs, Number):
                yield node.rhs, turned.get(node.op, node.op), node.lhs.value, node.lhs


def _is(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=_NEAR)


def _near(one: float, other: float) -> bool:
    """The same but for binary and decimal prefixes, which a reader of a graph does not see."""
    return math.isclose(one, other, rel_tol=_PREFIXES)


@check(
    "time-per-second",
    Severity.ERROR,
    title="The rate of a duration taken for a time",
    why="`rate` of a duration counter is microseconds per second: the time of all requests together, which "
    "rises with the traffic. A latency is it divided by the rate of requests.",
    wrong="sum by (model) (rate(nv_inference_request_duration_us[5m])) > 500000",
    right="sum by (model) (rate(nv_inference_request_duration_us[5m]))"
    " / sum by (model) (rate(nv_inference_request_success[5m])) > 500000",
)
def time_per_second(seen: Context) -> Iterator[Hit]:
    """Rates, and increases, of durations that are shown or compared as they are."""
    use = seen.expression.use
    if use in ("variable", "hpa") or seen.expression.settings.get("combined"):
        return
    # What is compared with 0 only says that there is traffic.
    asked = [one for one, _, number, _ in compared(seen.tree) if number != 0]
    for node in asked if use == "alert" else [_top(seen.tree)]:
        shape = seen.shape(node)
        if not shape.triton or not all(one.series.per and one.series.unit == "us" for one in shape.series):
            continue
        rate, added = shape.dimension == "time/s", shape.dimension == "time" and shape.kind == "increase"
        if not (rate or added) or seen.says(_BUSY):
            continue
        # A record's name ends with its operation, and `rate` is what it is.
        if use == "record" and seen.says(r"rate|increase|sum"):
            continue
        unit = seen.expression.unit
        if use == "panel" and not (unit in _SCALES["time"] or seen.says(_TIMELY)):
            continue
        # Seconds a second are what is in work at once (Little's law), where no one calls it a time.
        if _is(shape.factor, 1.0) and use in ("plain", "record", "alert") and not seen.says(_TIMELY):
            continue
        what = f"{_named(shape.factor)} per second" if rate else "the time of all requests added up"
        yield Hit(
            start=node.start,
            message=f"this is {what}, which rises with the traffic, and not the time of a request",
            hint="divide by the same of nv_inference_request_success",
        )


def _named(factor: float) -> str:
    return next((word for known, word in _CALLED.items() if _is(known, factor)), "time")


@check(
    "wrong-unit",
    Severity.ERROR,
    title="A panel whose unit is not the value's",
    why="Triton's durations are microseconds, its utilisation is a ratio from 0 to 1. A panel that calls "
    "microseconds milliseconds is wrong by a thousand, and one without a unit leaves it to the reader.",
    wrong="panel with unit ms: sum by (model) (rate(nv_inference_queue_duration_us[5m]))"
    " / sum by (model) (rate(nv_inference_request_success[5m]))",
    right="panel with unit µs: the same expression",
    fixed=True,
)
def wrong_unit(seen: Context) -> Iterator[Hit]:
    """Panels that show time, bytes or ratios in another unit than the expression's."""
    if seen.expression.use != "panel" or seen.expression.unit == "?":
        return
    shape = seen.shape(_top(seen.tree))
    scale = _SCALES.get(shape.dimension)
    if not shape.triton or not scale or shape.kind in ("", "counter"):
        return
    if shape.dimension == "time" and shape.kind == "increase":
        return
    unit = seen.expression.unit
    right = next((name for name, factor in scale.items() if _is(factor, shape.factor)), "")
    start = _top(seen.tree).start
    if unit in scale and not _near(scale[unit], shape.factor):
        by = scale[unit] / shape.factor
        wrong = f"off by a factor of {by:,.0f}" if by > 1 else f"off by a factor of {1 / by:,.0f}"
        # Thresholds, ends of the axis and other expressions of the panel may be written in its unit.
        alone = seen.expression.settings.get("alone") and set(seen.expression.limits) <= {_UNTOUCHED}
        certain = bool(right) and seen.expression.unit_text is not None and alone
        value = _value(shape, right)
        hint = f"the unit is {right}" if right else ""
        message = f"the value is {value}, and the panel's unit says {unit}: {wrong}"
        yield Hit(start=start, message=message, hint=hint, unit=right if certain else "")
    elif unit in _NONE and shape.dimension == "time" and right:
        if _said(seen, shape.factor):
            return
        message = f"the value is {_value(shape, right)}, and the panel has no unit"
        yield Hit(start=start, message=message, hint=f"the unit is {right}", severity=Severity.WARNING)


def _value(shape: Shape, right: str) -> str:
    if shape.dimension == "time":
        return _named(shape.factor)
    if shape.dimension == "ratio":
        return "a ratio from 0 to 1" if right == "percentunit" else "percent"
    return f"in {right}" if right else f"{shape.factor:g} {shape.dimension}"


def _said(seen: Context, factor: float) -> bool:
    pattern = next((words for known, words in _WORDS.items() if _is(known, factor)), "")
    return bool(pattern) and seen.says(pattern)


@check(
    "ratio-and-percent",
    Severity.ERROR,
    title="A ratio compared with percent, or the other way round",
    why="Triton's utilisations, and a share of requests, are between 0 and 1: `> 80` never fires. Fields of "
    "dcgm-exporter such as DCGM_FI_DEV_GPU_UTIL are percent: `> 0.8` fires nearly always.",
    wrong="nv_gpu_utilization > 80",
    right="nv_gpu_utilization > 0.8",
    fixed=True,
)
def ratio_and_percent(seen: Context) -> Iterator[Hit]:
    """Comparisons, and colours of panels, with a number of the other scale."""
    for node, op, number, literal in compared(seen.tree):
        shape = seen.shape(node)
        if not _bounded(shape):
            continue
        most = 1 / shape.factor
        if number > most * (1 + _NEAR) and number <= 100 * most and _is(shape.factor, 1.0):
            right = f"{number / 100:g}"
            verb = "never" if op in (">", ">=", "==") else "always"
            edits = (Edit(start=literal.start, end=literal.end, text=right),)
            message = f"the value is between 0 and 1: {op} {number:g} is {verb} true"
            yield Hit(start=literal.start, message=message, hint=f"write {right}", edits=edits)
        # A percentage of failures may well be below 1, and so may one that is idle.
        elif _is(shape.factor, 0.01) and shape.kind == "gauge" and op in (">", ">=") and 0 < number < 1:
            message = f"the value is percent, from 0 to 100, and compared with {number:g}"
            yield Hit(start=literal.start, message=message, hint=f"write {number * 100:g}")
    shape = seen.shape(_top(seen.tree))
    if seen.expression.use not in ("panel", "scaler", "hpa") or not _bounded(shape):
        return
    if _is(shape.factor, 0.01) and shape.kind == "gauge" and seen.expression.use != "panel":
        for low in (one for one in seen.expression.limits if 0 < one < 1):
            message = f"the value is percent, from 0 to 100, and the target is {low:g}"
            yield Hit(start=_top(seen.tree).start, message=message, hint=f"write {low * 100:g}")
    if not _is(shape.factor, 1.0):
        return
    high = [limit for limit in seen.expression.limits if limit > 1]
    if high and not (seen.expression.use == "panel" and high == [_UNTOUCHED]):
        where = "a colour of the panel" if seen.expression.use == "panel" else "the target"
        message = f"the value is between 0 and 1, and {where} begins at {high[0]:g}"
        yield Hit(start=_top(seen.tree).start, message=message, hint=f"write {high[0] / 100:g}")


def _bounded(shape: Shape) -> bool:
    """Whether the value is a share of a whole: a utilisation, or a part of requests over all of them."""
    if not shape.triton or shape.dimension != "ratio":
        return False
    if all(one.series.unit in ("ratio", "percent") for one in shape.series):
        return shape.kind == "gauge"
    names = [one.series.name for one in shape.series]
    if shape.kind != "share":
        return False
    # The numerator occurs in the denominator again, or is the used part of a total.
    whole = set(names[1:])
    total = names[0].replace("_used_", "_total_")
    # Of one family alone it may be another time or window, as today's traffic over yesterday's.
    return (names[0] in whole and len(whole) > 1) or (total != names[0] and total in whole)


@check(
    "threshold-unit",
    Severity.ERROR,
    title="A threshold in another unit than the text says",
    why="The mean of a duration is microseconds unless it is divided: `> 500` is half a millisecond, and "
    "such an alert always fires. Texts that write `{{ $value }}ms` are wrong in the same way.",
    wrong="alert with the summary “latency above 500ms”: sum by (model) "
    "(rate(nv_inference_request_duration_us[5m]))"
    " / sum by (model) (rate(nv_inference_request_success[5m])) > 500",
    right="sum by (model) (rate(nv_inference_request_duration_us[5m]))"
    " / sum by (model) (rate(nv_inference_request_success[5m])) > 500000",
)
def threshold_unit(seen: Context) -> Iterator[Hit]:
    """Alerts on times whose words give the same number with another unit."""
    if seen.expression.use != "alert":
        return
    for node, _, number, literal in compared(seen.tree):
        shape = seen.shape(node)
        if not shape.triton or shape.kind not in ("mean", "quantile", "gauge", "share"):
            continue
        if shape.dimension == "time":
            yield from _timed(seen, shape, number, literal)
        elif shape.dimension == "ratio":
            yield from _shared(seen, shape, node)


def _shared(seen: Context, shape: Shape, node: Node) -> Iterator[Hit]:
    shown, made = _VALUE.search(seen.expression.words), _HUMANIZED.search(seen.expression.words)
    if shown and shown[1] == "%" and _is(shape.factor, 1.0):
        message = "the value is a ratio from 0 to 1, and the text writes % behind it"
        yield Hit(start=node.start, message=message, hint="write {{ $value | humanizePercentage }}")
    elif made and made[1] == "Percentage" and _is(shape.factor, 0.01):
        message = "the value is percent, and humanizePercentage multiplies it by 100 once more"
        yield Hit(start=node.start, message=message, hint="write {{ $value }}%")


def _timed(seen: Context, shape: Shape, number: float, literal: Number) -> Iterator[Hit]:
    words = seen.expression.words
    said = [
        (found[0], float(found[1]) * _factor(found[2]))
        for found in _QUANTITY.finditer(words)
        if not _LASTS.search(words, max(0, found.start() - _LASTS_NEAR), found.start())
    ]
    # One that agrees is the threshold, and others are something else.
    if not any(_is(seconds, number * shape.factor) for _, seconds in said):
        for text, seconds in said:
            if any(_is(seconds, number * factor) for factor in _WORDS):
                message = f"the value is {_named(shape.factor)}, and the text says {text}"
                yield Hit(start=literal.start, message=message, hint=f"write {seconds / shape.factor:.10g}")
                return
    made = _HUMANIZED.search(words)
    if made and made[1] == "Duration" and not _is(shape.factor, 1.0):
        message = f"the value is {_named(shape.factor)}, and humanizeDuration takes it for seconds"
        yield Hit(start=literal.start, message=message, hint="divide the expression, and its threshold")
        return
    shown = _VALUE.search(seen.expression.words)
    if shown and shown[1] != "%" and not _is(_factor(shown[1]), shape.factor):
        message = f"the value is {_named(shape.factor)}, and the text writes {shown[1]} behind it"
        yield Hit(start=literal.start, message=message)
        return
    if 0 < number * shape.factor < 1e-4 and not _said(seen, shape.factor):  # noqa: PLR2004 (a tenth of a millisecond)
        message = (
            f"the value is {_named(shape.factor)}: {number:g} of them are {number * shape.factor * 1e3:g} ms"
        )
        yield Hit(start=literal.start, message=message)


def _factor(word: str) -> float:
    low = word.lower()
    if low.startswith(("ms", "milli")):
        return 1e-3
    return 1e-6 if low.startswith(("us", "µs", "μs")) else 1.0
