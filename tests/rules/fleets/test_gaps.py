"""What came while no one looked is charged when it shows: an absent Prometheus, restarts, long gaps."""

import pytest

from support.fleet_sim.curves import between, steps
from support.fleet_sim.fleet import Fleet
from support.fleet_sim.world import live

UNCOUNTED = "TritonRequestsUncounted"
VALID, BAD = "slo:sli_valid_requests:increase", "slo:sli_bad_requests:increase"


def whole(lived, fleet, record, slo):
    """All that an SLO of the model counted in a world."""
    return lived.value(f'sum(sum_over_time({record}{{version="",slo="{slo}"}}[1d]))', fleet.seconds)


@pytest.mark.parametrize(("scrape", "away"), [(5, 60), (15, 420), (15, 660), (30, 1800), (60, 1200)])
@pytest.mark.parametrize("phases", [0, 1])
def test_what_came_while_prometheus_was_away_is_charged(engine, scrape, away, phases):
    """Servers went on, their counters tell when it is back, however late it reads its objectives then."""
    fleet = Fleet(seconds=2400 + away, scrape_seconds=scrape, tick_seconds=5)
    fleet.prometheus_away((1200, 1200 + away))
    traffic = between(0, fleet.seconds - 180, 5)
    for number in range(2):
        server = fleet.server(f"t{number}")
        fleet.serve(server, qps=traffic, steady=True, raised=0.1, soft=0.1, slow=0.1, workers=2)
    fleet.owns("nms", "1").promises("nms").promises_time("nms", "0.1")

    lived = live(engine, fleet, VALID, BAD, phases=phases)

    asked = fleet.truth.requests()
    assert whole(lived, fleet, BAD, "availability") == pytest.approx(fleet.truth.bad(), rel=0.02)
    assert whole(lived, fleet, VALID, "availability") == pytest.approx(asked, rel=0.02)
    late = fleet.truth.bad() + fleet.truth.count("slow")
    assert whole(lived, fleet, BAD, "latency") == pytest.approx(late, rel=0.025)


@pytest.mark.parametrize("scrape", [5, 15, 30])
def test_a_page_that_shows_0_after_a_restart_is_where_counting_begins(engine, scrape):
    """50 failed before it; by the second page more have failed than that."""
    fleet = Fleet(seconds=2400, scrape_seconds=scrape)
    server = fleet.server(restarts=[(1200, 1230)], quiet_seconds=2 * scrape, phase_seconds=0)
    began = 1230 + 2 * scrape
    failing = [(1150, 1.0), (1155, 0.0), (began, 1.0), (began + 55, 0.0)]
    fleet.serve(server, qps=10, steady=True, bounds=None, raised=steps(*failing))
    fleet.owns("nms", "1").promises("nms")

    lived = live(engine, fleet, BAD)

    assert fleet.truth.bad() == 600
    assert whole(lived, fleet, BAD, "availability") == pytest.approx(600, rel=0.02)


def test_a_server_that_comes_back_after_a_gap_of_an_hour_is_not_charged_twice(engine):
    """Its counters go on; a second gap is charged from where the first one ended."""
    fleet = Fleet(seconds=9600, scrape_seconds=30, tick_seconds=5)
    server = fleet.server(silent=[(1200, 4500), (5400, 7200)])
    fleet.serve(server, qps=between(0, 9300, 2), steady=True, bounds=None, raised=0.25)
    fleet.owns("nms", "1").promises("nms")

    lived = live(engine, fleet, BAD)

    assert whole(lived, fleet, BAD, "availability") == pytest.approx(fleet.truth.bad(), rel=0.02)


def uncounted(engine, *silent, **server):
    """What is said of a server that was not read in these spans, beside one that was; the largest number."""
    fleet = Fleet(seconds=14_400, seed=3)
    for name, spans, how in (("a", silent, server), ("b", (), {})):
        fleet.serve(fleet.server(name, silent=spans, phase_seconds=4.0, **how), "nms", qps=4, steady=True)
    fleet.owns("nms", "1")
    lived = live(engine, fleet, UNCOUNTED)
    most = lived.value("max(max_over_time(replica:triton_requests_uncounted:sum[4h]))", fleet.seconds)
    return [(one.labels["replica"], one.since) for one in lived.fired(UNCOUNTED)], most


def test_what_came_in_a_longer_gap_is_said_with_its_number(engine):
    """Ninety minutes at 4/s are 21,600 requests, of which nothing is charged."""
    ((replica, since),), most = uncounted(engine, (3600, 9000))

    assert replica == "a"
    assert 9000 <= since <= 9000 + 195
    assert most == pytest.approx(21_600, abs=300)


def test_what_came_in_an_hour_is_charged_and_not_said(engine):
    """Neither after fifty-five minutes, nor of a server that was only just found."""
    assert uncounted(engine, (3600, 6900)) == ([], None)
    assert uncounted(engine, life=(9000.0, 14_400.0)) == ([], None)


def test_a_server_that_started_again_in_the_gap_has_counted_what_it_shows(engine):
    """It was restarted in the last half hour of two: 4/s since then."""
    ((replica, _),), most = uncounted(engine, (3600, 10_800), restarts=[(9000, 9010)])

    assert replica == "a"
    assert most == pytest.approx(7160, abs=120)
