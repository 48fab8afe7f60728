"""The trends of numbers through both windows, and the moments at which they left their level. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from statistics import median

from tritonobs import names
from tritonobs.extensions.triage.snapshot import Snapshot

_RATES = frozenset({"requests", "told", "failed", "errors", "hits"})
"""Without samples these are 0 a second; the other numbers are unknown then."""
INSTANT = frozenset({"up", "scraped"})
"""What is true of a scrape; the other numbers are means over several."""
_LEAD_SECONDS, _LEAD = 45.0, 0.5
"""An incident begins inside of what was named as one, or shortly before: what was earlier was another."""
BAD = "bad"
"""The trend of requests that ended badly, made of `told` (a name in saved snapshots) and `failed`."""
_REPORTED = ("error", "rejected")
# CANCELED is left out: a client that gives up is not an error of the model. Before 24.07 there was no reason.
_FAILURES = ("REJECTED", "BACKEND", "OTHER", "")
Points = tuple[tuple[float, float], ...]

_FEWEST_POINTS = 8
# `_smooth` leaves both ends as they are: a level of one point could be a spike there.
_SIDE = 2
_CLEAR_DROP = 0.4
"""A change is named only when one step explains this share of the variance: noise has no onset."""
_LEFT = 0.1
"""A series has left its level when it went this share of the way, and more than noise does."""
# 1.4826 times the median absolute deviation estimates the standard deviation of normal noise.
_NOISE, _MAD = 3.0, 1.4826
_HALF_WAY = 0.5


class Trends:
    """The trends of a snapshot.

    Each point is a mean over the `window` seconds before it, and `step` seconds lie between two. `begin` is
    the incident's start, or shortly before: people ask about the time since a page.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._series, self.window = snapshot.trends, snapshot.trend_seconds
        self._known: dict[tuple[str, tuple[tuple[str, str], ...]], Points] = {}
        read = (*self._series.get("requests", ()), *self._series.get("up", ()))
        # Every moment that was read.
        self._times = times = sorted({time for series in read for time, _ in series.points})
        self.step = (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else self.window
        lead = max(_LEAD_SECONDS, min(_LEAD * snapshot.incident.seconds, 2 * _LEAD_SECONDS))
        self.begin = snapshot.incident.start - lead

    def points(self, name: str, labels: Mapping[str, str]) -> Points:
        """The series with these labels, added up where they are rates; else the first of them."""
        key = (name, tuple(sorted(labels.items())))
        if key not in self._known:
            self._known[key] = self._read(name, labels)
        return self._known[key]

    def _bad(self, labels: Mapping[str, str]) -> Points:
        """Errors a second: by the model's own count or Triton's, the larger."""
        told = _added(self.points("told", {**labels, names.OUTCOME: outcome}) for outcome in _REPORTED)
        failed = _added(self.points("failed", {**labels, names.REASON: reason}) for reason in _FAILURES)
        # An error reply is a success to Triton (24.06 and later), and a model that raises counts nothing
        # itself: each view misses what the other has.
        times = sorted({*told, *failed})
        return tuple((time, max(told.get(time, 0.0), failed.get(time, 0.0))) for time in times)

    def _read(self, name: str, labels: Mapping[str, str]) -> Points:
        if name == BAD:
            return self._bad(labels)
        found = [
            series.points
            for series in self._series.get(name, ())
            # To Prometheus a label that is not there is an empty one.
            if all(series.labels.get(label, "") == value for label, value in labels.items())
        ]
        if not found:
            return ()
        return tuple(sorted(_added(found, self._times).items())) if name in _RATES else found[0]

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


def _added(rates: Iterable[Points], times: Iterable[float] = ()) -> Mapping[float, float]:
    """Rates added up, moment by moment; 0 at those of `times` at which none is known."""
    sums = dict.fromkeys(times, 0.0)
    for points in rates:
        for time, value in points:
            if math.isfinite(value):
                sums[time] = sums.get(time, 0.0) + value
    return sums


def onset(
    points: Sequence[tuple[float, float]], window_seconds: float = 0.0, *, falls: bool | None = None
) -> float | None:
    """When the series left one level for another (Unix seconds); None when there is no clear moment.

    With `falls`, only a step downwards counts (True), or one upwards (False): the end of a fault is not its
    start.

    First the best single step in the least-squares sense, after a median over three points has taken
    spikes out;
    then back to where the series began to move. Each point is a mean over `window_seconds` before it, so
    that a sudden change is a slope of that length.
    """
    finite = [(time, value) for time, value in points if math.isfinite(value)]
    if len(finite) < _FEWEST_POINTS:
        return None
    values = _smooth([value for _, value in finite])
    best = _step(values)
    if best is None:
        return None
    low, high = median(values[:best]), median(values[best:])
    if falls is not None and low != high and (high < low) != falls:
        return onset(finite[:best], window_seconds, falls=falls)
    # Medians can be equal where means differ, and the shares below divide by their distance.
    if low == high:
        return finite[best][0]
    noise = _MAD * median(abs(value - low) for value in values[:best])
    gone = min(_HALF_WAY, max(_LEFT, _NOISE * noise / abs(high - low)))
    first = best
    while first > 1 and (values[first - 1] - low) / (high - low) > gone:
        first -= 1
    while first < len(values) - 1 and (values[first] - low) / (high - low) <= gone:
        first += 1
    moment, before = finite[first][0], finite[first - 1][0]
    return moment - min(moment - before, window_seconds) / 2 - gone * window_seconds


def _step(values: Sequence[float]) -> int | None:
    """Where the best single step is; None when it explains too little."""
    sums = [0.0, *accumulate(values)]
    squares = [0.0, *accumulate(value * value for value in values)]

    def spread(first: int, last: int) -> float:
        total = sums[last] - sums[first]
        return squares[last] - squares[first] - total * total / (last - first)

    whole = spread(0, len(values))
    splits = range(_SIDE, len(values) - _SIDE + 1)
    best = min(splits, key=lambda at: spread(0, at) + spread(at, len(values)))
    left = spread(0, best) + spread(best, len(values))
    return None if whole <= 0 or (whole - left) / whole < _CLEAR_DROP else best


def _smooth(values: list[float]) -> list[float]:
    middle = [median(values[at - 1 : at + 2]) for at in range(1, len(values) - 1)]
    return [values[0], *middle, values[-1]]
