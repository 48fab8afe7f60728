"""Deployments during the incident: a model loaded again, or a new version. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.timings.measured import Subject
    from tritonobs.triage.view import View

# Two minutes before against the later half since: a mean of all would hold the warm-up
# (docs/decisions.md, a bad deployment).
_LEAD_SECONDS = 120.0
_SETTLED, _LATE = 1.0, 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """New workers of a model, the first of them at `born` (Unix seconds), and what they took over from.

    From `settled` on no mean holds requests of before; from `late` on the first requests are long over.
    What was before is read for `lead` seconds.
    """

    subject: Subject
    predecessor: Subject
    born: float
    workers: int
    settled: float
    late: float
    lead: float = _LEAD_SECONDS


def arrivals(view: View) -> Iterator[Arrival]:
    """Those that have served long enough to be judged, in order of name."""
    end, window = view.snapshot.incident.end, view.trends.window
    for subject, workers in sorted(view.roster.born.items()):
        born = min(view.roster.first_beat(worker) for worker in workers)
        settled = born + _SETTLED * window
        late = max(settled, born + _LATE * (end - born))
        if end - settled < window / 2:
            continue
        yield Arrival(
            subject=subject,
            predecessor=_predecessor(view, subject),
            born=born,
            workers=len(workers),
            settled=settled,
            late=late,
        )


def _predecessor(view: View, subject: Subject) -> Subject:
    """The same version where it served before, else the busiest other."""
    if view.roster.knew(subject):
        return subject
    others = [other for other in view.subjects(before=True) if other[0] == subject[0]]
    return max(others, key=lambda other: view.request_rate(other, before=True), default=subject)
