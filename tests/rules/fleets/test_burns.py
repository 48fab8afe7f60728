"""Burn alerts: when they fire, whom they name, how often, and when they are over (D9, D10, D12)."""

import pytest

from support.fleet_sim.curves import between, every, steps
from support.fleet_sim.fleet import FOREVER, Fleet
from support.fleet_sim.world import live

FAST, MEDIUM = "TritonErrorBudgetBurnFast", "TritonErrorBudgetBurnMedium"
TIERS = (FAST, MEDIUM, "TritonErrorBudgetBurnSlow", "TritonErrorBudgetBurnLong")
HOUR, DAY = 3600, 86_400
START = 2 * HOUR


def failing(share, *, seconds=4 * HOUR, qps=10, scrape=15, seed=0, servers=1, steady=False):
    """Two quiet hours, then so large a share of errors, on every server."""
    fleet = Fleet(seconds=seconds, scrape_seconds=scrape, seed=seed)
    for number in range(servers):
        server = fleet.server(f"triton-{number}")
        fleet.serve(server, qps=qps / servers, bounds=None, raised=steps((START, share)), steady=steady)
    return fleet.owns("nms", "1").promises("nms")


@pytest.mark.parametrize(
    ("scrape", "qps", "servers", "phases"),
    [
        (5, 10, 1, 0),
        (15, 10, 1, 1),
        (15, 10, 1, 2),
        (15, 100, 4, 3),
        (15, 1, 1, 4),
        (30, 10, 2, 5),
        (5, 0.5, 1, 6),
    ],
)
def test_a_total_outage_pages_within_two_minutes(engine, scrape, qps, servers, phases):
    """Every request fails, on quiet and on busy models (D9)."""
    fleet = failing(1, seconds=START + 600, qps=qps, scrape=scrape, seed=phases, servers=servers)

    lived = live(engine, fleet, FAST, phases=phases)

    assert [0 < one.since - START <= 120 for one in lived.fired(FAST)] == [True]


@pytest.mark.parametrize(("share", "phases"), [(0.1, 0), (0.1, 1), (0.03, 2)])
def test_the_fast_tier_pages_as_soon_as_its_window_allows(engine, share, phases):
    """An hour must hold 1.44 % of errors at 99.9 %: theory, and two evaluations (D9)."""
    fleet = failing(share, seed=phases, seconds=START + 2700, steady=True)

    lived = live(engine, fleet, FAST, phases=phases)

    theory = 0.0144 / share * HOUR
    assert [0.9 * theory <= one.since - START <= theory + 75 for one in lived.fired(FAST)] == [True]


@pytest.mark.parametrize("qps", [10, 0.02])
def test_one_error_pages_nobody(engine, qps):
    """A single error, also where there is but one request a minute (D9)."""
    fleet = Fleet(seconds=4 * HOUR, seed=1)
    fleet.serve(
        fleet.server(),
        qps=qps,
        bounds=None,
        steady=True,
        raised=between(START, START + 1.5 / qps, 1 if qps < 1 else 0.1),
    )
    fleet.owns("nms", "1").promises("nms")

    lived = live(engine, fleet, FAST, MEDIUM)

    assert 1 <= fleet.truth.bad() <= 2
    assert lived.fired(FAST) + lived.fired(MEDIUM) == []


@pytest.mark.parametrize(("minutes", "phases"), [(3, 0), (30, 1)])
def test_the_fast_tier_is_over_soon_after_the_errors(engine, minutes, phases):
    """The short window of 5 minutes empties; as in 0.5.0 the page is over then (D9)."""
    fleet = Fleet(seconds=START + 5400, seed=phases)
    fleet.serve(fleet.server(), qps=10, bounds=None, raised=between(START, START + 60 * minutes, 1))
    fleet.owns("nms", "1").promises("nms")

    lived = live(engine, fleet, FAST, phases=phases)

    end = START + 60 * minutes
    assert len(lived.fired(FAST)) == 1
    assert 0 < lived.fired(FAST)[0].until - end <= 375


