"""Workers without a heartbeat: taken away, half dead, dead (simulated fleets)."""

import pytest

from support.fleet_sim.curves import between
from support.fleet_sim.fleet import Fleet
from support.fleet_sim.world import live
from tritonobs import names

DEAD = "TritonWorkerDead"
NMS = {"model": "nms", "version": "1"}


def with_another(scrape=15, *, qps=5, **shares):
    """A model on one server, and another instance of it whose heartbeat stands from 1800 s on."""
    fleet = Fleet(seconds=5400, scrape_seconds=scrape, tick_seconds=5)
    server = fleet.server("a")
    fleet.serve(server, qps=qps, **shares)
    fleet.shows(
        server, names.HEARTBEAT, lambda at: at.clip(max=1800) + 1e9, **NMS, worker="nms_0_7-555-1a2b3c"
    )
    fleet.counts(
        server,
        f"{names.STAGE_DURATION}_count",
        between(0, 1800, 1),
        **NMS,
        worker="nms_0_7-555-1a2b3c",
        stage="total",
    )
    return fleet.owns("nms", "1")


@pytest.mark.parametrize(("scrape", "qps"), [(5, 5), (15, 1), (30, 5)])
def test_an_instance_that_was_taken_away_is_no_page(engine, scrape, qps):
    """Its series stay; the others answer, and nothing fails."""
    assert live(engine, with_another(scrape, qps=qps), DEAD).fired(DEAD) == []


def test_an_instance_that_was_killed_is_told_and_lasts_while_requests_fail(engine):
    """Triton goes on giving it its share."""
    told = live(engine, with_another(dead=between(1800, 5400, 0.1)), DEAD).fired(DEAD)

    assert [one.labels["model_instance"] for one in told] == ["nms_0_7"]
    assert told[0].since <= 1800 + 105
    assert told[0].until is None


@pytest.mark.parametrize("scrape", [5, 15, 30])
def test_a_worker_that_is_half_dead_is_told_as_long_as_it_is(engine, scrape):
    """It answers, but its heartbeat stands still: that is one alert, until it is well for five minutes."""
    fleet = Fleet(seconds=5400, scrape_seconds=scrape, tick_seconds=5)
    fleet.serve(fleet.server("a"), qps=5, stuck=[(1800, 4800)])
    fleet.serve(fleet.server("b"), qps=5)

    told = live(engine, fleet.owns("nms", "1"), DEAD).fired(DEAD)

    assert [one.labels["replica"] for one in told] == ["a"]
    # A minute without a heartbeat, and two evaluations.
    assert told[0].since <= 1800 + max(60, 4 * scrape) + scrape + 2 * 30
    assert 5100 <= told[0].until <= 5100 + 120
