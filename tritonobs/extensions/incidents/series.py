"""Incidents as series of `serve`: how many go on, the sentence of each, and its alerts, for boards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from tritonobs import names
from tritonobs.escapes import shown
from tritonobs.extensions.incidents.incident import CauseKey, Incident, cause_key
from tritonobs.extensions.incidents.place import SEVERITIES

MOST_NAMED: Final = 20
"""Incidents with a series; of the others there is the number."""
MOST_ALERTS: Final = 200
"""Alerts with a series, over all incidents; boards show the others beside them."""
_LONGEST: Final = 200
_COUNTED: Final = SEVERITIES[2:]
_ROW: Final = ("alertname", names.MODEL, names.VERSION, names.STAGE, names.ROBOT)
"""What a row of the boards' panel of alerts says (`dashboards/signals/alerts.py`)."""


class IncidentSeries(Collector):
    """Bounded: one series for each of the worst incidents that go on, another one when its cause changes.

    So are those of their alerts that fire: one for each that boards show.

    The numbers in a sentence move with every look, and each would be a series: so the sentence is the first
    one of its cause.
    """

    def __init__(self) -> None:
        self._incidents: tuple[Incident, ...] = ()
        self._sentences: Mapping[str, tuple[CauseKey | None, str]] = {}

    def show(self, incidents: Iterable[Incident]) -> None:
        """From now on, those of these that go on; the worst first."""
        going_on = tuple(one for one in incidents if one.ended is None)
        self._sentences = {one.id: self._sentence(one) for one in going_on[:MOST_NAMED]}
        self._incidents = going_on

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The number by severity, always; since when each goes on, and since when its alerts fire."""
        # A thread writes the page; the event loop replaces both as a whole.
        incidents, sentences = self._incidents, self._sentences
        count = GaugeMetricFamily(names.INCIDENTS, "Incidents that go on.", labels=("severity",))
        for severity in _COUNTED:
            count.add_metric((severity,), sum(one.now == severity for one in incidents))
        yield count
        since = GaugeMetricFamily(
            names.INCIDENT_SINCE,
            "When the trouble of an incident that goes on began.",
            labels=("incident", "severity", "sentence"),
        )
        for one in incidents:
            if one.id in sentences:
                since.add_metric((one.id, one.now, sentences[one.id][1]), one.since)
        yield since
        alerts = GaugeMetricFamily(
            names.INCIDENT_ALERT_SINCE,
            "When an alert began that fires, of an incident that goes on.",
            labels=("incident", *_ROW),
        )
        rows: dict[tuple[str, ...], float] = {}
        for one in incidents:
            for row, at in _rows(one) if one.id in sentences else ():
                rows.setdefault(row, at)
        for row, at in islice(rows.items(), MOST_ALERTS):
            alerts.add_metric(row, at)
        yield alerts

    def _sentence(self, one: Incident) -> tuple[CauseKey | None, str]:
        key = cause_key(one.cause) if one.cause else None
        known = self._sentences.get(one.id)
        if known and known[0] == key:
            return known
        place = ", ".join((*one.place.models, *one.place.replicas, *one.place.areas)[:3])
        return key, shown(one.cause.sentence if one.cause else place)[:_LONGEST]


def _rows(one: Incident) -> Iterator[tuple[tuple[str, ...], float]]:
    """What boards show of its alerts that fire, and since when; those that began first are the first."""
    for alert in one.alerts:
        texts = [alert.alert.labels.get(label, "") for label in _ROW]
        # A name that is cut is on no board.
        if alert.firing and all(len(text) <= _LONGEST for text in texts):
            yield (one.id, *(text.encode("utf-8", "replace").decode() for text in texts)), alert.latest
