"""Requests against limits: random arrivals, overloads, sources, trends (D6, D15, D16, D17)."""

import pytest

from support.fleet_sim.curves import between, ramp, steps
from support.fleet_sim.fleet import Fleet
from support.fleet_sim.world import live

ABOVE, SPIKE, WILL = "TritonQpsAboveLimit", "TritonQpsSpike", "TritonQpsWillExceedLimit"
EVERY = 30  # seconds between evaluations of the spike
DAY, HOUR = 86_400, 3600


def limited(qps, limit, *, seconds=3600, scrape=15, seed=0, servers=1, **how):
    """One model with a limit on so many servers, each with its part of the traffic."""
    fleet = Fleet(seconds=seconds, scrape_seconds=scrape, seed=seed)
    for number in range(servers):
        fleet.serve(fleet.server(f"triton-{number}"), qps=qps, bounds=None, **how)
    return fleet.owns("nms", "1").limits("nms", limit)


@pytest.mark.parametrize(("scrape", "hours"), [(5, 2), (15, 8)])
def test_random_traffic_below_its_limit_pages_nobody(engine, scrape, hours):
    """Poisson arrivals at 80 to 95 % of limits from 0.1 to 1,000 a second (D6)."""
    fleet = Fleet(seconds=hours * HOUR, scrape_seconds=scrape, seed=scrape)
    server = fleet.server()
    loads = [(limit, 0.9) for limit in (0.1, 0.5, 1, 8, 40, 100, 1000)] + [(1, 0.8), (40, 0.95)]
    for limit, share in loads:
        model = f"m{limit}-{share}"
        fleet.serve(server, model, qps=limit * share, bounds=None)
        fleet.owns(model, "1").limits(model, limit)

    lived = live(engine, fleet, ABOVE)

    assert lived.fired(ABOVE) == []


@pytest.mark.parametrize(
    ("scrape", "limit", "phases", "within"),
    [
        (5, 8, 0, 30),
        (5, 40, 1, 30),
        (5, 100, 2, 30),
        (5, 1000, 3, 30),
        (15, 8, 4, 60),
        (15, 100, 5, 60),
        (15, 1000, 6, 60),
    ],
)
def test_twice_the_limit_pages_soon(engine, scrape, limit, phases, within):
    """From the first request too many to the alert (D6)."""
    qps = steps((0, 0.5 * limit), (1800, 2 * limit))
    fleet = limited(qps, limit, scrape=scrape, seed=phases, seconds=2400)

    lived = live(engine, fleet, ABOVE, phases=phases)

    assert [0 <= one.since - 1800 <= within for one in lived.fired(ABOVE)] == [True]


@pytest.mark.parametrize(("limit", "scrape"), [(0.1, 15), (0.5, 15), (1, 5), (2, 15)])
def test_twice_a_small_limit_pages_in_time(engine, limit, scrape):
    """Few requests take longer to tell from chance, but they are told (D6)."""
    fleet = limited(steps((0, 0.5 * limit), (1800, 2 * limit)), limit, scrape=scrape, seconds=5400)

    lived = live(engine, fleet, ABOVE)

    assert 0 <= lived.fired(ABOVE)[0].since - 1800 <= max(120, 100 / limit)


@pytest.mark.parametrize("share", [1.1, 1.3])
def test_a_lasting_excess_pages_however_small(engine, share):
    """A tenth above the limit for half an hour is above the limit (D6)."""
    fleet = limited(steps((0, 6), (1800, 8 * share)), 8, seconds=4800)

    lived = live(engine, fleet, ABOVE)

    assert lived.fired(ABOVE, since=1800) != []
    assert lived.fired(ABOVE)[0].since >= 1800


