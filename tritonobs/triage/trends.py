"""The trends of numbers through both windows, and when they changed. Pure."""

from __future__ import annotations

import math
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING

from tritonobs import names
from tritonobs.triage.onset import onset

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tritonobs.triage.snapshot import Snapshot

_RATES = frozenset({"requests", "told", "failed", "errors", "hits"})
"""Nothing counted is 0 a second; of the other numbers nothing is known then."""
INSTANT = frozenset({"up", "scraped"})
"""What is true of a scrape; the other numbers are means over several."""
_LEAD_SECONDS, _LEAD = 45.0, 0.5
"""An incident begins inside of what was named as one, or shortly before: what was earlier was another."""

BAD = "bad"
"""The trend of requests that ended badly, made of `told` (a name in saved snapshots) and `failed`."""
# CANCELED is left out: a client that gives up is not an error of the model. Before 24.07 there was no reason.
_FAILURES = ("REJECTED", "BACKEND", "OTHER", "")

Points = tuple[tuple[float, float], ...]


class Trends:
    """The trends of a snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._known: dict[tuple[str, tuple[tuple[str, str], ...]], Points] = {}

    @property
    def window(self) -> float:
        """How many seconds each point is a mean of."""
        return self._snapshot.trend_seconds

    def points(self, name: str, labels: Mapping[str, str]) -> Points:
        """The series with these labels, added up where they are rates; else the first of them."""
        key = (name, tuple(sorted(labels.items())))
        if key not in self._known:
            self._known[key] = self._read(name, labels)
        return self._known[key]

    def bad(self, labels: Mapping[str, str]) -> Points:
        """Errors a second: by the model's own count or Triton's, the larger."""
        reported: dict[float, float] = {}
        for outcome in ("error", "rejected"):
            for time, value in self.points("told", {**labels, names.OUTCOME: outcome}):
                reported[time] = reported.get(time, 0.0) + value
        failed: dict[float, float] = {}
        for reason in _FAILURES:
            for time, value in self.points("failed", {**labels, names.REASON: reason}):
                failed[time] = failed.get(time, 0.0) + value
        # An error reply is a success to Triton (24.06 and later), and a model that raises counts nothing
        # itself: each view misses what the other has.
        times = sorted({*reported, *failed})
        return tuple((time, max(reported.get(time, 0.0), failed.get(time, 0.0))) for time in times)

    def _read(self, name: str, labels: Mapping[str, str]) -> Points:
        if name == BAD:
            return self.bad(labels)
        found = [
            series.points
            for series in self._snapshot.trends.get(name, ())
            # To Prometheus a label that is not there is an empty one.
            if all(series.labels.get(label, "") == value for label, value in labels.items())
        ]
        if name not in _RATES:
            return found[0] if found else ()
        if not found:
            return ()
        sums = dict.fromkeys(self._times, 0.0)
        for points in found:
            for time, value in points:
                if math.isfinite(value):
                    sums[time] = sums.get(time, 0.0) + value
        return tuple(sorted(sums.items()))

    @cached_property
    def _times(self) -> tuple[float, ...]:
        """Every moment that was read."""
        times = {
            time
            for series in (*self._snapshot.trends.get("requests", ()), *self._snapshot.trends.get("up", ()))
            for time, _ in series.points
        }
        return tuple(sorted(times))

    @property
    def step(self) -> float:
        """How many seconds lie between two points."""
        times = self._times
        return (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else self.window

    @property
    def begin(self) -> float:
        """The incident's start, or shortly before: people ask about the time since a page."""
        incident = self._snapshot.incident
        return incident.start - max(_LEAD_SECONDS, min(_LEAD * incident.seconds, 2 * _LEAD_SECONDS))

    def since(self, points: Sequence[tuple[float, float]], *, falls: bool = False) -> float | None:
        """When they left their level, upwards or downwards: in the incident, else in all of the time."""
        late = [point for point in points if point[0] >= self.begin]
        found = onset(late, self.window, falls=falls)
        return found if found is not None else onset(points, self.window, falls=falls)

    def exceeded(self, points: Sequence[tuple[float, float]], level: float) -> float | None:
        """When they went above a level for the incident, or earlier and stayed there; None if not seen."""
        above = [place for place, (time, value) in enumerate(points) if value > level and time >= self.begin]
        if not above:
            return None
        first = above[0]
        while first > 0 and points[first - 1][1] > level:
            first -= 1
        # Above from the first moment that was read: it began before.
        return (points[first - 1][0] + points[first][0]) / 2 if first > 0 else None

    def ended(self, points: Sequence[tuple[float, float]], *, instant: bool) -> float | None:
        """When they ceased to be, or to be above 0; None when they go on.

        A mean over a window goes on until its last two scrapes have left the window; an `instant` value
        does not.
        """
        above = [time for time, value in points if value > 0]
        later = [time for time in self._times if above and time > above[-1]]
        if not later:
            return None
        step = later[0] - above[-1]
        return later[0] - step / 2 - (0.0 if instant else max(0.0, self.window - step))

    def level(self, points: Sequence[tuple[float, float]], start: float, end: float) -> float | None:
        """The middle of them between two moments; None without any."""
        values = [value for time, value in points if start <= time <= end and math.isfinite(value)]
        return median(values) if values else None
