"""Since when."""

from __future__ import annotations

import math
import random

import pytest

from tritonobs.extensions.triage.trends import onset

Points = list[tuple[float, float]]


def _series(*levels: tuple[int, float], noise: float = 0.0) -> Points:
    source = random.Random(7)  # noqa: S311 (noise of a test, no secret)
    values = [level + source.gauss(0, noise) for number, level in levels for _ in range(number)]
    return [(1000.0 + 10 * at, value) for at, value in enumerate(values)]


@pytest.mark.parametrize(
    ("points", "moment"),
    [
        pytest.param(_series((30, 0.015), (20, 0.085)), 1300.0, id="a clean step up"),
        pytest.param(_series((40, 10.0), (50, 1.0)), 1400.0, id="a step down"),
        pytest.param(_series((50, 1.0), (10, 0.0), (30, 5.0)), 1600.0, id="the larger of two steps"),
    ],
)
def test_onset_finds_the_step(points: Points, moment: float) -> None:
    """To the step of the series."""
    assert onset(points) == moment


def test_onset_finds_a_step_in_noise() -> None:
    """Real series shake; the moment is right to a few points."""
    assert onset(_series((45, 0.015), (45, 0.030), noise=0.003)) == pytest.approx(1450.0, abs=20)


@pytest.mark.parametrize(
    "points",
    [
        pytest.param([], id="nothing"),
        pytest.param(_series((5, 1.0)), id="too little to tell"),
        pytest.param(_series((60, 1.0)), id="nothing changed"),
        pytest.param(_series((90, 1.0), noise=0.3), id="noise alone"),
        pytest.param(_series((40, 1.0), (1, 50.0), (40, 1.0)), id="a single spike"),
        pytest.param([(float(at), math.nan) for at in range(90)], id="not a number"),
    ],
)
def test_onset_names_no_moment_without_a_step(points: Points) -> None:
    """A wrong time sends people to the wrong deployment."""
    assert onset(points) is None


def test_onset_looks_over_gaps() -> None:
    """An idle model has no mean for a while; the step is still found."""
    points = _series((30, 1.0), (30, 4.0))
    points[10:15] = [(time, math.nan) for time, _ in points[10:15]]

    assert onset(points) == 1300.0


def test_a_mean_over_a_window_is_dated_where_it_begins_to_move() -> None:
    """A sudden change is a slope as long as the window; its beginning is what happened."""
    points = [(5.0 * step, 1.0 + min(1.0, max(0.0, 5.0 * step - 300.0) / 20.0)) for step in range(120)]

    assert onset(points, 20.0) == pytest.approx(300.0, abs=5.0)


def test_a_queue_that_grows_for_minutes_began_where_it_left_its_level() -> None:
    """Not in the middle of its slope."""
    points = [(5.0 * step, 0.01 + max(0.0, 5.0 * step - 300.0) / 100.0) for step in range(120)]

    assert onset(points) == pytest.approx(310.0, abs=35.0)


@pytest.mark.parametrize(
    ("levels", "falls", "moment"),
    [
        pytest.param(((6, 0.0), (24, 1.0), (12, 0.0)), False, 1060.0, id="a fault that is over"),
        pytest.param(((6, 1.0), (24, 0.0), (12, 1.0)), True, 1060.0, id="an outage that is over"),
        pytest.param(((30, 1.0), (12, 0.0)), False, None, id="only its end"),
        pytest.param(((30, 0.0), (12, 1.0)), False, 1300.0, id="a fault that goes on"),
    ],
)
def test_the_end_of_a_fault_is_not_its_start(
    levels: tuple[tuple[int, float], ...], *, falls: bool, moment: float | None
) -> None:
    """Only a step in the direction of the fault counts."""
    assert onset(_series(*levels), falls=falls) == moment
