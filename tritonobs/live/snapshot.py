"""One reading of a fleet: an incident window, a baseline window, and how numbers moved between them.

A snapshot is answers as they came, so that it can be saved, sent and judged again without the fleet.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from tritonobs import names
from tritonobs.live import promql, questions
from tritonobs.live.ask import Looks, Unseen
from tritonobs.live.focus import focus_models
from tritonobs.live.replicas import look_at
from tritonobs.live.timings import pipeline_calls, timings_from, with_callees
from tritonobs.live.usual import FEWEST_PARTS
from tritonobs.units import parse_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tritonobs.clients.alertmanager import AlertmanagerClient, Silence
    from tritonobs.clients.prometheus import FiringAlert, PrometheusClient, Reading, Series, Target
    from tritonobs.clients.triton import TritonClient
    from tritonobs.live.replicas import ReplicaState
    from tritonobs.live.timings import Answers

_TREND_STEPS = 90
_USUAL_STEPS = 10
_TREND_SECONDS = 6 * 3600.0
_SCRAPES = 4
_UNKNOWN_INTERVAL_SECONDS = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """From `start` to `end`, Unix seconds."""

    start: float
    end: float

    @property
    def seconds(self) -> float:
        """How long it is."""
        return self.end - self.start


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Who can be asked; without Alertmanager or replicas their part is not looked at, and not missed."""

    prometheus: PrometheusClient
    alertmanager: AlertmanagerClient | None = None
    replicas: tuple[TritonClient, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What was seen. `asked` is the PromQL by the name of its answer, `unseen` what should have been seen.

    `trends` are numbers through both windows where they adjoin, `usual` those of the baseline's parts.
    """

    model: str
    version: str
    incident: Span
    baseline: Span
    now: Mapping[str, tuple[Reading, ...]]
    before: Mapping[str, tuple[Reading, ...]]
    trends: Mapping[str, tuple[Series, ...]]
    asked: Mapping[str, str]
    usual: Mapping[str, tuple[Series, ...]] = field(default_factory=dict)
    targets: tuple[Target, ...] = ()
    alerts: tuple[FiringAlert, ...] = ()
    silences: tuple[Silence, ...] = ()
    replicas: tuple[ReplicaState, ...] = ()
    unseen: tuple[Unseen, ...] = ()


def take_snapshot(
    sources: Sources, *, incident: Span, baseline: Span, model: str = "", version: str = ""
) -> Snapshot:
    """Look at everything once; first at all of it by sums, then closely at what changed.

    Raises:
        ClientError: Prometheus cannot be asked at all.
    """
    prometheus, looks = sources.prometheus, Looks()
    calls = prometheus.query(names.PIPELINE_CALLS, at=incident.end)
    wide = _chosen({model} if model else (), calls)
    targets = looks.take({"Prometheus' scrape targets": prometheus.targets})
    now, before, asked = _both(prometheus, looks, incident, baseline, wide)
    now["calls"] = before["calls"] = calls
    close = _chosen(_focus(now, before, incident, baseline), calls)
    later, earlier, asked_close = _both(prometheus, looks, incident, baseline, close, close=True)
    found_targets = next(iter(targets.values()), ())
    seconds = min(incident.seconds + max(incident.seconds, baseline.seconds), _TREND_SECONDS)
    story = Span(start=incident.end - seconds, end=incident.end)
    shortest = _SCRAPES * _scrape_interval_seconds(found_targets)
    trends, asked_trends = _trends(prometheus, looks, story, close, shortest)
    usual = _usual(prometheus, looks, baseline, close, shortest)
    alerts = looks.take({"Prometheus' alerts": prometheus.alerts})
    silences = looks.take({"Alertmanager": sources.alertmanager.silences} if sources.alertmanager else {})
    replicas = looks.take(
        {f"replica {triton.address}": partial(look_at, triton) for triton in sources.replicas}
    )
    return Snapshot(
        model=model,
        version=version,
        incident=incident,
        baseline=baseline,
        now=now | later,
        before=before | earlier,
        trends=trends,
        asked=asked | asked_close | asked_trends,
        usual=usual,
        targets=found_targets,
        alerts=next(iter(alerts.values()), ()),
        silences=next(iter(silences.values()), ()),
        replicas=tuple(replicas.values()),
        unseen=tuple(looks.unseen),
    )


def _both(
    prometheus: PrometheusClient,
    looks: Looks,
    incident: Span,
    baseline: Span,
    chosen: str,
    *,
    close: bool = False,
) -> tuple[dict[str, tuple[Reading, ...]], dict[str, tuple[Reading, ...]], dict[str, str]]:
    """The answers of the incident, those of the baseline, and what was asked about the incident."""

    def texts(span: Span) -> dict[str, str]:
        if close:
            return questions.close_questions(chosen, span.seconds)
        return questions.window_questions(chosen, span.seconds) | questions.moment_questions(chosen)

    asked = texts(incident)
    sides = {"": (asked, incident.end), " of the baseline": (texts(baseline), baseline.end)}
    answers = looks.take(
        {
            f"question {name}{side}": partial(prometheus.query, text, at=end)
            for side, (asks, end) in sides.items()
            for name, text in asks.items()
        }
    )
    now, before = (
        {name: answers[f"question {name}{side}"] for name in asked if f"question {name}{side}" in answers}
        for side in sides
    )
    return now, before, asked


def _trends(
    prometheus: PrometheusClient, looks: Looks, span: Span, chosen: str, shortest: float
) -> tuple[dict[str, tuple[Series, ...]], dict[str, str]]:
    """Numbers over a span, as fine as the scrapes allow."""
    step = max(span.seconds / _TREND_STEPS, 1.0)
    asked = questions.trend_questions(chosen, max(step, shortest))
    named = {f"trend of {name}": text for name, text in asked.items()}
    seen = looks.take(_ranges(prometheus, span, step, named))
    return {name: seen[f"trend of {name}"] for name in asked if f"trend of {name}" in seen}, named


def _usual(
    prometheus: PrometheusClient, looks: Looks, baseline: Span, chosen: str, shortest: float
) -> dict[str, tuple[Series, ...]]:
    """Numbers of the parts of the baseline, side by side and each as long as the scrapes need."""
    step = max(baseline.seconds / _USUAL_STEPS, shortest)
    parts = baseline.seconds // step
    if parts < FEWEST_PARTS:
        return {}
    inside = Span(start=baseline.end - step * (parts - 1), end=baseline.end)
    asked = questions.usual_questions(chosen, step)
    seen = looks.take(_ranges(prometheus, inside, step, {f"usual {name}": asked[name] for name in asked}))
    return {name: seen[f"usual {name}"] for name in asked if f"usual {name}" in seen}


def _ranges(
    prometheus: PrometheusClient, span: Span, step: float, asked: Mapping[str, str]
) -> dict[str, Callable[[], tuple[Series, ...]]]:
    return {
        name: partial(prometheus.query_range, text, start=span.start, end=span.end, step_seconds=step)
        for name, text in asked.items()
    }


def _focus(now: Answers, before: Answers, incident: Span, baseline: Span) -> set[str]:
    errors: dict[str, float] = {}
    for reading in (*now.get("stage_errors", ()), *now.get("failures", ())):
        model = reading.labels.get(names.MODEL, "")
        errors[model] = errors.get(model, 0.0) + reading.value
    return focus_models(
        timings_from(now, at=incident.end, window_seconds=incident.seconds),
        timings_from(before, at=baseline.end, window_seconds=baseline.seconds),
        errors,
    )


def _chosen(models: Iterable[str], calls: tuple[Reading, ...]) -> str:
    return promql.selector(promql.one_of(names.MODEL, with_callees(models, pipeline_calls(calls))))


def _scrape_interval_seconds(targets: tuple[Target, ...]) -> float:
    """The longest interval at which any target is scraped."""
    return max((_seconds(target.interval) for target in targets), default=_UNKNOWN_INTERVAL_SECONDS)


def _seconds(interval: str) -> float:
    """Of Prometheus' own text; older releases do not tell."""
    try:
        return float(parse_duration(interval))
    except ValueError:
        return _UNKNOWN_INTERVAL_SECONDS
