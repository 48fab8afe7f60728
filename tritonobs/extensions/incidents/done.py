"""What was done while an incident lasted: limits that changed, versions that were loaded, silences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tritonobs import names
from tritonobs.clients.alertmanager import AlertmanagerClient, Silence
from tritonobs.clients.prometheus import PrometheusClient, Series
from tritonobs.errors import ClientError
from tritonobs.extensions.incidents.cost import LEAD_SECONDS, Action, LimitChanged, Silenced, VersionLoaded
from tritonobs.timings import promql
from tritonobs.units import format_duration, format_number, parse_moment

_STEPS = 400
_SHORTEST_STEP_SECONDS = 15.0
_MODEL = f"{names.MODEL}="
_SUBJECT = (names.MODEL, names.VERSION)


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
    before: float | None = None
    for at, value in series.points:
        if before is not None and value != before:
            yield LimitChanged(
                at=at,
                who="",
                model=series.labels.get(names.MODEL, ""),
                version=series.labels.get(names.VERSION, ""),
                old=format_number(before),
                new=format_number(value),
            )
        before = value


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
    model, version = (series.labels.get(label, "") for label in _SUBJECT)
    previous = float("-inf")
    for at, _ in series.points:
        # What holds from the first step on began before.
        if at - previous > 1.5 * step and at > start + step:
            yield VersionLoaded(at=at, model=model, version=version)
        previous = at


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
