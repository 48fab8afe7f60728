"""What error budgets count is what happened, however it was scraped: gaps, births, restarts, both views."""

import pytest

from support.fleet_sim.curves import between
from support.fleet_sim.fleet import Fleet
from support.fleet_sim.world import live

VALID, BAD = "slo:sli_valid_requests:increase", "slo:sli_bad_requests:increase"
UNMEASURED = "slo:sli_unmeasured_requests:increase"
WHOLE = {"model": "nms", "version": "", "slo": "availability"}
TIMED = {**WHOLE, "slo": "latency"}
LATE = 60
"""Seconds at the end of a world in which nothing happens any more and everything is scraped."""


def counted(engine, fleet, record, **labels):
    """What a record added up to over the whole world."""
    lived = live(engine, fleet, record)
    chosen = ",".join(f'{name}="{value}"' for name, value in labels.items())
    assert lived.failures == {}
    return lived.value(f"sum(sum_over_time({record}{{{chosen}}}[1d]))", fleet.seconds)


@pytest.mark.parametrize(
    ("scrape_seconds", "gap_seconds"), [(5, 10), (5, 20), (15, 75), (15, 560), (30, 120), (60, 300)]
)
def test_errors_within_a_gap_are_charged(engine, scrape_seconds, gap_seconds):
    """A server that hangs for Prometheus, and fails all that it is asked meanwhile, is charged all of it."""
    fleet = Fleet(seconds=600 + gap_seconds + LATE, scrape_seconds=scrape_seconds, seed=1)
    server = fleet.server(silent=[(300, 300 + gap_seconds)])
    fleet.serve(
        server,
        qps=between(0, fleet.seconds - LATE, 10),
        raised=between(300, 300 + gap_seconds, 1.0),
    )
    fleet.server("triton-2")
    fleet.owns("nms", "1").promises("nms")

    assert counted(engine, fleet, BAD, **WHOLE) == pytest.approx(fleet.truth.bad(), rel=0.02)


def test_lost_scrapes_lose_nothing(engine):
    """A scrape in five fails: every request and every error is counted."""
    fleet = Fleet(seconds=1800 + LATE, scrape_seconds=15, seed=2)
    for name in ("triton-1", "triton-2", "triton-3"):
        server = fleet.server(name, lost=0.2)
        fleet.serve(server, qps=between(120, 1800, 5), soft=0.02, raised=0.01, expired=0.01)
    fleet.owns("nms", "1").promises("nms")

    assert counted(engine, fleet, BAD, **WHOLE) == pytest.approx(fleet.truth.bad(), rel=0.02)
    assert counted(engine, fleet, VALID, **WHOLE) == pytest.approx(fleet.truth.requests(), rel=0.01)


@pytest.mark.parametrize("life_seconds", [60, 120, 300])
@pytest.mark.parametrize("scrape_seconds", [5, 15])
def test_a_short_life_is_charged_once(engine, scrape_seconds, life_seconds):
    """A version that is loaded for a minute or more and fails everything is charged what it failed."""
    fleet = Fleet(seconds=900 + life_seconds, scrape_seconds=scrape_seconds, seed=3)
    server = fleet.server(phase_seconds=0)
    life = (400, 400 + life_seconds)
    fleet.serve(server, version="2", loaded=[life], qps=between(*life, 10), raised=1.0, steady=True)
    fleet.serve(server, qps=10)
    fleet.owns("nms", "1", "2").promises("nms").promises("nms", version="2")
    unknowable = 10 * scrape_seconds

    for version in ("", "2"):
        found = counted(engine, fleet, BAD, **{**WHOLE, "version": version})
        assert fleet.truth.bad() * 1.001 >= found >= (fleet.truth.bad() - unknowable) * 0.999


def test_a_server_that_was_not_seen_before_is_not_charged_its_history(engine):
    """Prometheus begins to scrape a server that has failed for ten minutes: only what it sees counts."""
    fleet = Fleet(seconds=1200 + LATE, seed=4)
    server = fleet.server(discovered=(600, 1300))
    fleet.serve(server, qps=between(0, 1200, 10), raised=0.5)
    fleet.owns("nms", "1").promises("nms")

    found = counted(engine, fleet, BAD, **WHOLE)

    seen = fleet.truth.bad(start=600)
    assert seen * 0.92 <= found <= seen


