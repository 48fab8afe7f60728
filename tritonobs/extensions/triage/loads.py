"""Models that were reloaded, or in a new version, as their workers and Triton's numbers show it. Pure.

A model with stages has new workers. For other backends Triton's series show it: counters that are reset
after an unload, a version that was not there, or another load time (Triton 24.11 and later, also of a load in
place).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from tritonobs import names
from tritonobs.clients.prometheus import Series
from tritonobs.extensions.triage.view import View
from tritonobs.timings.measured import Subject
from tritonobs.timings.promql import MODEL_VERSION, labels_of

ARRIVED, COUNTED, LOAD_SECONDS = "arrived", "counted", "load_seconds"
"""The trends that show loads."""
_APART = 1.5
"""Points this many steps apart have a gap between them."""

# Two minutes before against the later half since: a mean of all would hold the warm-up
# (docs/decisions.md, a bad deployment).
LEAD_SECONDS = 120.0
_SETTLED, _LATE = 1.0, 0.5
_SOON = 1.5
"""Windows after which what a deployment did is to be seen: what came later had another cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A load of a model at `born` (Unix seconds), the first of several, and what it took over from.

    What shows it: `workers` are new, `replicas` have counters that were reset, `seconds` are the load times
    before and since.

    From `settled` on no mean holds requests of before; from `late` on the first requests are long over. What
    the load did is there from `settled` to `soon`, too.
    """

    subject: Subject
    born: float
    workers: int
    replicas: int
    seconds: tuple[float, float] | None
    predecessor: Subject
    settled: float
    soon: float
    late: float
    end: float


def arrivals(view: View) -> Iterator[Arrival]:
    """Of the incident and of shortly before it, those that have served long enough to be judged, by name."""
    end, window = view.snapshot.incident.end, view.trends.window
    workers, counters, times = _by_workers(view), _by_counters(view), _by_load_time(view)
    for subject in sorted({*workers, *counters, *times}):
        # Heartbeats show it to the second, counters and load times from one scrape to the next.
        signs = workers.get(subject) or counters.get(subject) or times[subject]
        born = min(sign[0] for sign in signs)
        settled = born + _SETTLED * window
        if end - settled < window / 2:
            continue
        late = max(settled, born + _LATE * (end - born))
        yield Arrival(
            subject=subject,
            born=born,
            workers=round(sum(number for _, number in workers.get(subject, ()))),
            replicas=len(counters.get(subject, ())),
            seconds=min(times[subject])[1] if subject in times else None,
            predecessor=_predecessor(view, subject, born),
            settled=settled,
            soon=max(settled + _SOON * window, born + (late - born) / 2),
            late=late,
            end=end,
        )


def _by_workers(view: View) -> dict[Subject, list[tuple[float, float]]]:
    """Moment and number of new workers; those of before the incident's window by replica."""
    found: dict[Subject, list[tuple[float, float]]] = {
        subject: [(view.roster.first_beat(worker), 1.0) for worker in workers]
        for subject, workers in view.roster.born.items()
    }
    for series in _series(view, ARRIVED):
        subject = _subject(series)
        points = [(time, number) for time, number in series.points if number > 0]
        # Workers are new for as long as the question looks back: a first point has none right before it.
        late = [
            point
            for point in points
            if point[0] > view.trends.begin
            and not any(0 < point[0] - time < _APART * view.trends.step for time, _ in points)
        ]
        if late and subject not in view.roster.born:
            found.setdefault(subject, []).append((late[0][0] - view.trends.step / 2, late[0][1]))
    return found


def _by_counters(view: View) -> dict[Subject, list[tuple[float, float]]]:
    """When Triton's counters were reset, by replica; a model that is new on a server that was there, too."""
    found: dict[Subject, list[tuple[float, float]]] = defaultdict(list)
    first = min((time for series in _series(view, COUNTED) for time, _ in series.points), default=0.0)
    for series in _series(view, COUNTED):
        points = series.points
        moments = [later for (_, was), (later, now) in pairwise(points) if now < was]
        if points and points[0][0] > first + _APART * view.trends.step and _was_up(view, series):
            moments.insert(0, points[0][0])
        late = [moment for moment in moments if moment > view.trends.begin]
        if late:
            found[_subject(series)].append((late[0] - view.trends.step / 2, 1.0))
    return found


def _by_load_time(view: View) -> dict[Subject, list[tuple[float, tuple[float, float]]]]:
    """When the time of the last load changed, by replica, and both times."""
    found: dict[Subject, list[tuple[float, tuple[float, float]]]] = defaultdict(list)
    for series in _series(view, LOAD_SECONDS):
        for (_, was), (moment, now) in pairwise(series.points):
            if now != was and moment > view.trends.begin:
                found[_subject(series)].append((moment - view.trends.step / 2, (was, now)))
                break
    return found


def _was_up(view: View, series: Series) -> bool:
    """Whether its server answered right before the first point: a server that is new loads everything."""
    up = view.trends.points("up", {names.INSTANCE: series.labels.get(names.INSTANCE, "")})
    earlier = [value for time, value in up if time < series.points[0][0]]
    return bool(earlier) and earlier[-1] > 0


def _series(view: View, name: str) -> Iterator[Series]:
    """With the points that are numbers; a model that another file calls so is not one of ours."""
    for series in view.snapshot.trends.get(name, ()):
        if series.labels.get(names.MODEL):
            yield replace(series, points=tuple(point for point in series.points if math.isfinite(point[1])))


def _subject(series: Series) -> Subject:
    return series.labels.get(names.MODEL, ""), series.labels.get(names.VERSION, "")


def _predecessor(view: View, subject: Subject, born: float) -> Subject:
    """The same version where it served before, else the busiest other."""
    if _was_loaded(view, subject, born):
        return subject
    others = [other for other in view.subjects(before=True) if other[0] == subject[0]]
    return max(others, key=lambda other: view.request_rate(other, before=True), default=subject)


def _was_loaded(view: View, subject: Subject, born: float) -> bool:
    counted = view.trends.points(COUNTED, labels_of(subject))
    if counted:
        # The baseline may end after the load.
        return counted[0][0] < born - view.trends.step
    labels = (*MODEL_VERSION, names.INSTANCE)
    served = view.rows("replica_requests", *labels, before=True)
    return subject in view.roster.known or any(key[:2] == subject for key in served)
