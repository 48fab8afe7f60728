"""Incidents as series of `serve`: how many go on, and the sentence of each, for boards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from tritonobs import names
from tritonobs.extensions.incidents.incident import CauseKey, Incident, cause_key
from tritonobs.extensions.incidents.place import SEVERITIES
from tritonobs.outside import shown

MOST_NAMED: Final = 20
"""Incidents with a series; of the others there is the number."""
_LONGEST: Final = 200
_COUNTED: Final = SEVERITIES[2:]


class IncidentSeries(Collector):
    """Bounded: one series for each of the worst incidents that go on, another one when its cause changes.

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
        """The number by severity, always; and since when each goes on."""
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

    def _sentence(self, one: Incident) -> tuple[CauseKey | None, str]:
        key = cause_key(one.cause) if one.cause else None
        known = self._sentences.get(one.id)
        if known and known[0] == key:
            return known
        place = ", ".join((*one.place.models, *one.place.replicas, *one.place.areas)[:3])
        return key, shown(one.cause.sentence if one.cause else place)[:_LONGEST]
