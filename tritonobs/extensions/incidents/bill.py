"""What an incident cost, read from what the SLOs of its models were charged, and what was done meanwhile."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from tritonobs import names
from tritonobs.clients.alertmanager import AlertmanagerClient, Silence
from tritonobs.clients.prometheus import PrometheusClient, Series
from tritonobs.errors import ClientError
from tritonobs.extensions.incidents.cost import (
    LEAD_SECONDS,
    Action,
    Charged,
    Cost,
    LimitChanged,
    Requests,
    Silenced,
    VersionLoaded,
    cost,
)
from tritonobs.extensions.incidents.incident import Fleet, Incident
from tritonobs.plan.fleet import Plan, Slo
from tritonobs.timings import promql
from tritonobs.timings.episodes import runs
from tritonobs.units import format_duration, format_number, parse_moment

_SHORTEST_SECONDS = 60.0
_MOST_MODELS = 50
_LABELS = (names.MODEL, names.VERSION, names.SLO)
_OLD_ENOUGH = 10
"""An SLO that has been counted for a tenth of its period has a budget that a share can be said of."""

_Subject = tuple[str, str, str]
_Amounts = Mapping[_Subject, float]
_STEPS = 400
_SHORTEST_STEP_SECONDS = 15.0
_MODEL = f"{names.MODEL}="


def bill(
    prometheus: PrometheusClient,
    plan: Plan,
    incident: Incident,
    fleet: Fleet,
    now: float,
    *,
    alertmanager: AlertmanagerClient | None = None,
) -> Cost:
    """The bill of an incident that ended, or of one that lasts, until `now`.

    Requests that failed are what SLOs of availability were charged, late ones what SLOs of latency were, of
    models that have them. They are rounded: a gap in scrapes is charged by what the counter shows after it.

    Raises:
        ClientError: Prometheus did not answer.
    """
    models = incident.place.models[:_MOST_MODELS]
    slos = {(slo.model, slo.name): slo for slo in plan.slos}
    bad: _Amounts = {}
    valid: _Amounts = {}
    if any(model in models for model, _ in slos):
        scope = promql.Scope.asked(prometheus, tuple(models))
        window = format_duration(round(max(_SHORTEST_SECONDS, now - incident.since)))
        bad = _amounts(prometheus, f"sum_over_time({names.SLO_BAD}{scope.of()}[{window}])", slos)
        valid = _amounts(prometheus, _period(scope, plan.slo_period_days), slos) if any(bad.values()) else {}
    family = {other for model in models for other in fleet.related(model)}
    end = now if incident.ended is None else incident.ended
    return cost(
        incident,
        now,
        fleet,
        requests=_requests(bad, slos),
        charged=_charged(bad, valid, slos),
        done=done(prometheus, alertmanager, sorted(family)[:_MOST_MODELS], incident.since, end),
    )


def _period(scope: promql.Scope, days: int) -> str:
    """Valid requests of the whole period, of SLOs that are old enough."""
    age = format_duration(days * 86_400 // _OLD_ENOUGH)
    return (
        f"sum_over_time({names.SLO_VALID_RARELY}{scope.of()}[{days}d])"
        f" and {names.SLO_VALID_RARELY}{scope.of()} offset {age}"
    )


def _amounts(prometheus: PrometheusClient, each: str, slos: Mapping[tuple[str, str], Slo]) -> _Amounts:
    """By model, version and SLO. The series of a whole model, where there is one, counts every version."""
    found = {}
    for reading in prometheus.query(promql.summed(each, _LABELS)):
        model, version, slo = (reading.labels.get(label, "") for label in _LABELS)
        if (model, slo) in slos:
            found[model, version, slo] = max(0.0, reading.value)
    whole = {(model, slo) for model, version, slo in found if not version}
    return {key: value for key, value in found.items() if not key[1] or (key[0], key[2]) not in whole}


def _requests(bad: _Amounts, slos: Mapping[tuple[str, str], Slo]) -> Iterable[Requests]:
    """By model, the most that one of its SLOs was charged."""
    each: defaultdict[tuple[str, str], float] = defaultdict(float)
    for (model, _, slo), value in bad.items():
        each[model, slo] += value
    most: defaultdict[str, dict[bool, float]] = defaultdict(dict)
    for (model, slo), value in each.items():
        late = slos[model, slo].threshold_seconds is not None
        most[model][late] = max(most[model].get(late, 0.0), value)
    for model, found in most.items():
        yield Requests(model=model, failed=round(found.get(False, 0.0)), late=round(found.get(True, 0.0)))


def _charged(bad: _Amounts, valid: _Amounts, slos: Mapping[tuple[str, str], Slo]) -> Iterable[Charged]:
    for (model, version, slo), value in bad.items():
        yield Charged(
            model=model,
            version=version,
            slo=slo,
            objective_ratio=slos[model, slo].objective_ratio,
            bad=round(value),
            period_valid=valid.get((model, version, slo)),
        )


def done(
    prometheus: PrometheusClient,
    alertmanager: AlertmanagerClient | None,
    models: Iterable[str],
    since: float,
    end: float,
) -> tuple[Action, ...]:
    """What was done about these models (none: about all) from shortly before `since` until `end`.

    Raises:
        ClientError: Prometheus did not answer. Without Alertmanager's answer there are no silences.
    """
    scope = promql.Scope.asked(prometheus, tuple(models))
    start = since - LEAD_SECONDS
    step = max(_SHORTEST_STEP_SECONDS, (end - start) / _STEPS)

    def read(expression: str) -> tuple[Series, ...]:
        return prometheus.query_range(expression, start=start, end=end, step_seconds=step)

    try:
        silences = alertmanager.silences() if alertmanager else ()
    except ClientError:
        silences = ()
    return (
        *(one for series in read(f"{names.LIMIT_HELD}{scope.of()}") for one in _limits(series)),
        *(one for series in read(_loads(scope, step)) for one in _loaded(series, step, start)),
        *(found for one in silences if (found := _silenced(one)) and start <= found.at <= end),
    )


def _limits(series: Series) -> Iterator[LimitChanged]:
    """Each step from one value to another."""
    for (_, before), (at, value) in pairwise(series.points):
        if value != before:
            yield LimitChanged(
                at=at,
                who="",
                model=series.labels.get(names.MODEL, ""),
                version=series.labels.get(names.VERSION, ""),
                old=format_number(before),
                new=format_number(value),
            )


def _loads(scope: promql.Scope, step: float) -> str:
    """Versions with workers, or requests, that were not there a step before, of models that were."""
    back = f"offset {format_duration(round(max(60.0, step)))}"
    beats, requests = (f"{name}{scope.of()}" for name in (names.HEARTBEAT, names.REQUESTS_RATE))
    return (
        f"group by (model, version) (({beats} unless {beats} {back})"
        f" and on (model) last_over_time({beats}[1h] {back}))"
        f" or group by (model, version) ({requests}) unless on (model, version) {requests} {back}"
        f" and on (model) {requests} {back}"
    )


def _loaded(series: Series, step: float, start: float) -> Iterator[VersionLoaded]:
    """The beginning of each stretch."""
    model, version = (series.labels.get(label, "") for label in promql.MODEL_VERSION)
    for stretch in runs(series.points, step):
        at = stretch[0][0]
        # What holds from the first step on began before.
        if at > start + step:
            yield VersionLoaded(at=at, model=model, version=version)


def _silenced(one: Silence) -> Silenced | None:
    """The silence, if it says when it began."""
    try:
        at, until = (parse_moment(text).timestamp() for text in (one.starts_at, one.ends_at))
    except ValueError:
        return None
    quoted = (text.removeprefix(_MODEL) for text in one.matchers if text.startswith(_MODEL))
    return Silenced(
        at=at,
        who=one.created_by,
        until=until,
        matchers=one.matchers,
        models=tuple(text.strip('"') for text in quoted),
        comment=one.comment,
    )
