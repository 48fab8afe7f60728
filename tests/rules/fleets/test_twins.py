"""One server under two addresses: told within three minutes, and no page from counting twice."""

import pytest

from support.fleet_sim.fleet import Fleet
from support.fleet_sim.world import live

TWICE, ABOVE = "TritonServerScrapedTwice", "TritonQpsAboveLimit"


@pytest.mark.parametrize(("scrape", "since"), [(5, 0), (15, 0), (15, 900), (30, 900)])
def test_a_server_under_two_addresses_is_told_and_pages_for_no_limit(engine, scrape, since):
    """Six requests a second of eight, without any metric of loads; a third server is its own."""
    fleet = Fleet(seconds=since + 1500, scrape_seconds=scrape)
    server = fleet.server("a", "a.local", discovered=(since, since + 1500))
    fleet.serve(server, qps=6, bounds=None)
    fleet.serve(fleet.server("b"), "ocr", qps=6, bounds=None)
    fleet.owns("nms", "1").owns("ocr", "1").limits("nms", 8).limits("ocr", 8)

    lived = live(engine, fleet, TWICE, ABOVE)

    assert {one.labels["replica"] for one in lived.fired(TWICE)} == {"a", "a.local"}
    assert max(one.since for one in lived.fired(TWICE)) <= since + 180 + scrape
    assert lived.fired(ABOVE) == []


@pytest.mark.parametrize("steady", [True, False])
def test_servers_with_the_same_traffic_are_several(engine, steady):
    """Ten that balance to the request take different microseconds; what is too much is told."""
    fleet = Fleet(seconds=1800, seed=3)
    for number in range(10):
        fleet.serve(fleet.server(f"t{number}", phase_seconds=0), qps=2, steady=steady, bounds=None)
    fleet.owns("nms", "1").limits("nms", 12)

    lived = live(engine, fleet, TWICE, ABOVE)

    assert lived.fired(TWICE) == []
    assert lived.fired(ABOVE)[0].since <= 180


def test_more_than_twice_the_limit_is_told_of_a_server_under_two_addresses(engine):
    """That is too much however it is counted."""
    fleet = Fleet(seconds=1200)
    fleet.serve(fleet.server("a", "a.local"), qps=12, bounds=None)
    fleet.owns("nms", "1").limits("nms", 8)

    assert live(engine, fleet, ABOVE).fired(ABOVE)
