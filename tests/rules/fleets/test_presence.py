"""Servers and models that are there, gone, or out of sight (D3, D4, D5)."""

import pytest

from support.fleet_sim.curves import between
from support.fleet_sim.fleet import FOREVER, Fleet
from support.fleet_sim.world import live

DAY = 86_400
UNLOADED, DOWN = "TritonModelUnloaded", "TritonServerDown"
STOPPED, DROP = "TritonTrafficStopped", "TritonTrafficDrop"


def fleet_of(servers, *, seconds=3600, seed=0, lost=0, scrape=15, down=()):
    """So many servers, each with its part of `nms`; those in `down` go down after 20 minutes and stay so."""
    fleet = Fleet(seconds=seconds, seed=seed, scrape_seconds=scrape)
    made = [
        fleet.server(f"triton-{number}", lost=lost, restarts=[(1200, seconds)] if number in down else [])
        for number in range(servers)
    ]
    return fleet.owns("nms", "1"), made


@pytest.mark.parametrize(("servers", "scrape", "phases"), [(2, 15, 0), (5, 5, 1), (20, 15, 2)])
def test_a_model_gone_everywhere_is_told_while_an_unrelated_server_is_down(engine, servers, scrape, phases):
    """A server that never had the model says nothing about it, up or down (D3)."""
    fleet, made = fleet_of(servers, down=[0], scrape=scrape, seed=phases)
    fleet.serve(made[0], "other", qps=5, bounds=None)
    for server in made[1:]:
        fleet.serve(server, qps=5, bounds=None, loaded=[(0, 1800)])
    fleet.owns("other", "1")

    lived = live(engine, fleet, UNLOADED, DOWN, phases=phases)

    assert [one.labels["replica"] for one in lived.fired(DOWN)] == ["triton-0"]
    assert [one.labels["model"] for one in lived.fired(UNLOADED, since=1800)] == ["nms"]
    assert lived.fired(UNLOADED, model="nms")[0].since <= 1800 + 240


@pytest.mark.parametrize("servers", [1, 3])
def test_a_model_whose_own_servers_are_all_down_is_not_called_unloaded(engine, servers):
    """The servers are down: that is told, and nothing else is known (D3)."""
    fleet, made = fleet_of(servers + 1, down=range(servers))
    for server in made[:-1]:
        fleet.serve(server, qps=5, bounds=None)
    fleet.serve(made[-1], "other", qps=5, bounds=None)
    fleet.owns("other", "1")

    lived = live(engine, fleet, UNLOADED, STOPPED, DROP, DOWN)

    assert len(lived.fired(DOWN)) == servers
    assert lived.fired(UNLOADED) + lived.fired(STOPPED) + lived.fired(DROP) == []


def two_days(scrape=60, **options):
    """A day and four hours at ten requests a second, none of which comes in the last two hours."""
    end = DAY + 4 * 3600
    fleet = Fleet(seconds=end, scrape_seconds=scrape, **options)
    return fleet.owns("nms", "1"), between(0, end - 7200, 10), end - 7200


@pytest.mark.parametrize("unrelated", ["down for good", "restarting", "none"])
def test_traffic_that_stopped_is_told_whatever_an_unrelated_server_does(engine, unrelated):
    """Nobody asks the model any more; a server without it is no reason not to say so (D3)."""
    fleet, qps, stop = two_days()
    fleet.serve(fleet.server("triton-1"), qps=qps, bounds=None)
    if unrelated != "none":
        restarts = {
            "down for good": [(7200, fleet.seconds)],
            "restarting": [(t, t + 60) for t in range(stop, int(fleet.seconds), 400)],
        }
        other = fleet.server("triton-2", restarts=restarts[unrelated])
        fleet.serve(other, "other", qps=5, bounds=None)

    lived = live(engine, fleet, STOPPED)

    assert [one.labels["model"] for one in lived.fired(STOPPED)] == ["nms"]
    assert lived.fired(STOPPED)[0].since <= stop + 1200


def test_traffic_that_stopped_is_told_although_scrapes_get_lost(engine):
    """With twenty servers and one scrape in a hundred lost, some server is nearly always missing (D3)."""
    fleet, qps, stop = two_days(scrape=30, seed=7)
    for number in range(20):
        server = fleet.server(f"triton-{number}", lost=0.01)
        fleet.serve(server, qps=lambda at: qps(at) / 20, bounds=None)

    lived = live(engine, fleet, STOPPED)

    assert [one.labels["model"] for one in lived.fired(STOPPED)] == ["nms"]
    assert lived.fired(STOPPED)[0].since <= stop + 1800


