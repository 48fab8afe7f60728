"""When an alert would have fired."""

from __future__ import annotations

import pytest

from tritonobs.clients.prometheus import Rule
from tritonobs.timings.episodes import Episode, episodes_of, joined

STEP = 15.0


def _rule(*, wait: float = 0.0, keep: float = 0.0) -> Rule:
    return Rule(
        group="g",
        name="A",
        kind="alerting",
        query="",
        health="ok",
        last_error="",
        state="inactive",
        wait_seconds=wait,
        keep_seconds=keep,
    )


def _points(*moments: int) -> tuple[tuple[float, float], ...]:
    return tuple((moment * STEP, float(moment)) for moment in moments)


@pytest.mark.parametrize(
    ("moments", "rule", "episodes"),
    [
        pytest.param((), _rule(), [], id="never"),
        pytest.param((1, 2, 3), _rule(), [(15, 60, 3)], id="while the condition holds"),
        pytest.param((1, 2, 10, 11), _rule(), [(15, 45, 2), (150, 180, 11)], id="two times"),
        pytest.param((1, 2, 3, 4), _rule(wait=30), [(45, 75, 4)], id="after it held for a while"),
        pytest.param((1, 3, 5), _rule(wait=30), [], id="too short each time"),
        pytest.param((1, 2, 4), _rule(keep=60), [(15, 135, 4)], id="kept through a dip: one alert"),
        pytest.param((1, 9), _rule(keep=60), [(15, 90, 1), (135, 210, 9)], id="kept, but not that long"),
        pytest.param((1, 2, 3, 6), _rule(wait=30, keep=60), [(45, 165, 6)], id="kept: no second wait"),
    ],
)
def test_episodes_begin_and_end_as_prometheus_would(
    moments: tuple[int, ...], rule: Rule, episodes: list[tuple[float, float, float]]
) -> None:
    """`for` delays, `keep_firing_for` joins."""
    found = episodes_of(_points(*moments), rule, STEP)

    assert found == tuple(
        Episode(alert="A", start=start, end=end, peak=peak) for start, end, peak in episodes
    )


def test_episodes_of_a_model_and_its_version_are_one() -> None:
    """Both burn, and one message is sent; what comes later is another episode."""
    first, second, third = (
        Episode(alert="F", start=start, end=end, peak=peak)
        for start, end, peak in ((10, 50, 0.2), (40, 60, 0.5), (90, 95, 0.3))
    )

    assert joined([third, second, first]) == (Episode(alert="F", start=10, end=60, peak=0.5), third)


def test_what_goes_on_at_the_end_ends_there() -> None:
    """Nobody knows what comes."""
    (episode,) = episodes_of(_points(1, 2, 3), _rule(keep=600), STEP, until=50.0)
    assert (episode.start, episode.end) == (15.0, 50.0)
