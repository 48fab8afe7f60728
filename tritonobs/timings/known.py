"""The models that Prometheus has seen, for errors about an unknown one."""

from __future__ import annotations

from tritonobs import names
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.spec.words import listed, nearest, quoted
from tritonobs.timings import promql
from tritonobs.timings.span import Span

# Triton shows it at 0 from the load on and removes it at the unload; failures stay until a restart.
_SERVED = f"__name__={promql.quoted(names.TRITON_SUCCESS)}"


def unknown_model(prometheus: PrometheusClient, span: Span, *, model: str, version: str = "") -> str:
    """The error for an unknown model (or version); "" when Prometheus saw it in the span.

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


def known_clusters(prometheus: PrometheusClient, span: Span) -> tuple[str, ...]:
    """The clusters with Triton servers that Prometheus saw in the span, of all clusters.

    Raises:
        ClientError: Prometheus did not answer.
    """
    everywhere = promql.Scope().of(_SERVED)
    return prometheus.label_values(prometheus.cluster_label, everywhere, start=span.start, end=span.end)


def unknown_word(word: str, seen: tuple[str, ...], what: str) -> str:
    """`no model "inspec" was seen; there are detector and inspect (did you mean inspect?)`."""
    kind, _, rest = what.partition(" ")
    hint = nearest(word, seen)
    there = f"there are {listed(seen)}" if seen else "there are none"
    return f"no {kind} {quoted(word)} {rest}; {there}" + (f" ({hint})" if hint else "")


def _values(prometheus: PrometheusClient, span: Span, label: str, *matchers: str) -> tuple[str, ...]:
    scope = promql.Scope.asked(prometheus)
    selector = scope.of(_SERVED, *matchers)
    return prometheus.label_values(label, selector, start=span.start, end=span.end)
