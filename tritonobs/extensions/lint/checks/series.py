"""Checks of names: series, labels and their values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tritonobs.extensions.lint.catalogue import Named, catalogue, release
from tritonobs.extensions.lint.checks.registry import Context, Edit, Hit, check
from tritonobs.extensions.lint.tree import Aggregate, Binary, Matcher, Node, Selector, children
from tritonobs.findings import Severity

_MEANT: Final = {
    "model_name": "model",
    "modelname": "model",
    "model_version": "version",
    "gpu_id": "gpu_uuid",
    "gpu_index": "gpu_uuid",
    "gpu": "gpu_uuid",
    "uuid": "gpu_uuid",
}
_OF_FAILURES: Final = frozenset(
    ("error", "error_type", "error_code", "failure_reason", "status", "status_code", "code")
)
_OWN: Final = frozenset(("model", "version", "reason", "le", "quantile", "gpu_uuid", "response_metric_type"))
INSTEAD_OF_BUCKETS: Final = "divide by the requests for a mean, or switch summary_latencies on"
"""What to read where buckets are wanted and Triton has none."""
_PLAIN = re.compile(r"[\w|.+-]+")
_TRITON: Final = frozenset(("model", "server", "cache", "trtllm"))


@check(
    "unknown-series",
    Severity.ERROR,
    title="A series that Triton does not have",
    why="The expression is always empty: a panel shows nothing, and an alert never fires. Triton's "
    "durations are counters without buckets, and its counters have no `_total`.",
    wrong="histogram_quantile(0.99, sum by (le, model) (rate(nv_inference_request_duration_us_bucket[5m])))",
    right="sum by (model, version) (rate(nv_inference_request_duration_us[5m]))"
    " / sum by (model, version) (rate(nv_inference_request_success[5m]))",
    fixed=True,
)
def unknown_series(seen: Context) -> Iterator[Hit]:
    """Names that begin as Triton's and are in no release."""
    for one, _ in seen.selectors:
        name = one.name
        if _of_vllm(one, seen):
            message = f"{name} is vLLM's own: the vLLM backend of Triton does not export it"
            yield Hit(start=one.start, message=message)
        if not name or name in seen.known.records or catalogue().find(name) or catalogue().foreign(name):
            continue
        meant = catalogue().meant(name)
        # `_total` is what client libraries append; nothing else is meant by such a name.
        certain = bool(meant.instead) and name == f"{meant.instead}_total"
        start = one.start
        edits = (Edit(start=start, end=start + len(name), text=meant.instead),) if certain else ()
        hint = f"did you mean {meant.instead}?" if meant.instead else ""
        if name.endswith("_bucket") and catalogue().find(meant.instead):
            hint = INSTEAD_OF_BUCKETS
        yield Hit(start=start, message=f"{name} does not exist: {meant.why}", hint=hint, edits=edits)


def _of_vllm(one: Selector, seen: Context) -> bool:
    """Whether a series of vLLM is read from Triton, as the job or the words say, and is not there."""
    # Records read what any engine may give.
    if (
        not one.name.startswith("vllm:")
        or seen.expression.use == "record"
        or catalogue().find(one.name)
        or one.name in seen.known.records
    ):
        return False
    return any("triton" in matcher.value for matcher in one.matchers if matcher.op in ("=", "=~"))


@check(
    "other-release",
    Severity.ERROR,
    title="A series that the release does not have",
    why="Series come and go with releases of Triton. Without `--triton-version` only those are reported "
    "that the releases of the last years no longer have.",
    wrong="rate(nv_cache_hit_lookup_duration_per_model[5m])",
    right="rate(nv_cache_hit_duration_per_model[5m])",
)
def other_release(seen: Context) -> Iterator[Hit]:
    """Series before their first or after their last release."""
    asked = seen.settings.triton_version
    for one, found, _ in seen.read:
        series = found.series
        hint = f"did you mean {series.instead}?" if series.instead else ""
        if series.until and (not asked or release(asked) > release(series.until)):
            yield Hit(
                start=one.start, message=f"{one.name} was last seen in release {series.until}", hint=hint
            )
        elif series.since and asked and release(asked) < release(series.since):
            message = f"{one.name} was added in release {series.since}; the servers have {asked}"
            yield Hit(start=one.start, message=message)


@check(
    "unknown-label",
    Severity.WARNING,
    title="A label that the series does not have",
    why="A condition on a label that is not there selects nothing; `by` of it puts everything into one "
    "series. Triton's labels are `model` and `version`, of cards `gpu_uuid`, of failures `reason`.",
    wrong='sum by (model_name) (rate(nv_inference_request_success{model_name="detector"}[5m]))',
    right='sum by (model) (rate(nv_inference_request_success{model="detector"}[5m]))',
)
def unknown_label(seen: Context) -> Iterator[Hit]:
    """Labels that are Triton's own or nearly, and not of this series."""
    for one, found, above in seen.read:
        from_vllm = found.series.group == "vllm" and seen.says(r"\btriton")
        if found.series.group not in _TRITON and not from_vllm:
            continue
        for matcher in one.matchers:
            # A condition that also takes what has no such label is true without it.
            if not _takes_none(matcher):
                yield from _lacks(one, found, matcher.name, matcher.start)
        for node in above:
            yield from _grouped(one, found, node, seen)
        if seen.expression.use == "variable" and (label := seen.expression.settings.get("label", "")):
            yield from _lacks(one, found, label, one.start)


def _grouped(one: Selector, found: Named, node: Node, seen: Context) -> Iterator[Hit]:
    if not isinstance(node, Aggregate) or node.without or not node.labels:
        return
    # Behind a join the labels may be those of the other side.
    if any(isinstance(below, Binary) and below.group for below, _ in seen.nodes):
        return
    for label in node.labels:
        yield from _lacks(one, found, label, node.start)


