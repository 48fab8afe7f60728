"""Which windows are compared: the incident, and a baseline without one in it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from tritonobs.clients.prometheus import Series
from tritonobs.extensions.triage.calm import Calm, calm_baseline, windows
from tritonobs.timings.ask import Readings
from tritonobs.timings.promql import Scope, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


MODEL = {"model": "m", "version": "1"}
INCIDENT, BASELINE = Span(start=4_000.0, end=4_300.0), Span(start=3_700.0, end=4_000.0)


class _Prometheus:
    """Answers by what a question is about, moment by moment."""

    def __init__(
        self, seconds: Callable[[float], float], errors: Callable[[float], float], since: float = 0.0
    ) -> None:
        self._seconds, self._errors, self._since = seconds, errors, since

    def query_range(
        self, expression: str, *, start: float, end: float, step_seconds: float
    ) -> tuple[Series, ...]:
        times = [start + step_seconds * step for step in range(round((end - start) / step_seconds) + 1)]
        if expression == "group(up)":
            return (_series({}, [time for time in times if time >= self._since], lambda _: 1.0),)
        if "nv_inference_request_duration_us" in expression:
            return (_series(MODEL, times, self._seconds),)
        if "outcome" in expression:
            return (
                _series({**MODEL, "outcome": "error"}, times, self._errors),
                _series({**MODEL, "outcome": "ok"}, times, lambda time: 10.0 - self._errors(time)),
            )
        return ()


def _series(labels: Mapping[str, str], times: list[float], value: Callable[[float], float]) -> Series:
    return Series(labels=labels, points=tuple((time, value(time)) for time in times))


def _calm(
    seconds: Callable[[float], float] = lambda _: 0.05, errors: Callable[[float], float] = lambda _: 0.0
) -> Calm:
    prometheus = _Prometheus(seconds, errors)
    return calm_baseline(prometheus, Readings(), INCIDENT, BASELINE, scope=Scope(), shortest=20.0)  # type: ignore[arg-type] # doubles of the client and the snapshot


def test_a_quiet_time_is_taken_as_asked() -> None:
    """And nothing is said about it."""
    assert _calm() == Calm(span=BASELINE)


@pytest.mark.parametrize("what", ["seconds", "errors"])
def test_an_incident_of_its_own_is_left_out(what: str) -> None:
    """Two minutes held the last incident: the quiet ones before it are taken, and it is said."""

    def last(time: float) -> bool:
        return 3_760 < time < 3_920

    calm = (
        _calm(seconds=lambda time: 0.2 if last(time) else 0.05)
        if what == "seconds"
        else _calm(errors=lambda time: 3.0 if last(time) else 0.0)
    )

    assert calm.span.end <= 3_760
    assert calm.span.seconds >= 150
    assert calm.note.startswith("the window before was unhealthy, too; baseline ends")


def _started(at: float, troubled: float) -> Callable[[float], float]:
    """A stack that was started, and in trouble later; nothing before."""
    return lambda time: math.nan if time < at else 0.05 if time < troubled else 0.2


def test_a_time_without_requests_is_not_quiet() -> None:
    """What was before the stack was started says nothing, and is not taken."""
    calm = _calm(seconds=_started(3_780, troubled=3_920))

    assert calm.span.start >= 3_740
    assert calm.span.end <= 3_920


def test_a_short_look_is_held_against_a_short_quiet_time() -> None:
    """Half a minute: quiet parts are as short, and three of them in a row are enough."""
    prometheus = _Prometheus(_started(3_840, troubled=3_930), lambda _: 0.0)
    incident = Span(start=4_000.0, end=4_030.0)

    calm = calm_baseline(prometheus, Readings(), incident, BASELINE, scope=Scope(), shortest=20.0)  # type: ignore[arg-type] # doubles of the client and the snapshot

    assert (calm.span.start, calm.span.end) == (3_820.0, 3_920.0)


def test_trouble_all_along_is_said() -> None:
    """Every second minute is slow: no quiet time is near, the asked one is kept."""
    calm = _calm(seconds=lambda time: 0.2 if int(time // 40) % 2 else 0.05)

    assert calm.span == BASELINE
    assert "no healthy baseline was found" in calm.note


@pytest.mark.parametrize(
    ("since", "start", "note"),
    [
        pytest.param(3_870.0, 3_887.5, "there are no earlier data; baseline is the 1m52s before", id="since"),
        pytest.param(3_650.0, 3_700.0, "", id="long enough"),
        pytest.param(3_995.0, 3_700.0, "", id="nothing to compare with"),
    ],
)
def test_a_baseline_begins_where_the_data_begin(since: float, start: float, note: str) -> None:
    """A rate over five minutes of which two are known would be less than half of what it was."""
    prometheus = _Prometheus(lambda time: math.nan if time < since else 0.05, lambda _: 0.0, since)

    calm = calm_baseline(prometheus, Readings(), INCIDENT, BASELINE, scope=Scope(), shortest=20.0)  # type: ignore[arg-type] # doubles of the client and the snapshot

    assert calm == Calm(span=Span(start=start, end=4_000.0), note=note)


def test_a_new_stack_is_compared_with_its_traffic() -> None:
    """It was scraped for two minutes before its first request."""
    prometheus = _Prometheus(lambda time: math.nan if time < 3_870 else 0.05, lambda _: 0.0, since=3_750.0)

    calm = calm_baseline(prometheus, Readings(), INCIDENT, BASELINE, scope=Scope(), shortest=20.0)  # type: ignore[arg-type] # doubles of the client and the snapshot

    assert calm.span == Span(start=3_887.5, end=4_000.0)


def test_a_fleet_that_idled_before_is_compared_with_that() -> None:
    """Its data are older: that requests began is news."""
    prometheus = _Prometheus(lambda time: math.nan if time < 3_870 else 0.05, lambda _: 0.0)

    calm = calm_baseline(prometheus, Readings(), INCIDENT, BASELINE, scope=Scope(), shortest=20.0)  # type: ignore[arg-type] # doubles of the client and the snapshot

    assert calm == Calm(span=BASELINE)


def test_who_names_another_day_means_it() -> None:
    """Only a baseline that adjoins the incident is read."""
    yesterday = Span(start=-82_400.0, end=-82_100.0)
    prometheus = _Prometheus(lambda _: 9.0, lambda _: 9.0)

    calm = calm_baseline(prometheus, Readings(), INCIDENT, yesterday, scope=Scope(), shortest=20.0)  # type: ignore[arg-type] # doubles of the client and the snapshot

    assert calm == Calm(span=yesterday)


NOW = 1_000_000.0


@pytest.mark.parametrize(
    ("since", "baseline", "expected"),
    [
        pytest.param(600, "previous", Span(start=NOW - 1200, end=NOW - 600), id="as long, and right before"),
        pytest.param(60, "previous", Span(start=NOW - 360, end=NOW - 60), id="at least five minutes"),
        pytest.param(600, "yesterday", Span(start=NOW - 87_000, end=NOW - 86_400), id="same time yesterday"),
        pytest.param(
            600, "last-week", Span(start=NOW - 605_400, end=NOW - 604_800), id="same time last week"
        ),
        pytest.param(600, "3h", Span(start=NOW - 11_400, end=NOW - 10_800), id="some hours ago"),
    ],
)
def test_windows_lie_where_they_are_meant(since: float, baseline: str, expected: Span) -> None:
    """The incident ends now; the baseline is where its word says."""
    incident, before = windows(NOW, since, baseline)

    assert (incident, before) == (Span(start=NOW - since, end=NOW), expected)


@pytest.mark.parametrize(
    ("baseline", "why"),
    [("tomorrow", "write previous, yesterday, last-week"), ("5m", "lies inside the incident of 600 s")],
)
def test_windows_that_make_no_sense_are_refused(baseline: str, why: str) -> None:
    """With what is allowed, or why not."""
    with pytest.raises(ValueError, match=why):
        windows(NOW, 600, baseline)
