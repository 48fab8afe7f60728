"""Forecasts against simulated fleets: growth is announced, the day's own rhythm is not."""

import numpy as np
import pytest

from support.fleet_sim.fleet import Fleet
from support.fleet_sim.world import live, product_rules

WILL, ABOVE = "TritonQpsWillExceedLimit", "TritonQpsAboveLimit"
DAY, HOUR = 86_400, 3600


def limited(limit, qps, *, seconds, seed=0, scrape=15):
    """One server with one model and its limit."""
    fleet = Fleet(seconds=seconds, seed=seed, scrape_seconds=scrape, tick_seconds=scrape)
    fleet.serve(fleet.server(lost=0.01), qps=qps, bounds=None)
    return fleet.owns("nms", "1").limits("nms", limit)


def lived(engine, fleet, *alerts):
    """The world with the product's rules for its scrape interval."""
    return live(engine, fleet, *alerts, groups=product_rules(fleet.scrape_seconds))


@pytest.mark.parametrize(("limit", "an_hour"), [(8, 0.2), (40, 0.2), (100, 0.1), (8, 0.5), (40, 0.8)])
def test_growth_is_announced_ten_minutes_ahead(engine, limit, an_hour):
    """From half of the limit at a steady pace; announced before nine tenths of what is left has passed."""
    reached = 2 * HOUR + 0.5 / an_hour * HOUR
    world = limited(
        limit,
        lambda at: limit * (0.5 + an_hour * np.clip(at - 2 * HOUR, 0, None) / HOUR),
        seconds=reached + 600,
    )

    told = lived(engine, world, WILL).fired(WILL)

    assert told
    assert 2 * HOUR < told[0].since <= reached - 600


@pytest.mark.parametrize("share", [0.5, 0.8, 0.9])
def test_traffic_that_does_not_grow_is_not_foreseen(engine, share):
    """Two days of random traffic."""
    world = limited(8, 8 * share, seconds=2 * DAY, seed=1)

    assert lived(engine, world, WILL).fired(WILL) == []


def morning(limit):
    """Every day from 0.3 of the limit to 0.85 of it between eight and half past nine, weekends at 0.3."""

    def qps(at):
        hour, weekday = at % DAY / HOUR, at // DAY % 7
        day = np.interp(hour, [0, 8, 9.5, 18, 21, 24], [0.3, 0.3, 0.85, 0.85, 0.3, 0.3])
        return limit * np.where(weekday < 5, day, 0.3)

    return qps


def test_a_morning_like_every_morning_is_not_foreseen(engine):
    """Also on a Monday, which is unlike the Sunday before it and like the Monday before that."""
    told = lived(engine, limited(40, morning(40), seconds=9 * DAY, scrape=60), WILL).fired(
        WILL, since=7 * DAY
    )

    assert told == []


def test_a_morning_that_goes_on_growing_is_foreseen(engine):
    """On the ninth day it rises as usual, and then on past the limit."""
    usual = morning(40)

    def qps(at):
        grown = np.interp(at, [8 * DAY + 10 * HOUR, 8 * DAY + 12 * HOUR], [0, 0.3])
        return usual(at) + 40 * grown

    told = lived(engine, limited(40, qps, seconds=8 * DAY + 12 * HOUR, scrape=60), WILL).fired(
        WILL, since=8 * DAY
    )

    assert [8 * DAY + 10 * HOUR < one.since <= 8 * DAY + 11 * HOUR - 600 for one in told[:1]] == [True]