def _lacks(one: Selector, found: Named, label: str, start: int) -> Iterator[Hit]:
    meant = _label(found, label)
    if meant is not None:
        yield Hit(start=start, message=f"{one.name} has no label {label}", hint=meant)


def _label(found: Named, label: str) -> str | None:
    """A hint at what was meant if the series has no such label, or None if it may have it."""
    series = found.series
    if label in found.labels or label in series.optional:
        if label == "gpu_uuid" and series.of_model:
            return "it is absent for models loaded at the start; write by (model, version)"
        return None
    meant = _MEANT.get(label.lower(), "")
    if meant in found.labels:
        return f"did you mean {meant}?"
    if label in _OF_FAILURES and series.name == "nv_inference_request_failure":
        return "did you mean reason?"
    if label in _OWN or meant:
        there = ", ".join((*found.labels, *series.optional)) or "none"
        return f"its labels are: {there}"
    return None


def _takes_none(matcher: Matcher) -> bool:
    if matcher.op in ("!=", "!~"):
        return True
    if matcher.op == "=~":
        # A variable of Grafana has become a word of that length, and is `.*` when All is chosen.
        try:
            return re.fullmatch(matcher.value, "") is not None
        except (re.error, RecursionError, OverflowError):
            return True
    return matcher.value == ""


@check(
    "lost-label",
    Severity.WARNING,
    title="A legend or a text with a label that the result does not have",
    why="An aggregation keeps only the labels that it names. In a legend or an annotation any other is "
    "empty: all lines have one name, and the alert does not say which model it is about.",
    wrong="panel with the legend {{model}}: sum by (instance) (rate(nv_inference_request_success[5m]))",
    right="sum by (instance, model) (rate(nv_inference_request_success[5m]))",
)
def lost_label(seen: Context) -> Iterator[Hit]:
    """Labels of a legend, or of an alert's texts, that aggregations have removed."""
    labels = seen.shape(seen.tree).labels
    if not labels.known:
        return
    if seen.expression.use == "panel":
        named = re.findall(r"\{\{\s*(\w+)\s*\}\}", seen.expression.settings.get("legend", ""))
        where = "the legend"
    elif seen.expression.use == "alert":
        named = re.findall(r"\$labels\.(\w+)", seen.expression.words)
        where = "the text"
    else:
        return
    added = seen.expression.settings.get("adds", "").split()
    for label in dict.fromkeys(one for one in named if one not in ("__name__", *added) and labels.lacks(one)):
        message = f"{where} names {label}, which the result does not have"
        hint = "write the alert's name itself" if label == "alertname" else f"keep it: by (…, {label})"
        yield Hit(start=seen.tree.start, message=message, hint=hint)


@check(
    "unknown-label-value",
    Severity.ERROR,
    title="A label value that never occurs",
    why="The values of some labels are a fixed list, in exactly this spelling. Any other selects nothing.",
    wrong='nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="used_blocks"}',
    right='nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="used"}',
    fixed=True,
)
def unknown_value(seen: Context) -> Iterator[Hit]:
    """Conditions on labels whose values are all known."""
    for one, found, _ in seen.read:
        for matcher in one.matchers:
            values = found.series.values.get(matcher.name, ())
            if not values or matcher.op not in ("=", "=~") or seen.fills_in(matcher):
                continue
            if matcher.op == "=~" and not _PLAIN.fullmatch(matcher.value):
                continue
            wrong = [
                word for word in matcher.value.split("|") if word and word not in values and "." not in word
            ]
            if not wrong:
                continue
            near = next((value for value in values if _near(wrong[0], value)), "")
            edits: tuple[Edit, ...] = ()
            if near and matcher.op == "=":
                edits = (Edit(start=matcher.start + 1, end=matcher.end - 1, text=near),)
            message = f"{matcher.name} of {one.name} is never {wrong[0]!r}"
            hint = f"did you mean {near}?" if near else f"its values are: {', '.join(values)}"
            yield Hit(start=matcher.start, message=message, hint=hint, edits=edits)


def _near(written: str, value: str) -> bool:
    low = written.lower()
    return low in (
        value.lower(),
        f"{value}_blocks",
        f"{value}_requests",
        f"{value}s",
        f"{value}_request",
    ) or (low == "cancelled" and value == "CANCELED")


@check(
    "summed-kinds",
    Severity.ERROR,
    title="A sum over values that are not parts of one sum",
    why="TensorRT-LLM puts different numbers into one family: blocks used, free and the most there are, or "
    "requests that wait, run and may run. Their sum means nothing.",
    wrong="sum by (model) (nv_trt_llm_kv_cache_block_metrics)",
    right='sum by (model) (nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="used"})',
)
def summed_kinds(seen: Context) -> Iterator[Hit]:
    """Aggregations over the label that says what a number is."""
    for node in seen.aggregates("sum", "avg"):
        for one in _directly(node.inner):
            found = seen.found(one)
            kind = found.series.kind if found else ""
            kept = (kind in (node.labels or ())) != node.without
            if kind and not kept and not any(matcher.name == kind for matcher in one.matchers):
                message = f"{node.op} over {kind} adds up numbers of different kinds"
                yield Hit(start=node.start, message=message, hint=f'choose one: {{{kind}="…"}}')


def _directly(node: Node) -> Iterator[Selector]:
    if isinstance(node, Selector):
        yield node
    elif not isinstance(node, Aggregate):
        for below in children(node):
            yield from _directly(below)
