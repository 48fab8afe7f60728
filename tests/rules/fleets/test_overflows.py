"""Limits against simulated fleets: what pages, how soon, and what random traffic must not do."""

import pytest

from support.fleet_sim.curves import between
from support.fleet_sim.fleet import Fleet
from support.fleet_sim.world import live, product_rules

ABOVE, NEAR, SPIKE = "TritonQpsAboveLimit", "TritonQpsNearLimit", "TritonQpsSpike"


def limited(limit, *, seconds=1800, scrape=5, seed=0, **served):
    """One server with one model and its limit."""
    fleet = Fleet(seconds=seconds, seed=seed, scrape_seconds=scrape)
    fleet.serve(fleet.server(lost=served.pop("lost", 0)), bounds=None, **served)
    return fleet.owns("nms", "1").limits("nms", limit)


def lived(engine, fleet, *alerts, phases=0):
    """The world with the product's rules for its scrape interval."""
    return live(engine, fleet, *alerts, groups=product_rules(fleet.scrape_seconds), phases=phases)


@pytest.mark.parametrize("seed", range(4))
def test_twice_the_limit_pages_within_25_seconds(engine, seed):
    """At a scrape every 5 s, whatever the phases; with the way to people it is half a minute."""
    world = limited(8, qps=between(1200, 1800, 16, otherwise=4), seed=seed)

    (page,) = lived(engine, world, ABOVE, phases=seed).fired(ABOVE)

    assert 1200 < page.since <= 1225


@pytest.mark.parametrize(("limit", "within"), [(0.1, 1000), (1, 120), (100, 25), (1000, 25)])
def test_twice_any_limit_pages(engine, limit, within):
    """The fewer requests there are, the longer it takes until they are no chance."""
    world = limited(limit, seconds=3600, qps=between(1800, 3600, 2 * limit, otherwise=limit / 2))

    (page, *_) = lived(engine, world, ABOVE).fired(ABOVE)

    assert 1800 < page.since <= 1800 + within


@pytest.mark.parametrize(
    ("limit", "share", "scrape"), [(8, 0.9, 5), (40, 0.95, 15), (1, 0.95, 15), (0.1, 0.9, 15)]
)
def test_random_traffic_below_the_limit_pages_nobody(engine, limit, share, scrape):
    """A day of it, with 1 % of the scrapes lost."""
    world = limited(limit, seconds=86_400, scrape=scrape, qps=share * limit, lost=0.01)

    assert lived(engine, world, ABOVE).fired(ABOVE) == []


@pytest.mark.parametrize("seed", range(4))
def test_a_burst_of_seconds_is_a_spike_and_no_overflow(engine, seed):
    """40/s for 5 s at limit 8, while the minute has 7/s; it is known when the minute is over."""
    bursts = between(1200, 1205, 40, otherwise=4)
    world = lived(engine, limited(8, qps=bursts, seed=seed, lost=0.01), ABOVE, SPIKE, phases=seed)

    assert world.fired(ABOVE) == []
    assert [1260 < one.since <= 1260 + 15 + 30 for one in world.fired(SPIKE)] == [True]


def test_what_queues_up_counts(engine):
    """7/s of 21/s are completed, the limit is 8; the message tells the queue."""
    world = limited(8, qps=between(1200, 1800, 21, otherwise=4), capacity=7)

    (page,) = lived(engine, world, ABOVE).fired(ABOVE)

    assert 1200 < page.since <= 1225


def test_overload_above_the_limit_pages_although_less_is_completed(engine):
    """Limit 100, capacity 90, offered 200."""
    world = limited(100, qps=between(1200, 1800, 200, otherwise=40), capacity=90)

    (page,) = lived(engine, world, ABOVE).fired(ABOVE)

    assert 1200 < page.since <= 1225


def test_a_queue_that_drains_is_no_traffic(engine):
    """After the overload what waited is answered at capacity, above the limit; nobody asks for it anew."""
    world = limited(50, qps=between(1200, 1260, 300, otherwise=10), capacity=90, seconds=2400)

    told = lived(engine, world, ABOVE).fired(ABOVE)

    assert [one.until is not None and one.until < 1260 + 150 for one in told] == [True]
