"""Which models Prometheus has seen, for those who ask about one that is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs import names
from tritonobs.live import promql
from tritonobs.spec.words import listed, nearest, quoted

if TYPE_CHECKING:
    from tritonobs.clients.prometheus import PrometheusClient
    from tritonobs.live.snapshot import Span


def unknown_model(prometheus: PrometheusClient, span: Span, *, model: str, version: str = "") -> str:
    """What is wrong with asking about this model (or version); "" when Prometheus saw it in the span.

    Raises:
        ClientError: Prometheus did not answer.
    """
    seen = _values(prometheus, span, names.MODEL)
    if model not in seen:
        return unknown_word(model, seen, "model was seen")
    versions = _values(prometheus, span, names.VERSION, promql.one_of(names.MODEL, [model]))
    if version and version not in versions:
        return unknown_word(version, versions, f"version of {model} was seen")
    return ""


def unknown_word(word: str, seen: tuple[str, ...], what: str) -> str:
    """`no model "inspec" was seen; there are detector and inspect (did you mean inspect?)`."""
    kind, _, rest = what.partition(" ")
    hint = nearest(word, seen)
    there = f"there are {listed(seen)}" if seen else "there are none"
    return f"no {kind} {quoted(word)} {rest}; {there}" + (f" ({hint})" if hint else "")


def _values(prometheus: PrometheusClient, span: Span, label: str, *matchers: str) -> tuple[str, ...]:
    selector = promql.selector(f"__name__={promql.quoted(names.TRITON_SUCCESS)}", *matchers)
    return prometheus.label_values(label, selector, start=span.start, end=span.end)