@pytest.mark.parametrize(("scrape", "phases"), [(5, 0), (5, 1), (5, 2), (15, 3), (15, 4)])
def test_a_burst_is_the_business_of_the_spike_alert(engine, scrape, phases):
    """Five seconds of 40 a second, a minute that averages 7, a limit of 8: told a minute later (D6)."""
    fleet = limited(
        between(1800, 1805, 40, otherwise=4), 8, scrape=scrape, seed=phases, steady=True, seconds=2700
    )

    lived = live(engine, fleet, ABOVE, SPIKE, phases=phases)

    assert lived.fired(ABOVE) == []
    assert len(lived.fired(SPIKE)) == 1
    assert 1860 <= lived.fired(SPIKE)[0].since <= 1860 + scrape + EVERY + 5


@pytest.mark.parametrize(
    ("limit", "capacity", "offered", "phases"),
    [(100, 90, 200, 0), (8, 7, 21, 1), (8, 7, 16, 2), (40, 39, 60, 3)],
)
def test_an_overload_pages_although_fewer_complete(engine, limit, capacity, offered, phases):
    """Instances that are full complete less than the limit; what waits was offered, too (D15)."""
    qps = between(1800, 2700, offered, otherwise=0.5 * capacity)
    fleet = limited(qps, limit, capacity=capacity, seconds=3600, seed=phases)

    lived = live(engine, fleet, ABOVE, phases=phases)

    assert fleet.truth.requests(start=1800, end=2700) / 900 < limit
    assert fleet.truth.offered(start=1800, end=2700) / 900 > limit
    assert lived.fired(ABOVE) != []
    assert 1800 <= lived.fired(ABOVE)[0].since <= 1800 + 120


@pytest.mark.parametrize(("capacity", "phases"), [(150, 0), (120, 1)])
def test_a_queue_that_drains_is_not_offered_load(engine, capacity, phases):
    """More completes than the limit while what waited is worked off; nobody asks for that much (D15)."""
    qps = steps((0, 20), (1800, 1000), (1860, 20))
    fleet = limited(qps, 100, capacity=capacity, seconds=3600, seed=phases)

    lived = live(engine, fleet, ABOVE, phases=phases)

    assert fleet.truth.requests(start=1900, end=2100) / 200 > 100
    assert lived.fired(ABOVE, since=1860 + 360) == []


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_a_queue_that_comes_and_goes_is_no_overload(engine, load):
    """Random arrivals wait now and then where instances are half or four fifths busy (D15)."""
    fleet = limited(10 * load, 9, capacity=10, seconds=6 * HOUR, seed=3)

    lived = live(engine, fleet, ABOVE)

    assert lived.fired(ABOVE) == []


@pytest.mark.parametrize(("scrape", "phases"), [(15, 0), (5, 1)])
def test_two_sources_with_different_limits_are_told(engine, scrape, phases):
    """Two `serve` that differ mean that one of them is wrong (D16)."""
    fleet = limited(5, 8, scrape=scrape, seed=phases)
    fleet.limits("nms", 20, source="second").owns("nms", "1", source="second")

    lived = live(engine, fleet, phases=phases)

    assert lived.all_fired() != {}


def test_two_sources_that_agree_are_not_told(engine):
    """Two `serve` of one fleet file are one voice, also while one of them restarts (D16)."""
    fleet = limited(5, 20)
    fleet.limits("nms", 20, source="second").owns("nms", "1", source="second")
    fleet.serve_silent((1800, 1860), source="second")

    lived = live(engine, fleet)

    loud = {
        name for name, fired in lived.all_fired().items() if any("limit" in name.lower() for one in fired)
    }
    assert loud == set()


def test_turns_of_rules_that_were_missed_are_told(engine):
    """Rules that Prometheus had no time for watch nothing (D16)."""
    fleet = limited(5, 20)
    fleet.exports(
        "prometheus_rule_group_iterations_missed_total",
        lambda at: (at > 1800) * (at - 1800) // 60,
        rule_group="/etc/prometheus/rules/records.rules.yml;tritonobs.traffic",
    )

    lived = live(engine, fleet)

    assert lived.all_fired(since=1800) != {}