def test_a_restart_is_charged_from_zero(engine):
    """A server's counters begin again at 0: what they show then counts, and nothing twice."""
    fleet = Fleet(seconds=1200 + LATE, scrape_seconds=5, seed=5)
    server = fleet.server(restarts=[(600, 620)], phase_seconds=0)
    fleet.serve(server, qps=between(0, 1200, 10), raised=0.3)
    fleet.owns("nms", "1").promises("nms")

    found = counted(engine, fleet, BAD, **WHOLE)

    assert found == pytest.approx(fleet.truth.bad(), rel=0.03)
    assert found <= fleet.truth.bad()


def test_the_worse_view_is_taken_on_each_server(engine):
    """A dead worker on one server and error replies on another add up."""
    fleet = Fleet(seconds=900 + LATE, seed=6)
    fleet.serve(fleet.server("triton-1"), qps=between(60, 900, 10), dead=0.1)
    fleet.serve(fleet.server("triton-2"), qps=between(60, 900, 10), soft=0.1)
    fleet.owns("nms", "1").promises("nms")

    assert counted(engine, fleet, BAD, **WHOLE) == pytest.approx(fleet.truth.bad(), rel=0.02)


def test_a_rollout_does_not_change_how_many_requests_there_are(engine):
    """Traffic moves from one version to another: the model's requests are 10 a second all the time."""
    fleet = Fleet(seconds=1500, seed=7)
    server = fleet.server()
    fleet.serve(server, version="1", qps=between(0, 600, 10), loaded=[(0, 640)], steady=True)
    fleet.serve(server, version="2", qps=between(600, 1500, 10), loaded=[(580, 1500)], steady=True)
    fleet.owns("nms", "1", "2").promises("nms")
    lived = live(engine, fleet, VALID)

    for at in range(600, 1500, 60):
        pace = lived.value(f'sum_over_time({VALID}{{version=""}}[4m59s999ms]) / 300', at)
        assert pace == pytest.approx(10, rel=0.06), at


def test_an_ensembles_failures_count_once(engine):
    """Triton counts a failed ensemble request twice, under two versions."""
    fleet = Fleet(seconds=900 + LATE, seed=8)
    server = fleet.server()
    fleet.serve(server, version="3", qps=between(60, 900, 10), raised=0.1, ensemble=True, bounds=None)
    fleet.owns("nms", "3", kind="ensemble").promises("nms")

    assert counted(engine, fleet, BAD, **WHOLE) == pytest.approx(fleet.truth.bad(), rel=0.01)
    assert counted(engine, fleet, VALID, **WHOLE) == pytest.approx(fleet.truth.requests(), rel=0.01)


def test_failed_requests_are_not_fast(engine):
    """A latency budget is charged slow requests and failed ones, also those that never reached the model."""
    fleet = Fleet(seconds=900 + LATE, seed=9)
    for name, ends in (
        ("triton-1", {"soft": 0.03, "expired": 0.02}),
        ("triton-2", {"raised": 0.03, "dead": 0.02}),
    ):
        fleet.serve(fleet.server(name), qps=between(60, 900, 10), slow=0.05, **ends)
    fleet.owns("nms", "1").promises_time("nms", "0.25")

    truth = fleet.truth.bad() + fleet.truth.count("slow")
    assert counted(engine, fleet, BAD, **TIMED) == pytest.approx(truth, rel=0.02)
    assert counted(engine, fleet, VALID, **TIMED) == pytest.approx(
        fleet.truth.requests() - fleet.truth.count("cancelled"), rel=0.02
    )


def test_only_workers_with_the_targets_bound_are_measured(engine):
    """Versions with other bounds are no slow ones: their requests are said to be unmeasured."""
    fleet = Fleet(seconds=900 + LATE, seed=10)
    server = fleet.server()
    fleet.serve(server, version="1", qps=between(60, 900, 10), slow=0.1)
    fleet.serve(server, version="2", qps=between(60, 900, 10), slow=0.1, bounds=(0.02, 0.3))
    fleet.owns("nms", "1", "2").promises_time("nms", "0.25")

    assert counted(engine, fleet, BAD, **TIMED) == pytest.approx(
        fleet.truth.count("slow", version="1"), rel=0.02
    )
    assert counted(engine, fleet, UNMEASURED, model="nms") == pytest.approx(
        fleet.truth.requests(version="2"), rel=0.02
    )
