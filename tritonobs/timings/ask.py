"""Several queries at one moment, in parallel.

The models and clusters that Prometheus has seen stand in errors about an unknown one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from tritonobs import names
from tritonobs.clients.prometheus import PrometheusClient, Reading
from tritonobs.errors import ClientError
from tritonobs.spec.words import listed, nearest, quoted
from tritonobs.timings import promql
from tritonobs.timings.promql import Span

_SIDE_BY_SIDE = 6
_T = TypeVar("_T")

# Triton shows it at 0 from the load on and removes it at the unload; failures stay until a restart.
_SERVED = f"__name__={promql.quoted(names.TRITON_SUCCESS)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """What could not be read, and why."""

    what: str
    why: str


def ask_all(
    prometheus: PrometheusClient, questions: Mapping[str, str], *, at: float
) -> dict[str, tuple[Reading, ...]]:
    """The answers by the names of the questions, all for the same moment (Unix seconds).

    Raises:
        ClientError: the first question that got no answer; a part of the answers would look like the whole.
    """
    with ThreadPoolExecutor(max_workers=_SIDE_BY_SIDE) as pool:
        answers = {name: pool.submit(prometheus.query, text, at=at) for name, text in questions.items()}
        return {name: answer.result() for name, answer in answers.items()}


class Readings:
    """Requests made in parallel; failed ones are kept in `unseen` with the reason."""

    def __init__(self) -> None:
        self.unseen: list[Unseen] = []

    def take(self, requests: Mapping[str, Callable[[], _T]], *, called: str = "{}") -> dict[str, _T]:
        """The result of each request, by its name; `called` is the form of the name in `unseen`."""
        seen: dict[str, _T] = {}
        with ThreadPoolExecutor(max_workers=_SIDE_BY_SIDE) as pool:
            pending = {name: pool.submit(request) for name, request in requests.items()}
            for name, answer in pending.items():
                trouble = answer.exception()
                if isinstance(trouble, ClientError):
                    self.unseen.append(Unseen(what=called.format(name), why=str(trouble)))
                else:
                    # Any other exception is a mistake of ours, and is raised here.
                    seen[name] = answer.result()
        return seen


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
