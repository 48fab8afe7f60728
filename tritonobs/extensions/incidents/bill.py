"""What an incident cost, read from what the SLOs of its models were charged."""

from __future__ import annotations

from collections import defaultdict

from tritonobs import names
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.extensions.incidents.cost import Cost, Requests, cost
from tritonobs.extensions.incidents.incident import Incident
from tritonobs.extensions.incidents.place import Fleet
from tritonobs.plan.fleet import Plan
from tritonobs.timings import promql
from tritonobs.units import format_duration

_SHORTEST_SECONDS = 60.0
_MOST_MODELS = 50
_LABELS = (names.MODEL, names.VERSION, names.SLO)


def bill(prometheus: PrometheusClient, plan: Plan, incident: Incident, fleet: Fleet, now: float) -> Cost:
    """The bill of an incident that ended, or of one that lasts, until `now`.

    Requests that failed are what SLOs of availability were charged, late ones what SLOs of latency were, of
    models that have them. They are rounded: a gap in scrapes is charged by what the counter shows after it.

    Raises:
        ClientError: Prometheus did not answer.
    """
    models = incident.place.models[:_MOST_MODELS]
    timed = {(slo.model, slo.name): slo.threshold_seconds is not None for slo in plan.slos}
    found: dict[str, dict[bool, float]] = {}
    if any(model in models for model, _ in timed):
        scope = promql.Scope.asked(prometheus, tuple(models))
        window = format_duration(round(max(_SHORTEST_SECONDS, now - incident.since)))
        question = promql.summed(f"sum_over_time({names.SLO_BAD}{scope.of()}[{window}])", _LABELS)
        found = _charged(prometheus, question, timed)
    rows = (
        Requests(model=model, failed=round(bad.get(False, 0.0)), late=round(bad.get(True, 0.0)))
        for model, bad in found.items()
    )
    return cost(incident, now, fleet, requests=rows)


def _charged(
    prometheus: PrometheusClient, question: str, timed: dict[tuple[str, str], bool]
) -> dict[str, dict[bool, float]]:
    """By model and whether it is about time: the most that one of its SLOs was charged."""
    each: defaultdict[tuple[str, str], dict[bool, float]] = defaultdict(dict)
    for reading in prometheus.query(question):
        model, version, slo = (reading.labels.get(label, "") for label in _LABELS)
        if (model, slo) in timed:
            key = (model, slo)
            each[key][not version] = each[key].get(not version, 0.0) + max(0.0, reading.value)
    most: defaultdict[str, dict[bool, float]] = defaultdict(dict)
    for (model, slo), bad in each.items():
        # The series of the whole model counts every version once.
        counted = bad.get(True, bad.get(False, 0.0))
        late = timed[model, slo]
        most[model][late] = max(most[model].get(late, 0.0), counted)
    return dict(most)
