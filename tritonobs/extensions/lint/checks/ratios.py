"""Checks of ratios: averages of averages, denominators, guards, joins and models that are mixed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from tritonobs import names
from tritonobs.extensions.lint.checks.registry import Context, Edit, Hit, check
from tritonobs.extensions.lint.checks.units import compared
from tritonobs.extensions.lint.expression import is_variable
from tritonobs.extensions.lint.shapes import ARITHMETIC, COMPARISONS, SETS, Labels, Shape
from tritonobs.extensions.lint.tree import (
    Aggregate,
    Binary,
    Call,
    Node,
    Number,
    Selector,
    Subquery,
    Unary,
    is_scalar,
    selectors,
    walk,
)
from tritonobs.findings import Severity

_SUCCESS: Final = names.TRITON_SUCCESS
_FAILURE: Final = names.TRITON_FAILURE
_COUNT: Final = names.TRITON_INFERENCES
_EXECUTIONS: Final = names.TRITON_EXECUTIONS
_HITS: Final = names.TRITON_CACHE_HITS
_MISSES: Final = names.TRITON_CACHE_MISSES
_DURATIONS: Final = frozenset(
    (
        names.TRITON_REQUEST_US,
        names.TRITON_QUEUE_US,
        names.TRITON_COMPUTE_INPUT_US,
        names.TRITON_COMPUTE_INFER_US,
        names.TRITON_COMPUTE_OUTPUT_US,
    )
)
_OF_DURATIONS: Final = {
    frozenset((_EXECUTIONS,)): "durations are per request, and an execution may hold many",
    frozenset((_COUNT,)): f"durations are per request, and {_COUNT} counts the items of batches",
    frozenset(
        (_SUCCESS, _FAILURE)
    ): "only successful requests have a duration: failures make the mean too small",
    frozenset((_FAILURE,)): "only successful requests have a duration",
}
_TOGETHER: Final = "divide by successes and failures together"
_OTHERS: Final = {
    (frozenset(above), frozenset(below)): (reason, hint)
    for above, below, reason, hint in (
        ((_FAILURE,), (_SUCCESS,), "failures over successes is not a share of requests", _TOGETHER),
        ((_FAILURE,), (_COUNT,), "requests fail, not inferences", _TOGETHER),
        ((_FAILURE,), (_EXECUTIONS,), "requests fail, not executions", _TOGETHER),
        ((_FAILURE,), (_COUNT, _FAILURE), "requests fail, not inferences", _TOGETHER),
        ((_FAILURE,), (_EXECUTIONS, _FAILURE), "requests fail, not executions", _TOGETHER),
        ((_SUCCESS,), (_COUNT, _FAILURE), "requests succeed, not inferences", _TOGETHER),
        ((_SUCCESS,), (_EXECUTIONS, _FAILURE), "requests succeed, not executions", _TOGETHER),
        ((_HITS,), (_MISSES,), "hits over misses is not a hit ratio", "divide by hits and misses together"),
        ((_HITS,), (_COUNT,), "inferences leave out cache hits", "divide by hits and misses together"),
        ((_HITS,), (_EXECUTIONS,), "executions leave out cache hits", "divide by hits and misses together"),
    )
}
_SUBJECT: Final = frozenset(("model", "version", "gpu_uuid"))
_TRITONS: Final = frozenset((*_SUBJECT, "reason", "le", "quantile"))
_TINY: Final = 1e-6
"""A guard that no real rate is near: it only makes 0 of what is not a number."""
_UNGUARDED: Final = "leave it out: 0 / 0 is not a number, which is not drawn and fires no alert"
_FLOWING: Final = frozenset(("rate", "increase", "counter"))


def _inside(node: Node) -> Iterator[Node]:
    """The node, and below it everything that only scales, names or filters."""
    yield node
    if isinstance(node, Unary):
        yield from _inside(node.inner)
    elif isinstance(node, Binary) and (
        node.op in COMPARISONS or node.op in ("*", "/", "+", "-", "and", "unless", "or")
    ):
        if isinstance(node.rhs, Number) or node.op not in ARITHMETIC:
            yield from _inside(node.lhs)
        elif isinstance(node.lhs, Number):
            yield from _inside(node.rhs)
    elif isinstance(node, Call) and node.func.startswith(
        ("label_", "clamp", "sort", "round", "abs", "ceil", "floor")
    ):
        yield from _inside(node.args[0])


def _flow(shape: Shape) -> bool:
    return shape.counted and shape.kind in _FLOWING


@check(
    "average-of-averages",
    Severity.ERROR,
    title="A ratio before the sum",
    why="A mean of means weighs a server with one request as one with a thousand. Add up numerator and "
    "denominator first, then divide.",
    wrong="avg by (model) (rate(nv_inference_request_duration_us[5m]) / "
    "rate(nv_inference_request_success[5m]))",
    right="sum by (model) (rate(nv_inference_request_duration_us[5m]))"
    " / sum by (model) (rate(nv_inference_request_success[5m]))",
)
def average_of_averages(seen: Context) -> Iterator[Hit]:
    """Sums and averages, over series or over time, of a ratio of counters."""
    ratios = [
        node for node, lhs, rhs in seen.divisions() if _flow(lhs) and _flow(rhs) and lhs.names != rhs.names
    ]
    for node, _ in seen.nodes:
        if isinstance(node, Aggregate) and node.op in ("sum", "avg"):
            inner, word, hint = node.inner, node.op, "write sum(…) / sum(…)"
        elif isinstance(node, Call) and node.func == "avg_over_time" and isinstance(node.args[0], Subquery):
            inner, word, hint = node.args[0].inner, node.func, "divide two increases over the window"
        else:
            continue
        below = list(_inside(inner))
        # A record may hold the ratio.
        recorded = any(
            isinstance(one, Selector) and not seen.found(one) and seen.shape(one).kind in ("mean", "share")
            for one in below
        )
        if recorded or any(one is ratio for one in below for ratio in ratios):
            message = f"{word} of a ratio weighs one request of a quiet series as a thousand of a busy one"
            yield Hit(start=node.start, message=message, hint=hint)


@check(
    "wrong-denominator",
    Severity.ERROR,
    title="Divided by the wrong count",
    why="Durations are charged to each successful request: an execution of a batch of 8 adds its time 8 "
    "times, and an inference is an item of a batch. Failures over successes are not a share of requests, "
    "and cache hits over misses not a hit ratio.",
    wrong="sum by (model) (rate(nv_inference_request_duration_us[5m]))"
    " / sum by (model) (rate(nv_inference_exec_count[5m]))",
    right="sum by (model) (rate(nv_inference_request_duration_us[5m]))"
    " / sum by (model) (rate(nv_inference_request_success[5m]))",
)
def wrong_denominator(seen: Context) -> Iterator[Hit]:
    """Ratios of counters that do not belong together."""
    for node, lhs, rhs in seen.divisions():
        if lhs.foreign or rhs.foreign:
            continue
        batch = seen.says(r"batch") and not seen.says("efficien")
        found = _judged(lhs.names, rhs.names, says_batch=batch)
        if found:
            yield Hit(start=node.rhs.start, message=found[0], hint=found[1])


def _judged(above: frozenset[str], below: frozenset[str], *, says_batch: bool) -> tuple[str, str] | None:
    """What is wrong with families over others, and what to write; None for what may be right."""
    if above and above <= _DURATIONS:
        reason = _OF_DURATIONS.get(below, "")
        return (reason, f"divide by {_SUCCESS}") if reason else None
    upside_down = (_EXECUTIONS, _SUCCESS), (_EXECUTIONS, _COUNT), (_SUCCESS, _COUNT)
    if says_batch and any(above == {one} and below == {other} for one, other in upside_down):
        return "upside down: this is at most 1", f"the mean batch is {_COUNT} over {_EXECUTIONS}"
    return _OTHERS.get((above, below))


@check(
    "rate-over-increase",
    Severity.ERROR,
    title="A rate divided by an increase",
    why="One side is per second and the other a count over the window: the result is too small by the "
    "window.",
    wrong="rate(nv_inference_request_duration_us[1m]) / increase(nv_inference_request_success[1m])",
    right="rate(nv_inference_request_duration_us[1m]) / rate(nv_inference_request_success[1m])",
)
def rate_over_increase(seen: Context) -> Iterator[Hit]:
    """Divisions of flows of which one is per second."""
    for node, lhs, rhs in seen.divisions():
        if {lhs.kind, rhs.kind} == {"rate", "increase"} and _flow(lhs) and _flow(rhs):
            message = "one side is per second, and the other is a count over the window"
            yield Hit(start=node.op_start, message=message, hint="take rate, or increase, on both sides")


@check(
    "inferences-as-requests",
    Severity.WARNING,
    title="Inferences or executions shown as requests",
    why="`nv_inference_count` counts the items of batches, and `nv_inference_exec_count` the batches that "
    "ran: neither is a number of requests, and both leave out cache hits.",
    wrong="panel with unit reqps: sum by (model) (rate(nv_inference_count[5m]))",
    right="panel with unit reqps: sum by (model) (rate(nv_inference_request_success[5m]))",
)
def inferences_as_requests(seen: Context) -> Iterator[Hit]:
    """Rates of other counts where a unit or a title says requests."""
    shape = seen.shape(seen.tree)
    if not shape.triton or not shape.names <= {_COUNT, _EXECUTIONS} or shape.kind not in ("rate", "increase"):
        return
    said = seen.expression.unit == "reqps" or seen.says(r"\brequests?\b|\b[rq]ps\b|请求")
    if said and not seen.says(r"infer|execution|batch|item|image|sample|推理|per request"):
        name = next(iter(shape.names))
        what = "items of batches" if name == _COUNT else "batches that ran"
        yield Hit(
            start=seen.selectors[0][0].start,
            message=f"{name} counts {what}, not requests",
            hint=f"read {_SUCCESS}",
        )


@check(
    "guarded-denominator",
    Severity.WARNING,
    title="A guard against division by zero that changes the result",
    why="`1 +` or `clamp_min(…, 1)` makes every mean too small when there are few requests: at one in ten "
    "seconds it is a tenth or less. PromQL gives NaN for 0 / 0, which a panel does not draw and which "
    "is neither above nor below any threshold. Where a sum or an average comes after the division, add "
    "up first. A guard of a millionth or less changes no real value, but makes 0 of a time without traffic: "
    "it is found where an alert then fires.",
    wrong="sum by (model) (rate(nv_inference_queue_duration_us[5m]))"
    " / (1 + sum by (model) (rate(nv_inference_request_success[5m])))",
    right="sum by (model) (rate(nv_inference_queue_duration_us[5m]))"
    " / (sum by (model) (rate(nv_inference_request_success[5m])))",
    fixed=True,
)
def guarded_denominator(seen: Context) -> Iterator[Hit]:
    """Denominators with a number added or a lower bound."""
    for node, above in seen.nodes:
        if not isinstance(node, Binary) or node.op != "/":
            continue
        # One series that is not a number spoils a sum or an average of all, and a scaler has no use for it.
        summed = any(isinstance(one, Aggregate) and one.op not in ("max", "min", "topk") for one in above)
        certain = not summed and seen.expression.use != "scaler"
        for hit, value in _guards(seen, node.rhs):
            told = hit if certain else replace(hit, edits=(), hint="add up each side first, and leave it out")
            if value > _TINY:
                yield told
            elif _fires_at_zero(seen, node):
                message = "the guard makes 0 of a time without traffic, and the alert fires"
                yield replace(told, message=message)


def _fires_at_zero(seen: Context, ratio: Node) -> bool:
    """Whether an alert asks for less than a number of this ratio."""
    if seen.expression.use != "alert":
        return False
    return any(
        op in ("<", "<=") and number > 0 and any(one is ratio for one, _ in walk(node))
        for node, op, number, _ in compared(seen.tree)
    )


def _guards(seen: Context, below: Node) -> Iterator[tuple[Hit, float]]:
    """Each guard, and the number that it puts below the line."""
    if isinstance(below, Call) and below.func == "clamp_min" and seen.shape(below.args[0]).counted:
        yield _clamped(seen, below)
    elif isinstance(below, Aggregate):
        yield from _guards(seen, below.inner)
    elif isinstance(below, Binary):
        number = next((one for one in (below.lhs, below.rhs) if isinstance(one, Number)), None)
        if below.op == "+" and number and number.value > 0 and seen.shape(below).counted:
            yield _added(seen, below, number)
        elif below.op == "or" and not list(selectors(below.rhs)) and seen.shape(below.lhs).counted:
            message = "or vector(…) in the denominator invents a request where there is none"
            yield Hit(start=below.op_start, message=message, hint=_UNGUARDED), 1.0
        elif below.op in ("+", "*", "/"):
            for one in (below.lhs, below.rhs):
                yield from _guards(seen, one)


def _added(seen: Context, below: Binary, number: Number) -> tuple[Hit, float]:
    text = seen.expression.text
    if number is below.lhs:
        rest = text[below.op_end :]
        edit = Edit(start=number.start, end=below.op_end + len(rest) - len(rest.lstrip()), text="")
    else:
        edit = Edit(start=len(text[: below.op_start].rstrip()), end=number.end, text="")
    return _guard(number.start, f"{number.value:g} +", (edit,)), _weight(seen, below, number.value)


def _clamped(seen: Context, below: Call) -> tuple[Hit, float]:
    bound = below.args[1]
    comma = seen.expression.text.rfind(",", below.args[0].end, bound.start)
    edits = (
        Edit(start=below.start, end=below.start + len("clamp_min"), text=""),
        Edit(start=comma, end=bound.end, text=""),
    )
    value = bound.value if isinstance(bound, Number) else 1.0
    return _guard(below.start, "clamp_min", edits if comma > 0 else ()), _weight(seen, below.args[0], value)


def _weight(seen: Context, guarded: Node, number: float) -> float:
    """The number beside a count, or in seconds beside a time: a microsecond a second is next to nothing."""
    shape = seen.shape(guarded)
    return number * shape.factor if shape.dimension.startswith("time") else number


def _guard(start: int, what: str, edits: tuple[Edit, ...]) -> Hit:
    message = f"{what} in the denominator makes the result too small at low traffic"
    return Hit(start=start, message=message, hint=_UNGUARDED, edits=edits)


@check(
    "unmatched-join",
    Severity.ERROR,
    title="Two sides that do not match",
    why="Operators join series whose labels are equal. `nv_inference_request_failure` has a label `reason` "
    "more (since 24.07), so that without `sum` it matches no other series and the result is empty.",
    wrong="rate(nv_inference_request_failure[5m]) / (rate(nv_inference_request_success[5m])"
    " + rate(nv_inference_request_failure[5m]))",
    right="sum by (model, version) (rate(nv_inference_request_failure[5m]))"
    " / (sum by (model, version) (rate(nv_inference_request_success[5m]))"
    " + sum by (model, version) (rate(nv_inference_request_failure[5m])))",
)
def unmatched_join(seen: Context) -> Iterator[Hit]:
    """Operators between vectors whose labels cannot be equal."""
    for node, _ in seen.nodes:
        if not isinstance(node, Binary) or node.op == "or" or node.group:
            continue
        lhs, rhs = seen.shape(node.lhs), seen.shape(node.rhs)
        if not lhs.triton or not rhs.triton or "presence" in (lhs.kind, rhs.kind):
            continue
        if is_scalar(node.lhs) or is_scalar(node.rhs):
            continue
        message = _mismatch(node, lhs.labels, rhs.labels)
        if message:
            yield Hit(
                start=node.op_start, message=message, hint="write sum by (model, version) (…) on both sides"
            )


def _mismatch(node: Binary, left: Labels, right: Labels) -> str:
    """Why the sides never match, or nothing."""
    given = frozenset(node.matching or ())
    if not left.known or not right.known or any(map(is_variable, given)):
        return ""
    if unlike := _unlike(left.fixed, right.fixed, given, on=node.on):
        return f"{unlike} has another value on each side: nothing matches"
    if node.on:
        differ = (_kept(left, given) ^ _kept(right, given)) & _SUBJECT
    elif left.exact and right.exact:
        differ = (left.names ^ right.names) - given
        # A side that is kept as it is may have any labels.
        if node.op in SETS and not differ & _TRITONS:
            return ""
    elif left.exact or right.exact:
        some, every = (left, right) if left.exact else (right, left)
        # Every scrape adds `instance`.
        differ = ((every.own & _SUBJECT) | ({"instance"} - every.lost)) - some.names - given
    else:
        differ = (left.own ^ right.own) - given
    if differ:
        return f"{', '.join(sorted(differ))} is only on one side: nothing matches"
    many = left.own - given - _SUBJECT
    one = not right.own - given - _SUBJECT
    if node.on and node.op not in SETS and many and one and not left.exact:
        return f"the left has several series for each of the right: {', '.join(sorted(many))} differs"
    return ""


def _unlike(
    left: frozenset[tuple[str, str]], right: frozenset[tuple[str, str]], given: frozenset[str], *, on: bool
) -> str:
    """A label that both sides are joined by and that never is the same, or nothing."""
    there = dict(right)
    return next(
        (name for name, value in sorted(left) if (name in given) == on and there.get(name, value) != value),
        "",
    )


def _kept(labels: Labels, given: frozenset[str]) -> frozenset[str]:
    if labels.exact:
        return given & labels.names
    return frozenset(one for one in given if one in labels.own or one not in _SUBJECT)


@check(
    "mixed-models",
    Severity.WARNING,
    title="A mean over different models",
    why="Without `model` a mean mixes models of milliseconds with models of seconds, and an ensemble with "
    "its own members: it moves with the traffic, not with the time. `version` without `model` mixes "
    "unrelated models.",
    wrong="sum(rate(nv_inference_request_duration_us[5m])) / sum(rate(nv_inference_request_success[5m]))",
    right="sum by (model, version) (rate(nv_inference_request_duration_us[5m]))"
    " / sum by (model, version) (rate(nv_inference_request_success[5m]))",
)
def mixed_models(seen: Context) -> Iterator[Hit]:
    """Means of durations whose sides have lost `model`."""
    for node, lhs, rhs in seen.divisions():
        if not lhs.triton or not _flow(rhs):
            continue
        # A share of failures over everything is of use on a board; an alert on it misses a small model.
        failures = lhs.names == {_FAILURE} and seen.expression.use == "alert"
        if not lhs.names <= _DURATIONS and not failures:
            continue
        if lhs.labels.lacks("model") and not any(_chosen(one) for one in selectors(node.lhs)):
            yield Hit(
                start=node.start,
                message="the mean mixes all models, and ensembles with their members",
                hint="write sum by (model, version) (…) on both sides",
            )


def _chosen(one: Selector) -> bool:
    return any(matcher.name == "model" and matcher.value not in ("", ".*", ".+") for matcher in one.matchers)
