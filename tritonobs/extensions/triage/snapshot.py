"""One reading of a fleet: an incident window, a baseline window, and the trends between them.

A snapshot is answers as they came, so that it can be saved, sent and judged again without the fleet. When
the incident is over, what Prometheus' API reports only for this moment is read from its history.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import Final, TypeAlias, TypeVar

from tritonobs import names
from tritonobs.clients.prometheus import FiringAlert, PrometheusClient, Reading, Series, Target
from tritonobs.clients.triton import ModelConfig, RepositoryEntry, TritonClient
from tritonobs.extensions.triage.calm import calm_baseline
from tritonobs.extensions.triage.case import FEWEST_PARTS
from tritonobs.timings import promql, questions
from tritonobs.timings.ask import Readings, Unseen, ranges
from tritonobs.timings.measured import (
    Answers,
    Timings,
    calls_question,
    pipeline_calls,
    timings_from,
    with_callees,
)
from tritonobs.timings.promql import Span, scrape_interval_seconds

Ask: TypeAlias = Callable[[promql.Scope, float], str]
"""Makes PromQL about a window of so many seconds."""
ASKS: Final[dict[str, Ask]] = {}
"""What single checks ask, by the name of the answer; `check` fills it."""
_TREND_STEPS = 360
_USUAL_STEPS = 10
_TREND_SECONDS = 6 * 3600.0
_LEAD_SECONDS = 120.0
# A rate needs two samples in its window; four scrapes have them also when some are lost.
_SCRAPES = 4
_OF_INCIDENT, _OF_BASELINE, _TREND = "question {}", "question {} of the baseline", "trend of {}"

_ALL_UP_TO = 15
_CLOSE = 5

_LATELY_SECONDS = 120.0
_LATELY_SCRAPES = 4
_STATE = "alertstate"
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What was read. `asked` is the PromQL by the name of its answer, `unseen` what could not be read.

    `trends` are numbers through both windows where they adjoin, each a mean over the `trend_seconds` before
    it; `usual` are those of the baseline's parts. `baseline_note` says why another baseline was used than the
    requested one. `called` are names of servers by the addresses, without a scheme, of their API and of
    their page.
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
    replicas: tuple[ReplicaState, ...] = ()
    unseen: tuple[Unseen, ...] = ()
    trend_seconds: float = 0.0
    baseline_note: str = ""
    called: Mapping[str, str] = field(default_factory=dict)


def take_snapshot(
    prometheus: PrometheusClient,
    replicas: Sequence[TritonClient] = (),
    *,
    incident: Span,
    baseline: Span,
    called: Mapping[str, str] | None = None,
    model: str = "",
    version: str = "",
    reach_seconds: float = 0.0,
) -> Snapshot:
    """Read everything once: first sums of all of it, then details of what changed.

    Where the time right before had problems itself, the incident begins with them, up to `reach_seconds`
    before the one that is asked about. With 0 it is taken as given, and only the baseline is another.
    Without `replicas` their part is left out.

    Raises:
        ClientError: Prometheus cannot be asked at all.
    """
    import_module("tritonobs.extensions.triage.checks")  # Fills `ASKS`, and imports this module.
    readings, named = Readings(), called or {}
    cluster = promql.Scope.asked(prometheus)
    # `readings` would only note a failure, but without Prometheus there is nothing to judge.
    calls = prometheus.query(calls_question(cluster), at=incident.end)
    wide = _about(cluster, {model} if model else (), calls)
    targets = _one(readings, "Prometheus' scrape targets", prometheus.targets)
    scrape_seconds = scrape_interval_seconds(targets)

    def answers(span: Span, called: str) -> dict[str, tuple[Reading, ...]]:
        """About all models in a window."""
        asked = _questions(wide, span.seconds, scrape_seconds)
        # Both windows are taken apart by the same calls, because their rows are compared by path.
        return _answers(prometheus, readings, span, asked, called=called) | {"calls": calls}

    now, before = answers(incident, _OF_INCIDENT), answers(baseline, _OF_BASELINE)
    close = _about(cluster, _focus(now, before, incident, baseline), calls)
    shortest = _SCRAPES * scrape_seconds
    calm = calm_baseline(prometheus, readings, incident, baseline, scope=close, shortest=shortest)
    if calm.span != baseline:
        baseline = calm.span
        if 0 < incident.start - baseline.end <= reach_seconds:
            incident, calm = Span(start=baseline.end, end=incident.end), replace(calm, note="")
            now = answers(incident, _OF_INCIDENT)
        before = answers(baseline, _OF_BASELINE)
    asked = _questions(wide, incident.seconds, scrape_seconds)
    asked_close = questions.close_questions(close, incident.seconds)
    later = _answers(prometheus, readings, incident, asked_close, called=_OF_INCIDENT)
    close_before = questions.close_questions(close, baseline.seconds)
    earlier = _answers(prometheus, readings, baseline, close_before, called=_OF_BASELINE)
    seconds = min(2 * incident.seconds + _LEAD_SECONDS, _TREND_SECONDS)
    both = Span(start=incident.end - seconds, end=incident.end)
    step = max(both.seconds / _TREND_STEPS, scrape_seconds, 1.0)
    trend_seconds = max(step, shortest)
    trend_questions = questions.trend_questions(close, trend_seconds)
    trends = readings.take(ranges(prometheus, both, step, trend_questions), called=_TREND)
    usual = _usual(prometheus, readings, baseline, close, shortest)
    if is_past(incident.end, time.time(), scrape_seconds):
        # Its API reports this moment only; so do the replicas, which are not asked.
        targets = targets_then(now.get("up", ()), targets)
        ask = partial(prometheus.query, alerts_question(cluster), at=incident.end)
        alerts = alerts_then(_one(readings, "Prometheus' alerts", ask))
        replicas = ()
    else:
        alerts = _one(readings, "Prometheus' alerts", prometheus.alerts)
    states = readings.take(
        {
            named.get(triton.address.partition("://")[2], triton.address): partial(look_at, triton)
            for triton in replicas
        },
        called="replica {}",
    )
    return Snapshot(
        model=model,
        version=version,
        incident=incident,
        baseline=baseline,
        now=now | later,
        before=before | earlier,
        trends=trends,
        asked=asked | asked_close | {_TREND.format(name): text for name, text in trend_questions.items()},
        usual=usual,
        targets=targets,
        alerts=alerts,
        replicas=tuple(states.values()),
        unseen=tuple(readings.unseen),
        trend_seconds=trend_seconds,
        baseline_note=calm.note,
        called=named,
    )


def _questions(scope: promql.Scope, window_seconds: float, scrape_seconds: float) -> dict[str, str]:
    """What is asked about all models in a window."""
    return {
        **questions.window_questions(scope, window_seconds, scrape_seconds),
        **questions.moment_questions(scope, scrape_seconds),
        **{name: ask(scope, window_seconds) for name, ask in ASKS.items()},
    }


def _one(readings: Readings, what: str, ask: Callable[[], tuple[_T, ...]]) -> tuple[_T, ...]:
    """What a single request gives; nothing where it failed."""
    return readings.take({what: ask}).get(what, ())


def _answers(
    prometheus: PrometheusClient, readings: Readings, span: Span, asked: Mapping[str, str], *, called: str
) -> dict[str, tuple[Reading, ...]]:
    """The answers about one window."""
    requests = {name: partial(prometheus.query, text, at=span.end) for name, text in asked.items()}
    return readings.take(requests, called=called)


def _usual(
    prometheus: PrometheusClient, readings: Readings, baseline: Span, scope: promql.Scope, shortest: float
) -> dict[str, tuple[Series, ...]]:
    """Numbers of the parts of the baseline, side by side and each as long as the scrapes need."""
    step = max(baseline.seconds / _USUAL_STEPS, shortest)
    parts = baseline.seconds // step
    if parts < FEWEST_PARTS:
        return {}
    # A part is read at its end, so the first moment is one step inside of the baseline.
    inside = Span(start=baseline.end - step * (parts - 1), end=baseline.end)
    asked = questions.usual_questions(scope, step)
    return readings.take(ranges(prometheus, inside, step, asked), called="usual {}")


def _focus(now: Answers, before: Answers, incident: Span, baseline: Span) -> set[str]:
    """The models to read in detail: all where there are few, else those with most trouble."""
    timings, earlier = timings_of(now, incident), timings_of(before, baseline)
    models = {model for model, _ in (*timings.subjects(), *earlier.subjects())}
    if len(models) <= _ALL_UP_TO:
        return models
    errors = defaultdict[str, float](float)
    for reading in (*now.get("stage_errors", ()), *now.get("failures", ())):
        errors[reading.labels.get(names.MODEL, "")] += reading.value
    trouble = _trouble(timings, earlier)
    worst = sorted(models, key=lambda model: -(trouble[model] + errors[model]))
    return with_callees(worst[:_CLOSE], timings.calls)


def _trouble(now: Timings, before: Timings) -> Mapping[str, float]:
    """By model, added seconds of waiting a second; a version that is gone counts as one."""
    extra = defaultdict[str, float](float)
    for subject, server in now.servers.items():
        was = before.servers.get(subject)
        if server.request is not None:
            usual = was.request if was and was.request is not None else 0.0
            extra[subject[0]] += max(0.0, server.request - usual) * server.rate
    for subject, was in before.servers.items():
        if was.rate > 0 and not now.servers.get(subject):
            extra[subject[0]] += 1.0
    return extra


def timings_of(answers: Answers, span: Span) -> Timings:
    """The answers about a window as timings."""
    return timings_from(answers, at=span.end, window_seconds=span.seconds)


def _about(cluster: promql.Scope, models: Iterable[str], calls: tuple[Reading, ...]) -> promql.Scope:
    return cluster.about(with_callees(models, pipeline_calls(calls)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaState:
    """One replica that answered; `configs` are of its ready models, if it finds them by their names."""

    address: str
    ready: bool
    entries: tuple[RepositoryEntry, ...]
    configs: tuple[ModelConfig, ...]


def look_at(triton: TritonClient) -> ReplicaState:
    """Ask a replica about itself.

    Raises:
        ClientError: it does not answer.
    """
    entries = triton.repository_index()
    serving = sorted({entry.name for entry in entries if entry.ready})
    return ReplicaState(
        address=triton.address,
        ready=triton.ready(),
        entries=entries,
        configs=tuple(triton.model_configs(serving).values()),
    )


def is_past(end: float, now: float, scrape_seconds: float) -> bool:
    """Whether a window that ends there differs from a reading now."""
    return end < now - max(_LATELY_SECONDS, _LATELY_SCRAPES * scrape_seconds)


def targets_then(up: Iterable[Reading], now: Iterable[Target]) -> tuple[Target, ...]:
    """The scrape targets of that time, by `up`. Why a scrape failed is not kept."""
    known: Mapping[tuple[str, str], Target] = {
        (target.labels.get("job", ""), target.labels.get(names.INSTANCE, "")): target for target in now
    }
    found = []
    for reading in up:
        key = (reading.labels.get("job", ""), reading.labels.get(names.INSTANCE, ""))
        still = known.get(key)
        found.append(
            Target(
                url=still.url if still else key[1],
                health="up" if reading.value else "down",
                interval=still.interval if still else "",
                labels=dict(zip(("job", names.INSTANCE), key, strict=True)),
            )
        )
    return tuple(found)


def alerts_question(scope: promql.Scope) -> str:
    """PromQL for the alerts of a moment."""
    return f"ALERTS{scope.around()}"


def alerts_then(readings: Iterable[Reading]) -> tuple[FiringAlert, ...]:
    """The alerts of that time, without the time at which they began."""
    return tuple(
        FiringAlert(
            name=reading.labels.get("alertname", ""),
            state=reading.labels.get(_STATE, ""),
            value=reading.value,
            labels={name: value for name, value in reading.labels.items() if name != _STATE},
        )
        for reading in readings
    )