def told_of(lived, alert=FAST):
    """The subjects an alert named."""
    return {(one.labels.get("model", ""), one.labels.get("version", "")) for one in lived.fired(alert)}


@pytest.mark.parametrize(("servers", "phases"), [(1, 0), (3, 1)])
def test_one_bad_version_is_one_page(engine, servers, phases):
    """Model and version promise the same; the bad version is told once (D10)."""
    fleet = Fleet(seconds=START + 1800, seed=phases)
    for number in range(servers):
        server = fleet.server(f"triton-{number}")
        fleet.serve(server, qps=10, bounds=None)
        fleet.serve(server, version="2", qps=10, bounds=None, raised=1, loaded=[(START, FOREVER)])
    fleet.owns("nms", "1", "2").promises("nms")
    for version in ("1", "2"):
        fleet.promises("nms", version=version)

    lived = live(engine, fleet, FAST, phases=phases)

    assert len(told_of(lived)) == 1


@pytest.mark.parametrize("phases", [0, 1])
def test_a_model_with_one_version_is_one_page(engine, phases):
    """Model and version are the same traffic (D10)."""
    fleet = failing(1, seconds=START + 1800, seed=phases).promises("nms", version="1")

    lived = live(engine, fleet, FAST, phases=phases)

    assert len(told_of(lived)) == 1


def test_a_canary_too_small_for_its_model_is_told_of_itself(engine):
    """One request in two hundred fails: nothing to the model, everything to its version (D10)."""
    fleet = Fleet(seconds=START + 3600)
    server = fleet.server()
    fleet.serve(server, qps=199, bounds=None)
    fleet.serve(server, version="2", qps=1, bounds=None, raised=steps((START, 1)))
    fleet.owns("nms", "1", "2").promises("nms").promises("nms", version="2")

    lived = live(engine, fleet, FAST)

    assert told_of(lived) == {("nms", "2")}


def test_two_bad_models_are_two_pages(engine):
    """Incidents of different models have nothing to do with each other (D10)."""
    fleet = Fleet(seconds=START + 1200)
    server = fleet.server()
    for model in ("nms", "ocr"):
        fleet.serve(server, model, qps=10, bounds=None, raised=steps((START, 1)))
        fleet.owns(model, "1").promises(model).promises(model, version="1")

    lived = live(engine, fleet, FAST)

    assert len(told_of(lived)) == 2
    assert {model for model, _ in told_of(lived)} == {"nms", "ocr"}


@pytest.mark.parametrize(
    ("period", "lasting", "phases"), [(600, 60, 0), (600, 60, 1), (900, 60, 2), (600, 120, 3)]
)
def test_errors_that_come_and_go_do_not_flap(engine, period, lasting, phases):
    """One bad minute in ten, for six hours, are a few messages and not one each time (D12)."""
    fleet = Fleet(seconds=START + 6 * HOUR, seed=phases)
    bad = every(period, lasting, 1, first=START)
    fleet.serve(fleet.server(), qps=10, bounds=None, raised=bad)
    fleet.owns("nms", "1").promises("nms")

    lived = live(engine, fleet, FAST, phases=phases)

    assert 1 <= len(lived.fired(FAST)) <= 5


@pytest.mark.parametrize(("objective", "lasting", "share"), [(0.99, 240, 1.0), (0.999, 60, 0.5)])
def test_an_outage_that_comes_every_hour_pages(engine, objective, lasting, share):
    """Each is too short for the fast tier; together they spend the budget eight times as fast."""
    fleet = Fleet(seconds=START + 12 * HOUR, seed=1)
    fleet.serve(fleet.server(), qps=10, bounds=None, raised=every(HOUR, lasting, share, first=START))
    fleet.owns("nms", "1").promises("nms", objective)

    lived = live(engine, fleet, FAST, MEDIUM)

    assert lived.fired(FAST) == []
    assert 1 <= len(lived.fired(MEDIUM)) <= 3
    assert lived.fired(MEDIUM)[0].since < START + 8 * HOUR
