"""What an incident cost, read from what the SLOs of its models were charged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from tritonobs import names
from tritonobs.clients.alertmanager import AlertmanagerClient
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.extensions.incidents.cost import Charged, Cost, Requests, cost
from tritonobs.extensions.incidents.done import done
from tritonobs.extensions.incidents.incident import Incident
from tritonobs.extensions.incidents.place import Fleet
from tritonobs.plan.fleet import Plan, Slo
from tritonobs.timings import promql
from tritonobs.units import format_duration

_SHORTEST_SECONDS = 60.0
_MOST_MODELS = 50
_LABELS = (names.MODEL, names.VERSION, names.SLO)
_OLD_ENOUGH = 10
"""An SLO that has been counted for a tenth of its period has a budget that a share can be said of."""

_Subject = tuple[str, str, str]
_Amounts = Mapping[_Subject, float]


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
