"""Noise is not news: what chance does, and what the baseline did by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tritonobs.clients.prometheus import Series
from tritonobs.extensions.triage.case import Spread, chance
from tritonobs.timings.measured import Timing

if TYPE_CHECKING:
    from conftest import Fleet

DECODE = {"model": "preprocess", "version": "1", "stage": "decode"}
INSPECT = {"model": "inspect", "version": "1"}


def _series(labels: dict[str, str], *values: float) -> tuple[Series, ...]:
    return (Series(labels=labels, points=tuple((60.0 * at, value) for at, value in enumerate(values))),)


def test_what_the_baseline_did_by_itself_is_no_news(fleet: Fleet) -> None:
    """Requests take 71 ms instead of 51, as they did in three of ten parts of the baseline."""
    fleet.now.slow(0.020, "preprocess", "decode")
    fleet.usual["request"] = _series(INSPECT, *[0.04] * 7, 0.08, 0.09, 0.08)
    fleet.usual["stage"] = _series(DECODE, *[0.01] * 7, 0.04, 0.05, 0.04)

    assert fleet.verdict().status == "healthy"


def test_one_bad_part_of_the_baseline_hides_nothing(fleet: Fleet) -> None:
    """A single spike an hour ago does not make the next one usual."""
    fleet.now.slow(0.020, "preprocess", "decode")
    fleet.usual["request"] = _series(INSPECT, *[0.05] * 9, 0.9)

    assert fleet.checks() == ["slow_stage"]


def test_a_stage_that_moves_by_itself_is_not_the_cause(fleet: Fleet) -> None:
    """Requests take longer, but decode was as slow before for a third of the time."""
    fleet.now.slow(0.020, "preprocess", "decode")
    fleet.usual["stage"] = _series(DECODE, *[0.01] * 7, 0.05, 0.05, 0.05)

    assert "slow_stage" not in fleet.checks()


def test_a_tail_as_long_as_in_the_baseline_is_no_news(fleet: Fleet) -> None:
    """The slowest hundredth of a minute is what its slowest few requests were."""
    fleet.now.stage("preprocess", "decode", 0.012, p99=0.400)
    fleet.now.stage("inspect", "total", 0.050, p99=0.480)
    fleet.usual["p99"] = _series({**INSPECT, "stage": "total"}, 0.1, 0.5, 0.1, 0.5, 0.5)

    assert fleet.verdict().status == "healthy"


def test_a_tail_of_few_requests_is_not_judged(fleet: Fleet) -> None:
    """Sixty requests have no slowest hundredth."""
    for window in (fleet.now, fleet.before):
        window.model("inspect", rate=0.1)
    fleet.now.stage("preprocess", "decode", 0.012, p99=0.400)
    fleet.now.stage("inspect", "total", 0.050, rate=0.1, p99=0.480)

    assert fleet.verdict().status == "healthy"


def test_few_requests_differ_by_chance(fleet: Fleet) -> None:
    """Half a dozen requests that take 40 % longer are what a wide distribution gives now and then."""
    for window in (fleet.now, fleet.before):
        window.model("inspect", rate=0.01)
        window.put("p95", 0.200, model="inspect", version="1", stage="total")
    fleet.now.stage("inspect", "total", 0.070, rate=0.01)

    assert fleet.verdict().status == "healthy"


@pytest.mark.parametrize(
    ("values", "most"),
    [
        pytest.param([1.0, 2.0, 3.0], None, id="too few parts to tell"),
        pytest.param([4.0, 1.0, 3.0, 2.0], 4.0, id="of four parts the worst"),
        pytest.param([4.0, 1.0, 3.0, 2.0, 1.0, 1.0, 1.0, 1.0], 3.0, id="of eight parts all but the worst"),
        pytest.param([float(value) for value in range(1, 11)], 9.0, id="nine of ten"),
        pytest.param([1.0, float("nan"), 2.0, 3.0], None, id="parts without a number are none"),
    ],
)
def test_usual_is_what_nine_parts_of_ten_stay_below(values: list[float], most: float | None) -> None:
    """By nearest rank, one series by its labels."""
    usual = Spread(
        series={"request": (*_series({**INSPECT, "model": "x"}, *[9.0] * 10), *_series(INSPECT, *values))}
    )

    assert usual.most("request", ("inspect", "1")) == most


def test_chance_shrinks_with_the_number_of_requests() -> None:
    """Three standard errors; four times the requests, half the doubt; nothing known, no doubt."""
    timing = Timing(rate=1.0, mean=0.05, p50=0.04, p95=0.04 + 1.645 * 0.01)

    assert chance(timing, 200.0, 200.0) == pytest.approx(0.003)
    assert chance(timing, 800.0, 800.0) == pytest.approx(0.0015)
    assert chance(Timing(rate=1.0, mean=0.05), 1.0, 1.0) == 0.0
