"""The windows that are compared: the incident, and a baseline without an incident in it.

The last incident would hide the next one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median

from tritonobs import names
from tritonobs.clients.prometheus import PrometheusClient, Series
from tritonobs.timings import promql
from tritonobs.timings.ask import Readings, ranges
from tritonobs.timings.promql import Span
from tritonobs.units import format_duration, parse_duration

_DAY = 86_400.0
BASELINES = {"yesterday": _DAY, "last-week": 7 * _DAY}
"""Words for a baseline, and how many seconds it lies back."""

_BACK = 4
"""How many baselines back a quieter one is searched for."""
_PARTS = 8
_SLOWER, _SECONDS = 1.5, 0.003
_FAILING = 0.02
_FEWEST = 3
_LONGEST_SECONDS = 6 * 3600.0
_KNOWN = "known"
"""Whether Prometheus has scraped anything."""


def windows(now: float, since_seconds: float, baseline: str) -> tuple[Span, Span]:
    """Incident and baseline. The baseline is as long as the incident, but `previous` at least five minutes.

    Raises:
        ValueError: `baseline` is not a word above, not `previous` and no duration.
    """
    incident = Span(start=now - since_seconds, end=now)
    if baseline == "previous":
        # At a scrape interval of 15 s this makes five parts; `Spread` needs at least four.
        length = max(since_seconds, 300.0)
        return incident, Span(start=incident.start - length, end=incident.start)
    if baseline in BASELINES:
        back = BASELINES[baseline]
    else:
        try:
            back = float(parse_duration(baseline))
        except ValueError:
            words = ", ".join(("previous", *BASELINES))
            raise ValueError(
                f"{baseline!r} is not a baseline; write {words} or how long ago, like 3h"
            ) from None
    if back < since_seconds:
        raise ValueError(f"a baseline {baseline} ago lies inside the incident of {since_seconds:g} s")
    return incident, Span(start=incident.start - back, end=incident.end - back)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calm:
    """The span to compare the incident with, and a note where it differs from the one asked for."""

    span: Span
    note: str = ""


def calm_baseline(
    prometheus: PrometheusClient,
    readings: Readings,
    incident: Span,
    baseline: Span,
    *,
    scope: promql.Scope,
    shortest: float,
) -> Calm:
    """The requested baseline if nothing was wrong in it; else its quiet part, or quiet minutes before it.

    Where Prometheus' data begin within it, it begins with their first requests: a new stack idles before
    them, and over a time of which only the end is known, every rate is too low. Only a baseline next to the
    incident is replaced: one of another day is used as given.
    """
    if abs(baseline.end - incident.start) > 1.0 or baseline.seconds > _LONGEST_SECONDS:
        return Calm(span=baseline)
    # A short window has a part of its own length among the quiet ones, too.
    step = max(min(baseline.seconds / _PARTS, incident.seconds / 2), shortest)
    number = max(_FEWEST, math.ceil(_BACK * baseline.seconds / step))
    start = baseline.end - step * (number - 1)
    asked = calm_questions(scope, step)
    requests = ranges(prometheus, Span(start=start, end=baseline.end), step, asked)
    seen = readings.take(requests, called="the time before, {}")
    found = {name: seen.get(name, ()) for name in asked}
    known = found.pop(_KNOWN)
    times = [baseline.end - step * place for place in reversed(range(number))]
    busy = {time for series in found["request"] for time in _at(series, times, step)}
    asked_for, note = baseline, ""
    first = min((time for series in known for time in _at(series, times, step)), default=times[0])
    if first > times[0]:
        first = max(first, min(busy, default=first))
        if first > baseline.start and baseline.end - first >= shortest:
            baseline = Span(start=first, end=baseline.end)
            length = format_duration(max(1, round(baseline.seconds)))
            note = f"there are no earlier data; baseline is the {length} before"
    bad = _troubled(times, step, **found)
    inside = [time for time in times if time > baseline.start + 0.5 * step]
    if not any(time in bad for time in inside):
        return Calm(span=baseline, note=note)
    return _quiet([time if time in busy - bad else None for time in times], step, asked_for)


def _quiet(parts: list[float | None], step: float, baseline: Span) -> Calm:
    """The latest run of quiet parts that is long enough; the longest where none is.

    None is a part with problems, or without requests: nothing can be compared with it.
    """
    wanted = max(_FEWEST, math.ceil(baseline.seconds / step / 2))
    runs: list[list[float]] = [[]]
    for time in reversed(parts):
        if time is None:
            runs.append([])
        else:
            runs[-1].append(time)
    best = next((run for run in runs if len(run) >= wanted), max(runs, key=len))
    if len(best) < _FEWEST:
        return Calm(span=baseline, note="the baseline also had problems; no healthy baseline was found")
    # A part is the mean of the time before its moment.
    end = best[0]
    start = max(best[-1] - step, end - baseline.seconds)
    ago = format_duration(max(1, round(baseline.end - end)))
    where = f"ends {ago} earlier" if baseline.end - end > 1 else "is its healthy end"
    return Calm(
        span=Span(start=start, end=end),
        note=f"the window before was unhealthy, too; baseline {where}",
    )


def calm_questions(scope: promql.Scope, step: float) -> dict[str, str]:
    """PromQL over time for signs of problems: how long requests take, and how they end."""

    def summed(metric: str, *by: str) -> str:
        return promql.summed(promql.rate(metric, scope.of(), step), (*promql.MODEL_VERSION, *by))

    answered, failed = summed(names.TRITON_SUCCESS), summed(names.TRITON_FAILURE)
    return {
        _KNOWN: f"group(up{scope.around()})",
        "request": f"{summed(names.TRITON_REQUEST_US)} / 1e6 / ({answered} > 0)",
        "ends": summed(names.REQUESTS, names.OUTCOME),
        "failed": f"{failed} / ({answered} + {failed} > 0)",
    }


def _troubled(
    times: list[float],
    step: float,
    request: tuple[Series, ...] = (),
    ends: tuple[Series, ...] = (),
    failed: tuple[Series, ...] = (),
) -> set[float]:
    """The moments at which some model was slower, or failed more, than in the middle of all of them."""
    bad: set[float] = set()
    for series in request:
        points = _at(series, times, step)
        usual = median(points.values()) if points else 0.0
        # The middle of an even number of quiet and bad parts lies between them: the quieter half counts.
        quiet = sorted(points.values())[: max(1, len(points) // 2 + 1)]
        usual = min(usual, median(quiet)) if quiet else usual
        bad |= {time for time, value in points.items() if value > _SLOWER * usual + _SECONDS}
    ratios = [_at(series, times, step) for series in failed] + _error_ratios(ends, times, step)
    for points in ratios:
        # The middle of two parts lies between a quiet and a bad one: the quieter counts.
        usual = min(points.values(), default=0.0) if len(points) < _FEWEST else median(points.values())
        bad |= {time for time, value in points.items() if value > _FAILING + 2 * usual}
    return bad


def _error_ratios(ends: tuple[Series, ...], times: list[float], step: float) -> list[dict[float, float]]:
    every: dict[tuple[str, str], dict[float, list[float]]] = {}
    for series in ends:
        subject = (series.labels.get(names.MODEL, ""), series.labels.get(names.VERSION, ""))
        wrong = series.labels.get(names.OUTCOME) in {"error", "rejected"}
        for time, value in _at(series, times, step).items():
            counts = every.setdefault(subject, {}).setdefault(time, [0.0, 0.0])
            counts[0] += value
            counts[1] += value if wrong else 0.0
    return [
        {time: wrong / all_ for time, (all_, wrong) in counts.items() if all_ > 0}
        for counts in every.values()
    ]


def _at(series: Series, times: list[float], step: float) -> dict[float, float]:
    """A series at these moments; Prometheus rounds them to milliseconds."""
    points: dict[float, float] = {}
    for time, value in series.points:
        place = round((time - times[0]) / step)
        if 0 <= place < len(times) and math.isfinite(value):
            points[times[place]] = value
    return points
