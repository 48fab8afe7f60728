"""The simulator: a Prometheus that is away, samples that just end, and starts in any order."""

import numpy as np
import pytest

from support.fleet_sim.episodes import Episode, as_sent, lives_between
from support.fleet_sim.fleet import FOREVER, Fleet
from support.fleet_sim.world import live

START = 10**12
SUCCESS = "nv_inference_request_success"


def told(fleet, name, **labels):
    """Seconds and values of the one series with this name and these labels, None for a marker."""
    (one,) = [
        one
        for one in fleet.series(START)
        if one.labels["__name__"] == name
        and all(one.labels.get(key) == value for key, value in labels.items())
    ]
    seconds = ((one.times_ms - START) / 1000).tolist()
    return {
        at: None if np.isnan(value) else value for at, value in zip(seconds, one.values.tolist(), strict=True)
    }


def group(name, interval, *rules):
    """A group of rules."""
    return {"name": name, "interval": interval, "rules": list(rules)}


def test_samples_that_are_not_sent_end_without_a_marker():
    """`up` and counters stop together, and Prometheus shows them for five minutes more."""
    fleet = Fleet(seconds=70, scrape_seconds=10)
    fleet.serve(fleet.server(phase_seconds=0, unsent=[(15, 45)]), qps=1, steady=True)

    assert told(fleet, "up", job="triton") == {0: 1, 10: 1, 50: 1, 60: 1, 70: None}
    assert told(fleet, SUCCESS) == {0: 0, 10: 10, 50: 50, 60: 60, 70: None}


def test_a_server_that_ends_while_nothing_is_sent_leaves_no_marker():
    """Whoever was there to see it has gone; a server that fails a scrape after it does leave one."""
    fleet = Fleet(seconds=80, scrape_seconds=10)
    fleet.serve(
        fleet.server("a", phase_seconds=0, unsent=[(15, 35)], restarts=[(20, 55)]), qps=1, steady=True
    )

    assert told(fleet, SUCCESS) == {0: 0, 10: 10, 60: 5, 70: 15, 80: None}
    assert told(fleet, "up", job="triton") == {0: 1, 10: 1, 40: 0, 50: 0, 60: 1, 70: 1, 80: None}


def test_a_prometheus_that_is_away_scrapes_neither_servers_nor_serve():
    """From second 0 on that is a Prometheus that starts late: what it reads first has a past."""
    fleet = Fleet(seconds=60, scrape_seconds=10).owns("nms").prometheus_away((0, 25)).serve_phase(3)
    fleet.serve(fleet.server(phase_seconds=8), qps=1, steady=True)

    assert told(fleet, SUCCESS) == {28: 28, 38: 38, 48: 48, 58: 58, 68: None}
    assert told(fleet, "tritonobs_model_info") == {33: 1, 43: 1, 53: 1, 63: None}


def test_the_page_of_serve_can_end_without_a_marker_too():
    """As that of a server, when its agent is gone."""
    fleet = Fleet(seconds=40, scrape_seconds=10).owns("nms").serve_unsent((15, 25))

    assert told(fleet, "tritonobs_model_info") == {0: 1, 10: 1, 30: 1, 40: None}


def test_a_server_that_takes_no_requests_at_first_shows_0():
    """Clients come back to it 15 s after each start; until then nobody is answered."""
    fleet = Fleet(seconds=70, scrape_seconds=10)
    server = fleet.server(phase_seconds=0, restarts=[(20, 30)], quiet_seconds=15)
    fleet.serve(server, qps=1, steady=True)

    assert told(fleet, SUCCESS) == {0: 0, 10: 0, 20: None, 30: 0, 40: 0, 50: 5, 60: 15, 70: None}
    assert fleet.truth.count("unseen", end=70) == 40


def test_nothing_is_evaluated_while_prometheus_is_away(engine):
    """Records have no sample of that time, and one that is no longer given ends in the lookback only."""
    fleet = Fleet(seconds=1000).prometheus_away((200, 400))
    fleet.shows(fleet.server(phase_seconds=0), "thing", 1, lives=[(0, 300)])
    rules = [
        group(
            "one", "10s", {"record": "a:thing:sum", "expr": "thing"}, {"record": "a:t:sum", "expr": "time()"}
        )
    ]

    lived = live(engine, fleet, "a:thing:sum", "a:t:sum", groups=rules, phases=None)

    assert lived.value("count_over_time(a:t:sum[1000s])", 999) == 100 - 20
    assert lived.value("a:thing:sum", 390) == 1
    # `thing` itself is shown until 495: nobody saw it end.
    assert lived.value("count_over_time(a:thing:sum[1000s])", 999) == 20 + 10
    assert lived.value("a:thing:sum", 500) is None


ALERT = {"alert": "Thing", "expr": "thing > 0", "labels": {}}


@pytest.mark.parametrize(
    ("wait", "keep", "away", "found"),
    [
        # Prometheus forgets it and waits again; Alertmanager has ended it four minutes after it heard last.
        ("30s", "", (1000, 1500), [(30, 1230), (1530, 2000)]),
        # It is back before Alertmanager has.
        ("30s", "", (1000, 1100), [(30, 2000)]),
        # What waits for ten minutes or more is restored, after the second evaluation.
        ("10m", "", (1000, 1200), [(600, 2000)]),
        ("15m", "", (600, 1100), [(1710, 2000)]),
        # A second Prometheus does not keep what the first one kept.
        ("30s", "30m", (1900, 2000), [(30, 2130)]),
    ],
)
def test_alerts_live_on_as_far_as_prometheus_restores_them(engine, wait, keep, away, found):
    """`thing` is there from 0 to 2000 s."""
    fleet = Fleet(seconds=3000, scrape_seconds=10).prometheus_away(away)
    fleet.shows(fleet.server(phase_seconds=0), "thing", 1, lives=[(0, 1795 if keep else 1995)])
    alert = {**ALERT, "for": wait} | ({"keep_firing_for": keep} if keep else {})

    lived = live(engine, fleet, "Thing", groups=[group("one", "10s", alert)], phases=None)

    assert [(one.since, one.until) for one in lived.fired("Thing")] == found


def test_what_alertmanager_has_ended_begins_again():
    """It ends what it did not hear of for four evaluations, or four minutes where those are shorter."""
    first = Episode(labels={}, active_ms=0, fired_ms=0, ended_ms=None, forgotten_ms=60_000)
    for fired, episodes in ((300_000, 1), (300_001, 2)):
        again = Episode(labels={}, active_ms=290_000, fired_ms=fired, ended_ms=None)
        assert len(as_sent([first, again], 15_000)) == episodes
    rule = {"alert": "A"}
    times = [np.array([0, 10]), np.array([500, 510])]
    lived = lives_between(rule, {}, times, [np.array([True, True]), np.array([False, True])])
    assert [(one.active_ms, one.forgotten_ms) for one in lived] == [(0, 10), (510, None)]


def test_a_server_may_start_after_all_others(engine):
    """Serve first, then Prometheus, then the server."""
    fleet = Fleet(seconds=600).owns("nms", "1").prometheus_away((0, 100))
    fleet.serve(fleet.server(restarts=[(0, 200)]), qps=1, loaded=[(230, FOREVER)])

    lived = live(engine, fleet, "replica_model_version:triton_requests_succeeded:rate1m")

    assert lived.value("min_over_time(up{job='triton'}[1m])", 190) == 0
    assert lived.value("model_version:triton_requests_succeeded:rate1m", 400) is None
    assert lived.value("replica_model_version:triton_requests_succeeded:rate1m", 400) == pytest.approx(
        1, rel=0.3
    )
