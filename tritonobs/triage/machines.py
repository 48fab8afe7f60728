"""Machines whose processors are taken. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs import names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tritonobs.triage.view import View

_BUSY, _ROSE = 0.95, 0.1


def taken(view: View) -> Mapping[str, tuple[float, float]]:
    """Replicas whose processors became fully busy: their use before, and now."""
    before = view.rows("cpu", names.INSTANCE, before=True)
    found = {}
    for (replica,), mean in view.rows("cpu", names.INSTANCE).items():
        busy = max(mean, _half(view, replica))
        usual = before.get((replica,), busy)
        if busy >= _BUSY and busy - usual >= _ROSE:
            found[replica] = (usual, busy)
    return found


def _half(view: View, replica: str) -> float:
    """The busier half of the incident: it begins before what made the processors busy."""
    incident = view.snapshot.incident
    points, middle = view.trends.points("cpu", {names.INSTANCE: replica}), (incident.start + incident.end) / 2
    halves = (
        view.trends.level(points, incident.start, middle),
        view.trends.level(points, middle, incident.end),
    )
    return max(half or 0.0 for half in halves)