@pytest.mark.parametrize(("an_hour", "limit"), [(0.2, 8), (0.2, 100), (0.4, 20)])
def test_a_slow_rise_is_announced_minutes_ahead(engine, an_hour, limit):
    """A fifth of the limit an hour is slow, and over the limit all the same; there is no yesterday (D17)."""
    start, crossing = 2 * HOUR, 2 * HOUR + 0.5 / an_hour * HOUR
    qps = ramp(start, crossing + HOUR, 0.5 * limit, (1 + an_hour) * limit)
    fleet = limited(qps, limit, seconds=crossing + 600)

    lived = live(engine, fleet, WILL)

    assert lived.fired(WILL, since=start) != []
    assert lived.fired(WILL, since=start)[0].since <= crossing - 450


def mornings(limit):
    """Nights at a fifth of the limit, days at 85 %, with two hours between them, every day."""

    def curve(seconds):
        hour = seconds % DAY / HOUR
        share = 0.2 + 0.65 * (ramp(7, 9, 0, 1)(hour) - ramp(19, 21, 0, 1)(hour))
        return limit * share

    return curve


def test_a_rise_like_every_morning_is_not_announced(engine):
    """Yesterday and last week went the same way and stopped below the limit (D17)."""
    fleet = limited(mornings(100), 100, seconds=8 * DAY, scrape=60)

    lived = live(engine, fleet, WILL)

    assert lived.fired(WILL, since=7 * DAY + HOUR) == []


def test_a_rise_beyond_that_of_other_mornings_is_announced(engine):
    """The same morning, only that it does not stop (D17)."""
    usual = mornings(100)
    today = 7 * DAY + 7 * HOUR
    fleet = limited(
        lambda at: usual(at) + ramp(today, today + 3 * HOUR, 0, 60)(at),
        100,
        seconds=7 * DAY + 12 * HOUR,
        scrape=60,
    )

    lived = live(engine, fleet, WILL)

    crossing = today + 1.86 * HOUR
    assert lived.fired(WILL, since=today) != []
    assert lived.fired(WILL, since=today)[0].since <= crossing - 600


HUNG = [(5, 30), (5, 75), (15, 75), (15, 200), (30, 150)]


def hung_fleet(scrape, gap, after):
    """A server that stands still while clients go on, then does in two seconds what had come meanwhile."""
    start, usual = 1800, 7.2
    fleet = Fleet(seconds=4200, scrape_seconds=scrape, seed=scrape + gap)
    burst = start + gap + 3
    backlog = steps(
        (0, usual), (start, 0), (start + gap, usual), (burst, usual + gap * usual / 2), (burst + 2, after)
    )
    fleet.serve(fleet.server(silent=[(start, start + gap)]), qps=backlog, bounds=None)
    return fleet.owns("nms", "1").limits("nms", 8), start + gap


@pytest.mark.parametrize(("scrape", "gap"), HUNG)
def test_what_a_hung_server_catches_up_with_pages_nobody(engine, scrape, gap):
    """Nine tenths of the limit came all the time; the burst is a backlog, not an overload (D6)."""
    fleet, _ = hung_fleet(scrape, gap, 7.2)

    lived = live(engine, fleet, ABOVE)

    assert lived.fired(ABOVE) == []


@pytest.mark.parametrize(("scrape", "gap"), HUNG)
def test_too_much_after_a_server_hung_pages(engine, scrape, gap):
    """Twice the limit since it answers again is told two minutes later than elsewhere (D6)."""
    fleet, back = hung_fleet(scrape, gap, 16)

    lived = live(engine, fleet, ABOVE)

    assert 0 <= lived.fired(ABOVE)[0].since - back <= 180 + 3 * scrape


@pytest.mark.parametrize("scrape", [5, 15])
def test_too_much_elsewhere_pages_while_a_server_comes_back(engine, scrape):
    """Another server of the model gets three times the limit while the hung one catches up (D6)."""
    fleet, back = hung_fleet(scrape, 75, 7.2)
    fleet.serve(fleet.server("triton-2"), qps=steps((0, 0.5), (back, 24)), bounds=None)

    lived = live(engine, fleet, ABOVE)

    assert 0 <= lived.fired(ABOVE)[0].since - back <= 60
