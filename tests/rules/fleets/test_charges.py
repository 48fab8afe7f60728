"""What happened is charged to the error budget, through gaps, births and deaths (D1, D2, D11, D13)."""

import pytest

from support.fleet_sim.curves import between, steps
from support.fleet_sim.fleet import Fleet
from support.fleet_sim.world import live

HOUR = 3600
RATIO = "slo:sli_error:ratio_rate1h"
BURN = "TritonErrorBudgetBurnFast"


def charged(lived, fleet, at, *, model="nms", version="", slo="availability", cluster=None):
    """How many requests the SLI of the last hour calls bad, by the true number of its requests."""
    where = (
        {"model": model}
        | ({"version": version} if version else {})
        | ({"cluster": cluster} if cluster else {})
    )
    labels = {"version": "", "slo": slo, **where}
    selector = ",".join(f'{name}="{value}"' for name, value in labels.items())
    ratio = lived.value(f"{RATIO}{{{selector}}}", at)
    return (ratio or 0) * fleet.truth.requests(start=at - HOUR, end=at, **where)


GAPS = [
    # scrape, gap, phase of the groups
    (5, 5, 0),
    (5, 10, 1),
    (5, 20, 2),
    (5, 75, 3),
    (5, 290, 4),
    (15, 30, 5),
    (15, 75, 6),
    (15, 200, 7),
    (15, 300, 8),
    (30, 45, 9),
    (30, 150, 10),
    (30, 290, 11),
    (15, 620, 12),
    (5, 1500, 13),
    (60, 2100, 14),
]


def gap_fleet(scrape, gap, *, bad, servers=1, seed=0):
    """Eighty minutes of 10 requests a second for each server, of which the first fails `bad` inside a gap."""
    fleet = Fleet(seconds=4800, scrape_seconds=scrape, seed=seed)
    start = 2400
    for number in range(servers):
        sick = number == 0
        server = fleet.server(f"triton-{number + 1}", silent=[(start, start + gap)] if sick else [])
        fleet.serve(
            server, qps=10, steady=True, bounds=None, raised=between(start, start + gap, bad) if sick else 0
        )
    return fleet.owns("nms", "1").promises("nms").promises("nms", version="1")


@pytest.mark.parametrize(("scrape", "gap", "phases"), GAPS)
def test_errors_inside_a_scrape_gap_are_charged(engine, scrape, gap, phases):
    """A server that hangs fails what it gets; its counters tell so when it is back (D1)."""
    fleet = gap_fleet(scrape, gap, bad=1, seed=phases)

    lived = live(engine, fleet, RATIO, BURN, phases=phases)

    assert fleet.truth.bad() == pytest.approx(10 * gap, abs=10)
    assert charged(lived, fleet, 4700) == pytest.approx(fleet.truth.bad(), rel=0.02)
    assert charged(lived, fleet, 4700, version="1") == pytest.approx(fleet.truth.bad(), rel=0.02)
    enough = 0.0144 * fleet.truth.requests(end=2400 + gap)
    assert (lived.fired(BURN) != []) == (fleet.truth.bad() > enough)


@pytest.mark.parametrize(("scrape", "gap", "phases"), GAPS[::4])
def test_a_gap_alone_charges_nothing(engine, scrape, gap, phases):
    """A server that nobody could scrape but that answered every request owes nothing (D1)."""
    fleet = gap_fleet(scrape, gap, bad=0, seed=phases)

    lived = live(engine, fleet, RATIO, BURN, phases=phases)

    assert charged(lived, fleet, 4700) == 0
    assert lived.fired(BURN) == []


@pytest.mark.parametrize("servers", [3, 6])
def test_a_gap_of_one_replica_is_charged_beside_the_others(engine, servers):
    """Healthy replicas neither hide nor enlarge what one of them failed while it hung (D1)."""
    fleet = gap_fleet(15, 75, bad=1, servers=servers)

    lived = live(engine, fleet, RATIO)

    assert charged(lived, fleet, 4700) == pytest.approx(fleet.truth.bad(), rel=0.02)


@pytest.mark.parametrize(("scrape", "lost"), [(5, 0.05), (15, 0.01), (15, 0.1), (30, 0.03)])
def test_lost_scrapes_lose_no_errors(engine, scrape, lost):
    """Two percent of errors stay two percent, and a burst a burst, whatever scrapes fail (D1)."""
    fleet = Fleet(seconds=4800, scrape_seconds=scrape, seed=round(1000 * lost) + scrape)
    for number in range(3):
        server = fleet.server(f"triton-{number}", lost=lost)
        fleet.serve(
            server, qps=20, steady=True, bounds=None, raised=steps((600, 0.02), (3000, 0.5), (3040, 0.02))
        )
    fleet.owns("nms", "1").promises("nms")

    lived = live(engine, fleet, RATIO)

    assert charged(lived, fleet, 4790) == pytest.approx(
        fleet.truth.bad(start=4790 - HOUR, end=4790), rel=0.02
    )


