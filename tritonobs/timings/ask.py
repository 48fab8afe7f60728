"""Several queries at one moment, in parallel, and names that Prometheus does not know.

The models and clusters that Prometheus has seen stand in errors about an unknown one. A fleet file is
compared with what runs: models, versions and stages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from tritonobs import names
from tritonobs.clients.prometheus import PrometheusClient, Reading, Series
from tritonobs.errors import ClientError
from tritonobs.findings import Finding, Place, Severity, listed, nearest, quoted
from tritonobs.plan.fleet import Plan
from tritonobs.timings import promql
from tritonobs.timings.promql import Span
from tritonobs.units import literal

_SIDE_BY_SIDE = 6
_T = TypeVar("_T")

# Triton shows it at 0 from the load on and removes it at the unload; failures stay until a restart.
_SERVED = f"__name__={literal(names.TRITON_SUCCESS)}"


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


def ranges(
    prometheus: PrometheusClient, span: Span, step: float, questions: Mapping[str, str]
) -> dict[str, Callable[[], tuple[Series, ...]]]:
    """Requests for the answers over time, one every `step` seconds, by the names of the questions."""
    return {
        name: partial(prometheus.query_range, text, start=span.start, end=span.end, step_seconds=step)
        for name, text in questions.items()
    }


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


_ENSEMBLE = "ensemble"
_HOUR = "1h"


def unknown_names(plan: Plan, prometheus: PrometheusClient, file: str) -> Iterator[Finding]:
    """Warnings for models and versions that no server had loaded, and for calls that pipelines do not report.

    It reads the last hour, so that servers that are down now count.

    Raises:
        ClientError: Prometheus did not answer.
    """
    scope = promql.Scope(
        cluster=plan.cluster if plan.rules.cluster_label else "",
        label=plan.rules.cluster_label or names.CLUSTER,
    )
    yield from _unknown_models(plan, prometheus, scope, file)
    yield from _unknown_stages(plan, prometheus, scope, file)


def _unknown_models(
    plan: Plan, prometheus: PrometheusClient, scope: promql.Scope, file: str
) -> Iterator[Finding]:
    versions = _of_models(prometheus, f"{names.TRITON_SUCCESS}{scope.of()}", names.VERSION)
    if not versions:
        where = f" with {scope.label}={quoted(scope.cluster)}" if scope.cluster else ""
        yield _warning(
            file,
            "models",
            f"Prometheus has seen no model{where} within the hour",
            "is Triton scraped, and do its targets have that label?",
        )
        return
    for model in plan.models:
        there = versions.get(model.name)
        if there is None:
            seen = listed(sorted(versions))
            message = f"no server has loaded {quoted(model.name)} within the hour; seen: {seen}"
            yield _warning(file, f"models.{model.name}", message, nearest(model.name, sorted(versions)))
            continue
        for version in model.versions:
            if version not in there:
                message = (
                    f"no server has loaded version {quoted(version)} of {model.name} within the hour; "
                    f"seen: {listed(sorted(there))}"
                )
                yield _warning(file, f"models.{model.name}.versions.{version}", message, "")


def _unknown_stages(
    plan: Plan, prometheus: PrometheusClient, scope: promql.Scope, file: str
) -> Iterator[Finding]:
    reported = _of_models(prometheus, f"{names.STAGE_DURATION}_count{scope.of()}", names.STAGE)
    for model in plan.models:
        there = sorted(reported.get(model.name, set()) - {names.TOTAL_STAGE})
        # An ensemble runs no code, so no stage of it is ever reported.
        for call in model.calls if model.kind != _ENSEMBLE and there else ():
            if call.stage not in there:
                message = f"{model.name} reports no stage {quoted(call.stage)}; it reports {listed(there)}"
                path = f"models.{model.name}.calls.{call.stage}"
                yield _warning(file, path, message, nearest(call.stage, there))


def _of_models(prometheus: PrometheusClient, series: str, label: str) -> dict[str, set[str]]:
    """The values of a label that each model had within the hour."""
    found: dict[str, set[str]] = {}
    question = promql.summed(f"last_over_time({series}[{_HOUR}])", (names.MODEL, label))
    for reading in prometheus.query(question):
        found.setdefault(reading.labels.get(names.MODEL, ""), set()).add(reading.labels.get(label, ""))
    return found


def _warning(file: str, path: str, message: str, hint: str) -> Finding:
    return Finding(place=Place(file=file), path=path, message=message, hint=hint, severity=Severity.WARNING)
