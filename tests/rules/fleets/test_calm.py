"""What production does every day, and what is really wrong beside it (D14)."""

import pytest

from support.fleet_sim.curves import between, steps
from support.fleet_sim.fleet import FOREVER, Fleet
from support.fleet_sim.world import live
from support.record_names import SUBJECT_REQUESTS_RATE
from tritonobs import names

HOUR, DAY = 3600, 86_400


def loud(lived, **when):
    """The alerts of note that fired."""
    return {
        name
        for name, fired in lived.all_fired(**when).items()
        if fired[0].labels["severity"] in {"critical", "warning"}
    }


@pytest.mark.parametrize(("lost", "seed"), [(0.01, 0), (0.05, 1), (0.15, 2)])
def test_lost_scrapes_are_no_restarts_and_no_reloads(engine, lost, seed):
    """Scrapes fail by chance; the servers and workers behind them are the same ones (D14)."""
    fleet = Fleet(seconds=2 * HOUR, seed=seed)
    for number in range(3):
        fleet.serve(fleet.server(f"triton-{number}", lost=lost), qps=10, workers=2)
    fleet.owns("nms", "1").limits("nms", 60).promises("nms").promises_time("nms", "0.1")

    lived = live(engine, fleet)

    assert set(lived.all_fired()) <= ({"TritonServerDown"} if lost > 0.1 else set())


@pytest.mark.parametrize(("scrape", "phases"), [(15, 0), (5, 1)])
def test_a_server_that_restarts_again_and_again_is_told(engine, scrape, phases):
    """Four restarts in a quarter of an hour, each down for half a minute (D14)."""
    fleet = Fleet(seconds=HOUR, scrape_seconds=scrape, seed=phases)
    sick = fleet.server("triton-1", restarts=[(at, at + 35) for at in (1800, 2000, 2200, 2400)])
    for server in (sick, fleet.server("triton-2")):
        fleet.serve(server, qps=10)
    fleet.owns("nms", "1")

    lived = live(engine, fleet, "TritonRestartLoop", phases=phases)

    assert {one.labels["replica"] for one in lived.fired("TritonRestartLoop")} == {"triton-1"}


def test_a_restart_too_quick_for_a_scrape_is_a_restart(engine):
    """Down for five seconds between two scrapes, four times: only counters and workers tell (D14)."""
    fleet = Fleet(seconds=HOUR)
    server = fleet.server(phase_seconds=0, restarts=[(at + 4, at + 9) for at in (1800, 2010, 2220, 2430)])
    fleet.serve(server, qps=10)
    fleet.owns("nms", "1")

    lived = live(engine, fleet, "TritonRestartLoop")

    assert lived.fired("TritonRestartLoop") != []


def test_one_restart_is_no_loop(engine):
    """Once a day is what a healthy fleet does (D14)."""
    fleet = Fleet(seconds=HOUR)
    fleet.serve(fleet.server(restarts=[(1800, 1840)]), qps=10)
    fleet.serve(fleet.server("triton-2"), qps=10)
    fleet.owns("nms", "1")

    lived = live(engine, fleet, "TritonRestartLoop")

    assert lived.fired("TritonRestartLoop") == []


@pytest.mark.parametrize(("errors", "lasting"), [(50, 5), (50, 120), (500, 10)])
def test_errors_for_a_brand_new_reason_are_told(engine, errors, lasting):
    """The counter is born with its first errors in it; before there was none (D14)."""
    fleet = Fleet(seconds=2 * HOUR)
    server = fleet.server()
    fleet.serve(server, qps=10)
    own = {
        "model": "nms",
        "version": "1",
        "worker": "nms_0_0-100-1a2b3c",
        "stage": "decode",
        "reason": "corrupt_image",
    }
    start = 5400
    fleet.counts(
        server,
        names.STAGE_ERRORS,
        between(start, start + lasting, errors / lasting),
        lives=[(start, FOREVER)],
        **own,
    )
    fleet.owns("nms", "1")

    lived = live(engine, fleet, "TritonErrorReasonSurge")

    assert {one.labels["reason"] for one in lived.fired("TritonErrorReasonSurge")} == {"corrupt_image"}
    assert lived.fired("TritonErrorReasonSurge")[0].since <= start + 345


@pytest.mark.parametrize("again", ["a few", "after a restart"])
def test_errors_for_a_known_reason_are_no_surge(engine, again):
    """As many as always, also when the worker's counters begin anew (D14)."""
    fleet = Fleet(seconds=2 * HOUR)
    server = fleet.server(restarts=[(5400, 5430)] if again == "after a restart" else [])
    fleet.serve(server, qps=10)
    own = {"model": "nms", "version": "1", "stage": "decode", "reason": "corrupt_image"}
    for pid, life in ((100, (0, 5400)), (110, (5430, FOREVER))):
        fleet.counts(server, names.STAGE_ERRORS, 0.2, lives=[life], worker=f"nms_0_0-{pid}-1a2b3c", **own)
    fleet.owns("nms", "1")

    lived = live(engine, fleet, "TritonErrorReasonSurge")

    assert lived.fired("TritonErrorReasonSurge") == []