LIVES = [
    (5, 60, 0),
    (15, 60, 1),
    (15, 120, 2),
    (15, 300, 3),
    (15, 900, 4),
    (30, 90, 5),
    (30, 120, 6),
    (15, 1800, 7),
]


def as_it_was(fleet, server, end):
    """What may be charged for failures that ended with their series, within 3 %.

    At least what the last scrape showed. What came after it nobody saw; at most it was what really happened.
    """
    last = (
        end - server.phase_seconds
    ) // server.scrape_seconds * server.scrape_seconds + server.phase_seconds
    return 0.97 * fleet.truth.bad(end=last), 1.03 * fleet.truth.bad()


@pytest.mark.parametrize(("scrape", "life", "phases"), LIVES)
def test_a_short_life_is_charged_once(engine, scrape, life, phases):
    """A version that fails all it gets and is rolled back owes exactly that, to the model (D2)."""
    fleet = Fleet(seconds=5400, scrape_seconds=scrape, seed=phases)
    server = fleet.server()
    fleet.serve(server, qps=40, steady=True, bounds=None)
    fleet.serve(server, version="2", qps=10, steady=True, bounds=None, raised=1, loaded=[(2100, 2100 + life)])
    fleet.owns("nms", "1", "2").promises("nms")

    lived = live(engine, fleet, RATIO, phases=phases)

    least, most = as_it_was(fleet, server, 2100 + life)
    assert least <= charged(lived, fleet, 5300) <= most


@pytest.mark.parametrize(("scrape", "life", "phases"), LIVES[:6])
def test_a_short_life_weighs_what_it_served(engine, scrape, life, phases):
    """A version that failed in a short life and worked in a long one owes the first only (D2)."""
    fleet = Fleet(seconds=5400, scrape_seconds=scrape, seed=phases)
    server = fleet.server()
    lives, bad = [(2100, 2100 + life), (3300, 5400)], between(0, 3300, 1)
    fleet.serve(server, version="2", qps=10, steady=True, bounds=None, raised=bad, loaded=lives)
    fleet.owns("nms", "2").promises("nms", version="2")

    lived = live(engine, fleet, RATIO, phases=phases)

    least, most = as_it_was(fleet, server, 2100 + life)
    assert least <= charged(lived, fleet, 5300, version="2") <= most


@pytest.mark.parametrize("servers", [2, 3, 5])
def test_different_ends_on_different_replicas_add_up(engine, servers):
    """A dead worker on one server and error replies on the others are all bad (D11)."""
    fleet = Fleet(seconds=4800)
    for number in range(servers):
        share = {"dead": 0.1} if number == 0 else {"soft": 0.1}
        fleet.serve(fleet.server(f"triton-{number}"), qps=10, steady=True, **share)
    fleet.owns("nms", "1").promises("nms")

    lived = live(engine, fleet, RATIO)

    assert fleet.truth.bad(end=HOUR) == pytest.approx(servers * HOUR, rel=0.01)
    assert charged(lived, fleet, 4700) == pytest.approx(fleet.truth.bad(start=1100, end=4700), rel=0.02)


def test_what_two_views_tell_of_one_request_counts_once(engine):
    """An exception is an error to Triton and to the model; it is one bad request (D11)."""
    fleet = Fleet(seconds=4800)
    for number in range(3):
        fleet.serve(fleet.server(f"triton-{number}"), qps=10, steady=True, raised=0.1, workers=2)
    fleet.owns("nms", "1").promises("nms")

    lived = live(engine, fleet, RATIO)

    assert charged(lived, fleet, 4700) == pytest.approx(fleet.truth.bad(start=1100, end=4700), rel=0.02)


@pytest.mark.parametrize(
    ("shares", "late"), [({"raised": 0.3}, 0.3), ({"soft": 0.2}, 0.2), ({"slow": 0.1, "raised": 0.3}, 0.4)]
)
def test_a_failed_request_is_not_answered_in_time(engine, shares, late):
    """An error that comes fast is no request within the target (D13)."""
    fleet = Fleet(seconds=4800)
    fleet.serve(fleet.server(), qps=10, steady=True, **shares)
    fleet.owns("nms", "1").promises_time("nms", "0.1").promises_time("nms", "0.1", version="1")

    lived = live(engine, fleet, RATIO)

    for version in ("", "1"):
        assert charged(lived, fleet, 4700, slo="latency", version=version) / 36_000 == pytest.approx(
            late, rel=0.02
        )


