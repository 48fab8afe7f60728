"""Checks of alerts and autoscalers: what never fires, always fires, or is silent when it matters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tritonobs import names
from tritonobs.extensions.lint.checks.registry import Context, Hit, check
from tritonobs.extensions.lint.checks.units import compared
from tritonobs.extensions.lint.shapes import Shape
from tritonobs.extensions.lint.tree import Aggregate, Binary, Call, Node, Number, Selector, selectors, walk
from tritonobs.findings import Severity

_COMPLETED: Final = frozenset((names.TRITON_SUCCESS, names.TRITON_INFERENCES, names.TRITON_EXECUTIONS))
_ENDED: Final = frozenset((names.TRITON_SUCCESS, names.TRITON_FAILURE))
_OVERLOAD: Final = (
    r"limit|overload|capacity|too many|exceed|quota|high.{0,12}(qps|traffic|load|request)|超限|过载|限流|容量"
)


@check(
    "never-true",
    Severity.ERROR,
    title="A condition that is never or always true",
    why="No series of Triton is below 0.",
    wrong="sum by (model) (rate(nv_inference_request_success[5m])) < 0",
    right="sum by (model) (rate(nv_inference_request_success[5m])) == 0",
)
def never_true(seen: Context) -> Iterator[Hit]:
    """Comparisons with what a value cannot be."""
    for node, op, number, literal in compared(seen.tree):
        shape = seen.shape(node)
        if not shape.triton or shape.kind in ("", "presence", "number") or _subtracts(node):
            continue
        if (op == "<" and number <= 0) or (op in ("<=", "==") and number < 0):
            yield Hit(start=literal.start, message=f"the value is at least 0: {op} {number:g} is never true")
        elif op == ">=" and number <= 0 and seen.expression.use == "alert":
            yield Hit(start=literal.start, message=f"the value is at least 0: {op} {number:g} is always true")


def _subtracts(node: Node) -> bool:
    below = (one for one, _ in walk(node))
    return any(
        (isinstance(one, Binary) and one.op in ("-", "+", "*"))
        or (isinstance(one, Number) and one.value < 0)
        or (isinstance(one, Call) and one.func in ("delta", "idelta", "deriv", "predict_linear"))
        for one in below
    )


@check(
    "nan-fires",
    Severity.WARNING,
    title="An alert that fires because there is no traffic",
    why="Without traffic a ratio is 0 / 0, which is NaN. NaN differs from every number, so `!=` is "
    "true. All other comparisons are false.",
    wrong="alert: sum by (model) (rate(nv_inference_count[5m])) / sum by (model) "
    "(rate(nv_inference_exec_count[5m]))"
    " != 1",
    right="sum by (model) (rate(nv_inference_count[5m])) / sum by (model) "
    "(rate(nv_inference_exec_count[5m])) > 1",
)
def nan_fires(seen: Context) -> Iterator[Hit]:
    """`!=` behind a division of flows."""
    if seen.expression.use != "alert":
        return
    for node, op, _, literal in compared(seen.tree):
        divides = any(isinstance(one, Binary) and one.op == "/" for one, _ in walk(node))
        if op == "!=" and divides and seen.shape(node).triton:
            yield Hit(
                start=literal.start,
                message="0 / 0 without traffic is NaN, which differs from every number: != is true",
            )


@check(
    "silent-when-gone",
    Severity.WARNING,
    title="An alert below a threshold that is silent when the series is gone",
    why="A model that is unloaded, or a server that is down, has no series, and nothing is compared: "
    "the alert is silent when it matters. It needs a second one with `absent`, or a list of what should "
    "be there.",
    wrong="alert: sum by (model) (rate(nv_inference_request_success[5m])) < 1",
    right='the same, and an alert: absent_over_time(nv_inference_request_success{model="detector"}[5m])',
)
def silent_when_gone(seen: Context) -> Iterator[Hit]:
    """Alerts below a threshold, where no alert of the files asks for absent series."""
    if seen.expression.use != "alert" or seen.known.watched or seen.expression.settings.get("watched"):
        return
    if any(isinstance(one, Call) and one.func.startswith("absent") for one, _ in seen.nodes):
        return
    for node, op, number, literal in compared(seen.tree):
        if _completions(seen.shape(node)) and (op in ("<", "<=") or (op == "==" and number == 0)):
            yield Hit(
                start=literal.start,
                message="a model or server that is gone has no series: nothing is compared, and no alert "
                "fires",
                hint="add an alert with absent_over_time for each model that should be there",
            )
            return


@check(
    "absent-of-everything",
    Severity.WARNING,
    title="absent without labels",
    why="`absent` is true only when there is no series at all: with one server or model left it is "
    "silent. Series of failures stay after a model is unloaded, so they are never absent.",
    wrong="absent(nv_inference_request_success)",
    right='absent(nv_inference_request_success{model="detector"})',
)
def absent_of_everything(seen: Context) -> Iterator[Hit]:
    """`absent` of a series without conditions, and of failures."""
    if seen.expression.use == "variable":
        return
    for node in seen.calls("absent", "absent_over_time"):
        for one in selectors(node):
            found = seen.found(one)
            if not found:
                continue
            if one.name == names.TRITON_FAILURE:
                message = "failures stay after the model is unloaded: they are never absent"
                yield Hit(start=one.start, message=message, hint=f"ask for {names.TRITON_SUCCESS}")
            elif not _conditions(one) and found.series.group in ("model", "server", "cache", "trtllm"):
                message = f"absent(…) of every {one.name} is true only when no server has one"
                what = "model" if found.series.of_model else "instance"
                yield Hit(
                    start=node.start, message=message, hint=f'name what should be there: {{{what}="…"}}'
                )


def _conditions(one: Selector) -> bool:
    return any(matcher.value not in ("", ".*") for matcher in one.matchers)


@check(
    "errors-counted-as-successes",
    Severity.INFO,
    title="Errors of Python models that Triton counts as successes",
    why="From 24.06 on a Python model that returns `InferenceResponse(error=…)` counts as a success, and so "
    "do failures before the scheduler and a full queue: no series of Triton counts those. Count errors "
    "in the model, or in front of the server.",
    wrong="alert: sum by (model) (rate(nv_inference_request_success[5m]))"
    " / (sum by (model) (rate(nv_inference_request_success[5m]))"
    " + sum by (model) (rate(nv_inference_request_failure[5m]))) < 0.99",
    right="the same beside an alert on errors that the model counts itself",
)
def errors_as_successes(seen: Context) -> Iterator[Hit]:
    """Alerts on the share of failures, where the release may be 24.06 or newer."""
    use = seen.expression.use
    if use not in ("alert", "record") or not seen.settings.at_least("24.06"):
        return
    # A record serves more than alerts, unless its models are Python's.
    tops = [node for node, _, _, _ in compared(seen.tree)] if use == "alert" else [seen.tree]
    if use == "record" and "python" not in f"{seen.expression.name} {seen.expression.text}":
        return
    shapes = [seen.shape(node) for node in tops]
    if any(shape.triton and shape.kind == "share" and shape.names == _ENDED for shape in shapes):
        # A record may hold the failures.
        failures = (one.start for one, _ in seen.selectors if one.name == names.TRITON_FAILURE)
        message = (
            "error responses of Python models count as successes since 24.06, and "
            "what a full queue refuses is not counted"
        )
        yield Hit(start=next(failures, tops[0].start), message=message, hint="count errors in the model too")


@check(
    "ensemble-counted-twice",
    Severity.INFO,
    title="A total that counts an ensemble and its members",
    why="A request to an ensemble is one success of the ensemble and one of each member: the sum over all "
    "models is not a number of requests. It is a remark, because not every server has ensembles.",
    wrong="sum(rate(nv_inference_request_success[5m]))",
    right="sum by (model) (rate(nv_inference_request_success[5m]))",
)
def ensemble_twice(seen: Context) -> Iterator[Hit]:
    """Sums of requests without a model."""
    if seen.expression.use in ("variable", "scaler", "record"):
        return
    for node, above in seen.nodes:
        if (
            not isinstance(node, Aggregate)
            or node.op != "sum"
            or any(isinstance(one, Aggregate) for one in above)
        ):
            continue
        shape = seen.shape(node)
        chosen = any(_one_model(seen, one) for one in selectors(node))
        if shape.triton and shape.names <= _ENDED and shape.labels.lacks("model") and not chosen:
            message = "where there are ensembles, a request counts once for it and once for each member"
            yield Hit(
                start=node.start, message=message, hint="write sum by (model) (…), or choose the ensemble"
            )
            return


def _one_model(seen: Context, one: Selector) -> bool:
    """Whether a model, or those that a variable of Grafana holds, are chosen."""
    return any(
        matcher.name == "model" and (matcher.op == "=" or seen.fills_in(matcher)) for matcher in one.matchers
    )


@check(
    "limit-on-completions",
    Severity.WARNING,
    title="A limit, or a scaler, on what was completed",
    why="These counters rise when a request ends. A server at its limit completes no more than it can, so "
    "the rate stops below the threshold just then: the queue shows the load.",
    wrong="KEDA trigger with threshold 100: sum(rate(nv_inference_request_success[1m]))",
    right="KEDA trigger with threshold 5: sum(nv_inference_pending_request_count)",
)
def limit_on_completions(seen: Context) -> Iterator[Hit]:
    """Scalers that read completions, and alerts whose words name an overload."""
    use = seen.expression.use
    if use == "scaler":
        shapes = [seen.shape(seen.tree)]
    elif use == "alert" and seen.says(_OVERLOAD):
        shapes = [seen.shape(node) for node, op, _, _ in compared(seen.tree) if op in (">", ">=")]
    else:
        return
    if any(_completions(shape) for shape in shapes):
        yield Hit(
            start=0,
            message="a server at its limit completes no more: the rate of completions stops rising just then",
            hint="read nv_inference_pending_request_count, or the queue time of a request",
        )


def _completions(shape: Shape) -> bool:
    return shape.triton and shape.names <= _COMPLETED and shape.kind in ("rate", "increase")


@check(
    "blind-scaler",
    Severity.WARNING,
    title="An autoscaler that scales down when it sees nothing",
    why="KEDA takes an empty result for 0 unless `ignoreNullValues` is false, and `or vector(0)` says 0 "
    "when Prometheus has lost the servers: the pool shrinks while its load is unknown.",
    wrong="KEDA trigger without ignoreNullValues: sum(nv_inference_pending_request_count)",
    right='the same with ignoreNullValues: "false", and a fallback',
)
def blind_scaler(seen: Context) -> Iterator[Hit]:
    """KEDA triggers about Triton, and zeros for missing series."""
    expression = seen.expression
    if expression.use != "scaler" or not seen.read:
        return
    zero = re.search(r"\bor\s+(?:on\s*\(\s*\)\s*)?vector\s*\(\s*0\s*\)", expression.text)
    if zero:
        message = "or vector(0) scales down when the series are missing"
        yield Hit(start=zero.start(), message=message, hint="leave it out")
    elif expression.settings.get("keda") and expression.settings.get("ignoreNullValues", "true") != "false":
        message = "KEDA takes an empty result for 0: without data it scales down"
        yield Hit(start=0, message=message, hint='write ignoreNullValues: "false" and a fallback')
