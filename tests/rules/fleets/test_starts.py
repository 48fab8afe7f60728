"""Starts, silences and flapping: what is not known yet is not called gone; flapping is told once."""

import pytest

from support.fleet_sim.fleet import FOREVER, Fleet
from support.fleet_sim.world import live

UNLOADED, LOST, DOWN = "TritonModelUnloaded", "TritonServersLost", "TritonServerDown"
MISSING, SOURCE, NOT_LOADED = "TritonModelMissing", "TritonLimitSourceLost", "TritonVersionNotLoaded"
DEAD, STOPPED, UNMEASURED = "TritonWorkerDead", "TritonTrafficStopped", "TritonSliMissing"
STARTS = (UNLOADED, LOST, MISSING, SOURCE, NOT_LOADED, DEAD, STOPPED)
AT = 1200


def starting(scrape, what, *, serve_first, loaded=(0, FOREVER)):
    """Three servers with two models, read by a Prometheus; at 1200 s something starts."""
    fleet = Fleet(seconds=2100, scrape_seconds=scrape)
    fleet.serve_phase((0.1 if serve_first else 0.95) * scrape)
    restarts = {"servers": [(AT, AT + 40)], "new servers": [(0, AT)], "all": [(0, AT + 30)]}
    if what in {"prometheus", "all"}:
        fleet.prometheus_away((0, AT))
    if what == "prometheus again":
        fleet.prometheus_away((AT, AT + 400))
    if what == "serve":
        fleet.serve_silent((0, AT))
    for number in range(3):
        phase = ((0.95 if serve_first else 0.1) + 0.01 * number) * scrape
        server = fleet.server(f"t{number}", restarts=restarts.get(what, []), phase_seconds=phase)
        fleet.serve(server, qps=3, bounds=None)
        fleet.serve(server, "ocr", qps=1, bounds=None, loaded=[loaded])
    fleet.owns("nms", "1").owns("ocr", "1")
    return fleet.limits("nms", 20)


@pytest.mark.parametrize("serve_first", [True, False])
@pytest.mark.parametrize("scrape", [5, 15, 60])
@pytest.mark.parametrize("what", ["prometheus", "prometheus again", "servers", "new servers", "all", "serve"])
def test_a_start_pages_for_nothing_that_is_not_known_yet(engine, what, scrape, serve_first):
    """Whichever page is read first, at whatever interval."""
    lived = live(engine, starting(scrape, what, serve_first=serve_first), *STARTS, phases=scrape)

    told = lived.all_fired(since=AT)
    if what == "serve":
        # It was down until then, and that was told.
        assert all(one.since < AT for one in told.pop(SOURCE))
    assert told == {}


@pytest.mark.parametrize(("scrape", "latest"), [(5, 120), (15, 180), (60, 480)])
def test_a_model_that_no_server_loads_after_a_start_is_told(engine, scrape, latest):
    """Prometheus starts, all servers answer, and one model is nowhere."""
    fleet = starting(scrape, "prometheus", serve_first=True, loaded=(0, 10))

    told = live(engine, fleet, UNLOADED).fired(UNLOADED)

    assert [one.labels["model"] for one in told] == ["ocr"]
    assert AT < told[0].since <= AT + latest


def test_a_server_that_never_answers_hides_a_missing_model_for_ten_minutes(engine):
    """It may be loading it; later it is down and no more."""
    fleet = starting(15, "prometheus", serve_first=True, loaded=(0, 10))
    fleet.server("t9", restarts=[(0, 2100)])

    told = live(engine, fleet, UNLOADED).fired(UNLOADED)

    assert [one.labels["model"] for one in told] == ["ocr"]
    assert AT + 500 <= told[0].since <= AT + 700


def unsent(scrape, gap, servers):
    """Samples of the first so many of three servers end without a marker; `ocr` is on the first alone."""
    fleet = Fleet(seconds=1500 + gap + 600, scrape_seconds=scrape)
    for number in range(3):
        ends = [(1500, 1500 + gap)] if number < servers else []
        server = fleet.server(f"t{number}", unsent=ends)
        fleet.serve(server, qps=2, bounds=None)
        if number == 0:
            fleet.serve(server, "ocr", qps=1, bounds=None)
    return fleet.owns("nms", "1").owns("ocr", "1")


@pytest.mark.parametrize(("scrape", "gap"), [(5, 120), (15, 240), (15, 900), (60, 420)])
def test_samples_that_end_without_a_marker_are_told_once_as_what_they_are(engine, scrape, gap):
    """All of a cluster are lost, one alone is down; no model is called unloaded, also after the lookback."""
    within = 1500 + max(30, 3 * scrape) + max(45, 5 * scrape)
    for servers, name in ((3, LOST), (1, DOWN)):
        lived = live(engine, unsent(scrape, gap, servers), UNLOADED, MISSING, LOST, DOWN, STOPPED)

        told = lived.all_fired()
        assert list(told) == [name]
        assert len(told[name]) == 1
        assert told[name][0].since <= within
        # Of one server it is over when that has answered for five minutes.
        assert told[name][0].until <= 1500 + gap + 2 * scrape + 15 + (300 if name == DOWN else 0)


def test_a_server_that_was_taken_away_while_prometheus_was_away_is_not_down(engine):
    """Its `up` is shown for five minutes, for nobody was there to end it."""
    fleet = Fleet(seconds=3000).prometheus_away((1500, 1560))
    for number in range(2):
        server = fleet.server(f"t{number}", discovered=(0, 1520) if number else None)
        fleet.serve(server, qps=2, bounds=None)

    assert live(engine, fleet.owns("nms", "1"), DOWN, LOST, UNLOADED).all_fired() == {}


@pytest.mark.parametrize(
    ("scrape", "every", "dark"), [(15, 300, 70), (5, 180, 60), (30, 1500, 200), (15, 3300, 100)]
)
def test_a_server_that_comes_and_goes_is_told_twice_at_most(engine, scrape, every, dark):
    """One of four, for five hours; it is told with how often, and ends when it was well for an hour."""
    last = 5 * 3600 - every
    fleet = Fleet(seconds=last + 6000, scrape_seconds=scrape, tick_seconds=5)
    spans = [(at, at + dark) for at in range(1200, last, every)]
    for number in range(4):
        server = fleet.server(f"t{number}", silent=[] if number else spans)
        fleet.serve(server, qps=2, bounds=None)

    lived = live(engine, fleet.owns("nms", "1"), DOWN)

    told = lived.fired(DOWN)
    # What falls again within five minutes is the same alert.
    often = next(count for count, well in ((1, 300), (2, 3600)) if every - dark <= well)
    assert [one.labels["replica"] for one in told] == ["t0"] * often
    assert spans[-1][1] + 3500 <= told[-1].until <= spans[-1][1] + 3700
    outages = lived.value("count_over_time(replica:triton_outage_begins:info[3h])", spans[-1][1])
    assert outages == len([one for one in spans if one[0] > spans[-1][1] - 3 * 3600])


def test_two_outages_are_told_and_ended_twice(engine):
    """Each ends when the server has answered, for five minutes and, again within three hours, for an hour."""
    fleet = Fleet(seconds=9000)
    spans = [(1800, 1950), (3600, 3750)]
    fleet.serve(fleet.server("t0", silent=spans), qps=2, bounds=None)
    fleet.serve(fleet.server("t1"), qps=2, bounds=None)

    told = live(engine, fleet.owns("nms", "1"), DOWN).fired(DOWN)

    after = [one.until - span[1] for one, span in zip(told, spans, strict=True)]
    assert 300 <= after[0] <= 335
    assert 3600 <= after[1] <= 3635