def test_a_young_server_has_no_yesterday(engine):
    """Somebody tried a new server for five minutes; its silence afterwards is not news (D14)."""
    fleet = Fleet(seconds=HOUR)
    fleet.serve(fleet.server(), qps=between(0, 300, 10))
    fleet.owns("nms", "1")

    lived = live(engine, fleet)

    assert loud(lived) == set()


def test_a_worker_that_dies_is_told(engine):
    """Its heartbeat stands still and requests fail (D14)."""
    fleet = Fleet(seconds=HOUR)
    fleet.serve(fleet.server(), qps=10, stuck=[(1800, FOREVER)], dead=steps((1800, 1)))
    fleet.owns("nms", "1")

    lived = live(engine, fleet, "TritonWorkerDead")

    assert 1800 < lived.fired("TritonWorkerDead")[0].since <= 1800 + 150


def test_a_model_instance_that_was_taken_away_is_not_dead_for_ever(engine):
    """The model was reloaded with one instance less; what that left behind stands still (D14)."""
    fleet = Fleet(seconds=3 * HOUR)
    server = fleet.server()
    fleet.serve(server, qps=10, reloads=[1800])
    left = {"model": "nms", "version": "1", "worker": "nms_0_1-101-1a2b3c"}
    fleet.shows(server, names.HEARTBEAT, lambda at: 1e9 + at.clip(max=1800), **left)
    fleet.owns("nms", "1")

    lived = live(engine, fleet, "TritonWorkerDead")

    assert lived.fired("TritonWorkerDead", since=1800 + 5400) == []


@pytest.mark.parametrize("listed", [("1",), ("1", "2")])
@pytest.mark.parametrize("overlap", [0, 120])
def test_a_version_that_another_replaces_was_not_lost(engine, listed, overlap):
    """Version 1 is unloaded on purpose while the fleet file still lists it; version 2 serves (D14)."""
    fleet = Fleet(seconds=HOUR)
    for number in range(2):
        server = fleet.server(f"triton-{number}")
        fleet.serve(server, qps=5, loaded=[(0, 1800 + overlap)])
        fleet.serve(server, version="2", qps=5, loaded=[(1800, FOREVER)])
    fleet.owns("nms", *listed)

    lived = live(engine, fleet)

    assert loud(lived) == set()


def test_a_model_without_any_version_was_lost(engine):
    """No version is left on any server (D14)."""
    fleet = Fleet(seconds=HOUR)
    for number in range(2):
        fleet.serve(fleet.server(f"triton-{number}"), qps=5, loaded=[(0, 1800)])
        fleet.serve(fleet.server(f"triton-{number}b"), "other", qps=5)
    fleet.owns("nms", "1").owns("other", "1")

    lived = live(engine, fleet, "TritonModelUnloaded")

    assert {one.labels["model"] for one in lived.fired("TritonModelUnloaded")} == {"nms"}
    assert lived.fired("TritonModelUnloaded")[0].since <= 1800 + 240


@pytest.mark.parametrize(("scrape", "phases"), [(5, 0), (15, 1)])
def test_a_rollout_makes_no_requests(engine, scrape, phases):
    """Ten requests a second before, during and after the change of version (D14)."""
    fleet = Fleet(seconds=HOUR, scrape_seconds=scrape, seed=phases)
    server = fleet.server()
    fleet.serve(server, qps=10, steady=True, loaded=[(0, 1800)])
    fleet.serve(server, version="2", qps=10, steady=True, loaded=[(1800, FOREVER)])
    fleet.owns("nms", "1", "2").limits("nms", 14).promises("nms")

    lived = live(
        engine, fleet, SUBJECT_REQUESTS_RATE, "TritonQpsAboveLimit", "TritonQpsNearLimit", phases=phases
    )

    read = [
        lived.value(f'{SUBJECT_REQUESTS_RATE}{{model="nms",version=""}}', at) for at in range(1200, 2700, 30)
    ]
    assert min(read) >= 8.5
    assert max(read) <= 11.5
    assert lived.fired("TritonQpsAboveLimit") + lived.fired("TritonQpsNearLimit") == []


@pytest.mark.parametrize(("lasting", "phases"), [(60, 0), (90, 1), (240, 2)])
def test_nothing_begins_to_fire_when_traffic_has_ended(engine, lasting, phases):
    """Bad, slow and waiting requests for a while, then none at all (D14)."""
    end = 1800 + lasting
    fleet = Fleet(seconds=2 * HOUR, seed=phases)
    fleet.serve(
        fleet.server(),
        qps=steps((0, 5), (1800, 40), (end, 0)),
        capacity=20,
        most_waiting=100,
        raised=between(1800, end, 0.3),
        slow=between(1800, end, 0.7),
    )
    fleet.owns("nms", "1").promises("nms").promises_time("nms", "0.1")

    lived = live(engine, fleet, phases=phases)

    late = {name for name, fired in lived.all_fired().items() if any(one.since > end + 90 for one in fired)}
    # Budgets of days are spent all the same, and silence is news of its own.
    days = {"TritonErrorBudgetBurnSlow", "TritonErrorBudgetBurnLong", "TritonErrorBudgetExhausted"}
    assert late - days - {"TritonTrafficStopped"} == set()
