"""Deployments during the incident: a model loaded again, or a new version. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tritonobs import names
from tritonobs.timings.promql import MODEL_VERSION, labels_of
from tritonobs.triage.loads import COUNTED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.timings.measured import Subject
    from tritonobs.triage.loads import Load
    from tritonobs.triage.view import View

# Two minutes before against the later half since: a mean of all would hold the warm-up
# (docs/decisions.md, a bad deployment).
_LEAD_SECONDS = 120.0
_SETTLED, _LATE = 1.0, 0.5
_SOON = 1.5
"""Windows after which what a deployment did is to be seen: what came later had another cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A load of a model, and what it took over from.

    From `settled` on no mean holds requests of before; from `late` on the first requests are long over. What
    the load did is there from `settled` to `soon`, too. What was before is read for `lead` seconds.
    """

    load: Load
    predecessor: Subject
    settled: float
    soon: float
    late: float
    end: float
    lead: float = _LEAD_SECONDS

    @property
    def subject(self) -> Subject:
        """Model and version."""
        return self.load.subject

    @property
    def born(self) -> float:
        """When it was loaded, Unix seconds."""
        return self.load.born


def arrivals(view: View) -> Iterator[Arrival]:
    """Those that have served long enough to be judged, in order of name."""
    end, window = view.snapshot.incident.end, view.trends.window
    for load in view.loads.values():
        settled = load.born + _SETTLED * window
        if end - settled < window / 2:
            continue
        late = max(settled, load.born + _LATE * (end - load.born))
        yield Arrival(
            load=load,
            predecessor=_predecessor(view, load),
            settled=settled,
            soon=max(settled + _SOON * window, load.born + (late - load.born) / 2),
            late=late,
            end=end,
        )


def _predecessor(view: View, load: Load) -> Subject:
    """The same version where it served before, else the busiest other."""
    if _was_loaded(view, load):
        return load.subject
    others = [other for other in view.subjects(before=True) if other[0] == load.subject[0]]
    return max(others, key=lambda other: view.request_rate(other, before=True), default=load.subject)


def _was_loaded(view: View, load: Load) -> bool:
    counted = view.trends.points(COUNTED, labels_of(load.subject))
    if counted:
        # The baseline may end after the load.
        return counted[0][0] < load.born - view.trends.step
    labels = (*MODEL_VERSION, names.INSTANCE)
    served = view.rows("replica_requests", *labels, before=True)
    return view.roster.knew(load.subject) or any(key[:2] == load.subject for key in served)
