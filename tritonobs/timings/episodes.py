"""When an alert fires, from the moments at which its condition held: the past, replayed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tritonobs.clients.prometheus import Rule
from tritonobs.timings.promql import Span

_MOST_POINTS = 10_000
_SHORTEST_STEP_SECONDS = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A time during which an alert would have been firing; `peak` is the largest value of its condition."""

    alert: str
    start: float
    end: float
    peak: float

    @property
    def seconds(self) -> float:
        """How long."""
        return self.end - self.start


def episodes_of(
    points: Sequence[tuple[float, float]], rule: Rule, step_seconds: float, until: float = math.inf
) -> tuple[Episode, ...]:
    """When a rule fires, from the moments at which its condition held: waits and keeps as Prometheus does.

    What goes on at `until` (Unix seconds) ends there.
    """
    found: list[Episode] = []
    for run in runs(points, step_seconds):
        # Between two moments nothing is known: the condition holds until the next one.
        began, ended = run[0][0], run[-1][0] + step_seconds
        peak = max(value for _, value in run)
        # Still kept from before: Prometheus shows one alert, which does not wait again.
        if found and began <= found[-1].end:
            last = found.pop()
            began, peak = last.start, max(peak, last.peak)
        else:
            began += rule.wait_seconds
        if began >= ended:
            continue
        end = min(ended + rule.keep_seconds, until)
        if began < end:
            found.append(Episode(alert=rule.name, start=began, end=end, peak=peak))
    return tuple(found)


def runs(points: Sequence[tuple[float, float]], step_seconds: float) -> list[list[tuple[float, float]]]:
    """Stretches of points without a gap between them."""
    found: list[list[tuple[float, float]]] = []
    for point in points:
        if found and point[0] - found[-1][-1][0] <= 1.5 * step_seconds:
            found[-1].append(point)
        else:
            found.append([point])
    return found


def joined(episodes: Iterable[Episode]) -> tuple[Episode, ...]:
    """Episodes of one alert that overlap are one: a model and its version burn, and one message is sent."""
    found: list[Episode] = []
    for episode in sorted(episodes, key=lambda each: each.start):
        if found and episode.start <= found[-1].end:
            last = found.pop()
            found.append(replace(last, end=max(last.end, episode.end), peak=max(last.peak, episode.peak)))
        else:
            found.append(episode)
    return tuple(found)


def step_seconds(span: Span) -> float:
    """How finely a span is read: Prometheus gives at most 11,000 points a query."""
    return max(span.seconds / _MOST_POINTS, _SHORTEST_STEP_SECONDS)