@pytest.mark.parametrize("slow", [0.0, 0.05])
def test_requests_in_time_are_good(engine, slow):
    """Without failures the latency SLI is the share of slow requests (D13)."""
    fleet = Fleet(seconds=4800)
    fleet.serve(fleet.server(), qps=10, steady=True, slow=slow, workers=2)
    fleet.owns("nms", "1").promises_time("nms", "0.1")

    lived = live(engine, fleet, RATIO)

    assert charged(lived, fleet, 4700, slo="latency") / 36_000 == pytest.approx(slow, rel=0.02, abs=1e-9)


@pytest.mark.parametrize(
    ("kind", "slo"), [("soft", "availability"), ("dead", "availability"), ("slow", "latency")]
)
@pytest.mark.parametrize(("scrape", "gap"), [(5, 30), (15, 75), (15, 200)])
def test_every_kind_of_bad_request_inside_a_gap_is_charged(engine, kind, slo, scrape, gap):
    """Error replies, dead workers and late answers are counters, too (D1)."""
    fleet = Fleet(seconds=4800, scrape_seconds=scrape)
    server = fleet.server(silent=[(2400, 2400 + gap)])
    fleet.serve(server, qps=10, steady=True, **{kind: between(2400, 2400 + gap, 0.8)})
    fleet.owns("nms", "1").promises("nms").promises_time("nms", "0.1")

    lived = live(engine, fleet, RATIO)

    assert charged(lived, fleet, 4700, slo=slo) == pytest.approx(fleet.truth.count(kind), rel=0.02)


@pytest.mark.parametrize(("scrape", "phases"), [(5, 0), (15, 1), (30, 2)])
def test_what_failed_before_a_restart_stays_charged(engine, scrape, phases):
    """A server fails for two minutes and is started again; its counters begin at 0 (D2)."""
    fleet = Fleet(seconds=5400, scrape_seconds=scrape, seed=phases)
    server = fleet.server(restarts=[(2520, 2545)])
    fleet.serve(server, qps=10, steady=True, bounds=None, raised=between(2400, 2520, 1))
    fleet.serve(fleet.server("triton-2"), qps=10, steady=True, bounds=None)
    fleet.owns("nms", "1").promises("nms")

    lived = live(engine, fleet, RATIO, phases=phases)

    least, most = as_it_was(fleet, server, 2520)
    assert least <= charged(lived, fleet, 5300) <= most


@pytest.mark.parametrize("again", [600, 120])
def test_many_restarts_are_charged_for_what_they_failed(engine, again):
    """A server that is started anew every few minutes and fails a tenth of what it gets (D2)."""
    fleet = Fleet(seconds=5400)
    server = fleet.server(restarts=[(at, at + 10) for at in range(1200, 4800, again)])
    fleet.serve(server, qps=10, steady=True, bounds=None, raised=0.1)
    fleet.owns("nms", "1").promises("nms")

    lived = live(engine, fleet, RATIO)

    assert charged(lived, fleet, 5300) == pytest.approx(fleet.truth.bad(start=1700, end=5300), rel=0.03)


@pytest.mark.parametrize(("scrape", "reloads"), [(15, [2700]), (5, [2500, 2900, 3300])])
def test_a_reload_in_place_is_charged_for_error_replies_of_old_and_new_workers(engine, scrape, reloads):
    """Triton's counters go on, the workers are new processes with counters of their own (D2)."""
    fleet = Fleet(seconds=5400, scrape_seconds=scrape)
    fleet.serve(fleet.server(), qps=20, steady=True, soft=0.1, reloads=reloads, workers=2)
    fleet.owns("nms", "1").promises("nms")

    lived = live(engine, fleet, RATIO)

    assert charged(lived, fleet, 5300) == pytest.approx(fleet.truth.bad(start=1700, end=5300), rel=0.03)


@pytest.mark.parametrize("phases", range(4))
def test_rules_that_are_new_charge_nothing_of_what_came_before(engine, phases):
    """Prometheus had scraped for half an hour when it was given the rules: no past sum, no negative one."""
    fleet = Fleet(seconds=3600, tick_seconds=5)
    fleet.serve(fleet.server(), qps=5, raised=0.02, soft=0.01, slow=0.02)
    fleet.owns("nms").promises("nms").promises_time("nms", "0.1")
    counted = ("slo:sli_valid_requests:increase", "slo:sli_bad_requests:increase")

    lived = live(engine, fleet, *counted, since=1800, phases=phases)

    for name in counted:
        least, most = (lived.samples(f"{how}_over_time({name}[30m])", 3600) for how in ("min", "max"))
        assert len(least) == len(most) == 2
        assert min(least.values()) >= 0
        assert max(most.values()) < 300
