"""Traffic that breathes pages nobody, and what goes on is told as long as it does."""

import pytest

from support.fleet_sim.curves import between
from support.fleet_sim.fleet import Fleet
from support.fleet_sim.uneven import bursts, correlated, gamma_minutes
from support.fleet_sim.world import live

ABOVE, STOPPED = "TritonQpsAboveLimit", "TritonTrafficStopped"
HOUR = 3600


def limited(qps, limit, *, seconds, **served):
    """One server with one model and its limit."""
    fleet = Fleet(seconds=seconds, tick_seconds=5)
    fleet.serve(fleet.server(), qps=qps, bounds=None, **served)
    return fleet.owns("nms", "1").limits("nms", limit)


@pytest.mark.parametrize("limit", [8, 400])
@pytest.mark.parametrize("breath", [gamma_minutes, correlated], ids=lambda breath: breath.__name__)
def test_traffic_that_breathes_below_its_limit_pages_nobody(engine, limit, breath):
    """Half a day around four fifths of the limit, and bursts of seconds."""
    qps = bursts(breath(0.8 * limit, 0.15, 1), 2, 2)

    lived = live(engine, limited(qps, limit, seconds=12 * HOUR), ABOVE)

    assert lived.fired(ABOVE) == []


def test_an_overload_behind_a_full_queue_is_told_to_its_end(engine):
    """40/s come for an hour and 18/s are answered; what the full queue refuses Triton counts nowhere."""
    world = limited(between(1800, 5400, 40, otherwise=8), 20, seconds=7200, capacity=18, most_waiting=800)

    (page,) = live(engine, world, ABOVE).fired(ABOVE)

    assert 1800 < page.since <= 1860
    assert page.until is not None
    assert 5400 <= page.until <= 5400 + 300


def test_traffic_that_stopped_is_told_until_it_is_back(engine):
    """Three hours without a request."""
    world = limited(between(2 * HOUR, 5 * HOUR, 0, otherwise=5), 20, seconds=6 * HOUR)

    (told,) = live(engine, world, STOPPED).fired(STOPPED)

    assert told.until is not None
    assert 5 * HOUR <= told.until <= 5 * HOUR + 75  # a scrape and two evaluations