def test_traffic_that_goes_on_is_not_called_stopped(engine):
    """Twenty servers that lose scrapes and restart, and traffic all the time (D3)."""
    fleet, made = fleet_of(20, seconds=7200, lost=0.01, seed=3)
    for number, server in enumerate(made):
        fleet.serve(server, qps=0.5, bounds=None)
        restarting = fleet.server(f"again-{number}", restarts=[(2000 + 60 * number, 2100 + 60 * number)])
        fleet.serve(restarting, qps=0.5, bounds=None)

    lived = live(engine, fleet, STOPPED, DROP, UNLOADED)

    assert lived.all_fired() == {}


@pytest.mark.parametrize(("servers", "scrape", "phases"), [(2, 15, 0), (2, 5, 1), (6, 30, 2), (20, 15, 3)])
def test_a_model_gone_from_one_server_is_named_with_it(engine, servers, scrape, phases):
    """Its share of requests gets answers that Triton counts nowhere: somebody must know (D4)."""
    fleet, made = fleet_of(servers, scrape=scrape, seed=phases)
    for number, server in enumerate(made):
        fleet.serve(server, qps=5, loaded=[(0, 1800)] if number == 0 else [(0, FOREVER)])
        fleet.serve(server, "other", qps=5)
    fleet.owns("other", "1")

    lived = live(engine, fleet, phases=phases)

    told = lived.all_fired(since=1800, model="nms", replica="triton-0")
    assert told != {}
    assert min(one.since for fired in told.values() for one in fired) <= 1800 + 420
    assert lived.all_fired(model="other") == {}


def test_a_rollout_takes_no_model_from_anybody(engine):
    """Version 2 takes over, server by server, as the latest policy does; nobody is woken (D4, D14)."""
    fleet, made = fleet_of(3)
    for number, server in enumerate(made):
        turn = 1200 + 300 * number
        fleet.serve(server, qps=5, loaded=[(0, turn)])
        fleet.serve(server, version="2", qps=5, loaded=[(turn, FOREVER)])

    lived = live(engine, fleet)

    loud = {
        name
        for name, fired in lived.all_fired().items()
        if fired[0].labels["severity"] in {"critical", "warning"}
    }
    assert loud == set()


def test_a_server_that_restarts_took_no_model_away(engine):
    """A restart of one server is not a model that was unloaded there (D4)."""
    fleet, made = fleet_of(2)
    again = fleet.server("triton-9", restarts=[(1500, 1545)])
    for server in (*made, again):
        fleet.serve(server, qps=5)

    lived = live(engine, fleet)

    loud = {
        name
        for name, fired in lived.all_fired(until=3600).items()
        if fired[0].labels["severity"] == "critical"
    }
    assert loud <= {DOWN}


@pytest.mark.parametrize(("servers", "scrape", "phases"), [(1, 15, 0), (4, 5, 1), (20, 15, 2)])
def test_targets_that_all_vanish_from_discovery_are_told_within_a_minute(engine, servers, scrape, phases):
    """An empty answer of service discovery leaves no `up` that could be 0 (D5)."""
    fleet = Fleet(seconds=3600, scrape_seconds=scrape, seed=phases)
    for number in range(servers):
        fleet.serve(fleet.server(f"triton-{number}", discovered=(0, 1800)), qps=5, bounds=None)
    fleet.owns("nms", "1")

    lived = live(engine, fleet, phases=phases)

    told = [one for fired in lived.all_fired(since=1801).values() for one in fired if one.since > 1800]
    assert told != []
    assert min(one.since for one in told) <= 1800 + 60 + scrape
    # Not for an hour only: as long as it lasts.
    assert any(one.until is None for one in told)


def test_the_cluster_whose_targets_vanished_is_named(engine):
    """The other cluster has all of its servers (D5, D8)."""
    fleet = Fleet(seconds=3600)
    for cluster in ("east", "west"):
        gone = (0, 1800) if cluster == "west" else None
        for number in range(2):
            fleet.serve(
                fleet.server(f"{cluster}-{number}", cluster=cluster, discovered=gone), qps=5, bounds=None
            )
        fleet.owns("nms", "1", cluster=cluster)

    lived = live(engine, fleet)

    told = [one for fired in lived.all_fired(since=1801).values() for one in fired if one.since > 1800]
    assert {one.labels.get("cluster") for one in told} == {"west"}


def test_a_server_taken_out_of_service_is_nobodys_alarm(engine):
    """One of three servers leaves discovery on purpose; the other two carry on (D5)."""
    fleet = Fleet(seconds=3600)
    for number in range(3):
        leaves = (0, 1800) if number == 2 else None
        fleet.serve(fleet.server(f"triton-{number}", discovered=leaves), qps=5)
    fleet.owns("nms", "1")

    lived = live(engine, fleet)

    critical = {
        name for name, fired in lived.all_fired().items() if fired[0].labels["severity"] == "critical"
    }
    assert critical == set()
