"""The simulator: its series are what Prometheus would have scraped, its truth is what happened."""

import numpy as np
import pytest

from support.fleet_sim.curves import between, steps, week
from support.fleet_sim.evaluate import evaluate
from support.fleet_sim.fleet import FOREVER, Fleet
from support.fleet_sim.order import RulesReadThemselves, ordered, scheduled
from support.fleet_sim.series import Series
from support.fleet_sim.wire import write_request
from support.fleet_sim.world import live

START = 10**12
SUCCESS, FAILURE = "nv_inference_request_success", "nv_inference_request_failure"


def rows(fleet, name, **labels):
    """The series of a fleet with this name and these labels."""
    return [
        one
        for one in fleet.series(START)
        if one.labels["__name__"] == name
        and all(one.labels.get(key) == value for key, value in labels.items())
    ]


def told(one):
    """Seconds and values of a series, None for the marker at its end."""
    seconds = ((one.times_ms - START) / 1000).tolist()
    return dict(
        zip(seconds, (None if np.isnan(value) else value for value in one.values.tolist()), strict=True)
    )


def group(name, interval, *rules):
    """A group of records, `name: expression`."""
    return {
        "name": name,
        "interval": interval,
        "rules": [dict(zip(("record", "expr"), rule, strict=True)) for rule in rules],
    }


def test_the_same_seed_is_the_same_world():
    """Arrivals, lost scrapes and phases are thrown with one seed."""
    made = []
    for seed in (1, 1, 2):
        fleet = Fleet(seconds=600, seed=seed)
        fleet.serve(fleet.server(lost=0.1), qps=5, raised=0.1)
        made.append([(one.times_ms.tolist(), one.values.tolist()) for one in fleet.series(START)])

    assert str(made[0]) == str(made[1])
    assert str(made[0]) != str(made[2])


def test_counters_show_what_happened():
    """The last scrape reads every request so far, by how it ended."""
    fleet = Fleet(seconds=601, seed=1)
    server = fleet.server(phase_seconds=0)
    fleet.serve(server, qps=10, soft=0.1, raised=0.1, dead=0.05, expired=0.05, cancelled=0.02, slow=0.2)

    def last(name, **labels):
        return sum(one.values[-2] for one in rows(fleet, name, **labels))

    count = fleet.truth.count
    assert last(SUCCESS) == count("fast", "slow", "soft", end=600)
    assert last(FAILURE, reason="BACKEND") == count("raised", "dead", end=600)
    assert last(FAILURE, reason="REJECTED") == count("expired", end=600)
    assert last("tritonobs_requests_total", outcome="error") == count("soft", "raised", end=600)
    assert last("tritonobs_stage_duration_seconds_bucket", le="+Inf") == fleet.truth.count(
        "fast", "slow", "soft", "raised", end=600
    )
    assert last("tritonobs_stage_duration_seconds_bucket", le="0.1") == count(
        "fast", "soft", "raised", end=600
    )
    assert fleet.truth.bad(end=600) == count("soft", "raised", "dead", "expired", end=600)
    assert fleet.truth.bad(end=600) == pytest.approx(0.3 * 6000, rel=0.1)


def test_workers_share_the_requests():
    """Each request is counted by one worker."""
    fleet = Fleet(seconds=301, seed=1)
    fleet.serve(fleet.server(phase_seconds=0), qps=7, workers=3)

    each = [one.values[-2] for one in rows(fleet, "tritonobs_requests_total", outcome="ok")]

    assert sum(each) == fleet.truth.requests(end=300)
    assert max(each) - min(each) <= 1


def test_a_restart_resets_and_a_failed_scrape_ends_every_series():
    """Down for 20 s at a scrape every 10 s: `up` says 0, and afterwards counters begin at 0."""
    fleet = Fleet(seconds=60, scrape_seconds=10)
    fleet.serve(fleet.server(phase_seconds=0, restarts=[(18, 38)]), qps=1, steady=True)

    assert told(rows(fleet, "up", job="triton")[0]) == {0: 1, 10: 1, 20: 0, 30: 0, 40: 1, 50: 1, 60: None}
    assert told(rows(fleet, SUCCESS)[0]) == {0: 0, 10: 10, 20: None, 40: 2, 50: 12, 60: None}


def test_a_target_that_leaves_discovery_takes_up_along():
    """Everything of it ends where its next scrape would have been."""
    fleet = Fleet(seconds=60, scrape_seconds=10)
    fleet.serve(fleet.server(phase_seconds=0, discovered=(0, 25)), qps=1, steady=True)

    assert told(rows(fleet, "up", job="triton")[0]) == {0: 1, 10: 1, 20: 1, 30: None}


def test_failures_outlast_an_unload_and_workers_do_not():
    """Triton leaves the failures of an unloaded version on its page (trap 7)."""
    fleet = Fleet(seconds=60, scrape_seconds=10)
    fleet.serve(fleet.server(phase_seconds=0), qps=1, steady=True, raised=1, loaded=[(0, 25), (40, FOREVER)])

    assert told(rows(fleet, FAILURE, reason="BACKEND")[0]) == {
        0: 0,
        10: 10,
        20: 20,
        30: 25,
        40: 25,
        50: 35,
        60: None,
    }
    assert told(rows(fleet, SUCCESS)[0]) == {0: 0, 10: 0, 20: 0, 30: None, 40: 0, 50: 0, 60: None}
    beats = rows(fleet, "tritonobs_heartbeat_timestamp_seconds")
    assert [list(told(one)) for one in beats] == [[0, 10, 20, 30], [40, 50, 60]]


@pytest.mark.parametrize(("version", "found"), [("3", {"1": 10, "3": 10}), ("1", {"1": 20})])
def test_an_ensemble_is_told_as_triton_tells_it(version, found):
    """Its traffic stands under version 1, its failures count twice (traps 1 and 2)."""
    fleet = Fleet(seconds=21, scrape_seconds=10)
    fleet.serve(fleet.server(phase_seconds=0), "pipe", version, qps=1, steady=True, raised=0.5, ensemble=True)

    assert [one.labels["version"] for one in rows(fleet, SUCCESS)] == ["1"]
    assert {
        one.labels["version"]: told(one)[20] for one in rows(fleet, FAILURE, reason="OTHER") if told(one)[20]
    } == found
    assert [one.labels["version"] for one in rows(fleet, "nv_inference_pending_request_count")] == [version]


def test_what_instances_cannot_take_waits_and_then_is_refused():
    """Five a second of ten; up to 20 wait, and Triton counts none of the others."""
    fleet = Fleet(seconds=61, scrape_seconds=10)
    fleet.serve(fleet.server(phase_seconds=0), qps=10, steady=True, capacity=5, most_waiting=20)

    assert told(rows(fleet, SUCCESS)[0])[60] == 300
    assert told(rows(fleet, "nv_inference_pending_request_count")[0])[60] == 20
    assert fleet.truth.offered(end=60) == 600
    assert fleet.truth.count("unseen", end=60) == 280


def test_a_server_with_two_addresses_is_scraped_twice():
    """Both targets show the same page."""
    fleet = Fleet(seconds=60)
    fleet.serve(fleet.server("a", "b"), qps=1)

    one, other = rows(fleet, SUCCESS)

    assert {one.labels["instance"], other.labels["instance"]} == {"a:8002", "b:8002"}
    assert one.values[:-1].tolist() == other.values[:-1].tolist()


def test_a_week_has_nights_and_weekends():
    """The peak is at noon, a third of it at midnight, and Saturday is quieter."""
    seconds = np.array([43_200, 0, 5 * 86_400 + 43_200])

    assert week(10)(seconds).tolist() == pytest.approx([10, 3, 6])


def test_levels_hold_until_the_next():
    """Nothing before the first."""
    assert steps((10, 1), (20, 5))(np.array([0, 10, 19, 20, 99])).tolist() == [0, 1, 1, 5, 5]
    assert between(1, 2, 7, otherwise=3)(np.array([0, 1, 2])).tolist() == [3, 7, 3]


def test_groups_are_evaluated_at_their_own_intervals_and_phases(engine):
    """A record of 20 s and one of 60 s that reads it; each sample stands at a turn of its own group."""
    fleet = Fleet(seconds=600)
    fleet.serve(fleet.server(), qps=1)
    groups = [
        group("slow", "1m", ("a:slow:sum", "a:fast:sum + 0")),
        group("fast", "20s", ("a:fast:sum", "time()")),
    ]

    lived = live(engine, fleet, "a:slow:sum", groups=groups, phases=5)

    phases = {rule.name: rule.phase_ms / 1000 for rule in scheduled(groups, seed=5, default_ms=1)}
    assert lived.value("count_over_time(a:fast:sum[10m])", 600) == 30
    assert lived.value("count_over_time(a:slow:sum[10m])", 600) == 10
    assert lived.value("timestamp(a:slow:sum)", 600) == lived.start_ms / 1000 + 540 + phases["a:slow:sum"]
    seen = lived.value("a:slow:sum", 600) - lived.start_ms / 1000
    assert 0 <= 540 + phases["a:slow:sum"] - seen < 20
    assert round(seen - phases["a:fast:sum"], 3) % 20 == 0


def test_a_record_ends_with_the_turn_that_no_longer_gives_it(engine):
    """Readers see it gone at once, not after five minutes."""
    fleet = Fleet(seconds=300)
    fleet.shows(fleet.server(phase_seconds=0), "thing", 1, lives=[(0, 100)])

    lived = live(
        engine, fleet, "a:thing:sum", groups=[group("one", "10s", ("a:thing:sum", "thing"))], phases=None
    )

    assert lived.value("a:thing:sum", 100) == 1
    assert lived.value("a:thing:sum", 110) is None


def test_a_rule_that_fails_for_a_while_is_counted_and_lives_on(engine):
    """Two rows on one side of a join from 100 to 199 s: these turns fail, the others do not."""
    fleet = Fleet(seconds=300)
    server = fleet.server(phase_seconds=0, scrape_seconds=10)
    fleet.shows(server, "left", 1, model="a")
    fleet.shows(server, "right", 1, model="a", kind="x")
    fleet.shows(server, "right", 1, lives=[(100, 200)], model="a", kind="y")
    groups = [group("one", "10s", ("a:join:sum", "left * on (model) group_left () right"))]

    lived = live(engine, fleet, "a:join:sum", groups=groups, phases=None)

    assert lived.failures == {"a:join:sum": 10}
    assert lived.value("count_over_time(a:join:sum[5m])", 299) == 20


def test_a_record_that_reads_itself_is_computed_turn_by_turn(engine):
    """What it recorded before Prometheus was away is too old afterwards, and what has ended is gone."""
    fleet = Fleet(seconds=1200)
    server = fleet.server(phase_seconds=0, scrape_seconds=10)
    fleet.shows(server, "thing", 1, lives=[(100, 200), (300, 1200)])
    fleet.away += [(500, 900)]
    own = "thing + on (instance) (a:thing:sum or on (instance) thing * 0)"
    groups = [group("one", "10s", ("a:thing:sum", own), ("a:calm:sum", "thing or a:calm:sum offset 1h"))]

    lived = live(engine, fleet, "a:thing:sum", "a:calm:sum", groups=groups, phases=None)

    seen = [lived.value("a:thing:sum", at) for at in (100, 110, 190, 205, 300, 490, 900, 990)]
    assert seen == [1, 2, 10, None, 1, 20, 1, 10]
    assert lived.value("a:calm:sum", 990) == 1
    assert lived.value("count(a:calm:sum)", 205) is None


def test_rules_that_read_each_other_are_refused_by_name(engine):
    """They cannot be computed one after the other."""
    groups = [group("one", "10s", ("a:x:sum", "a:y:sum"), ("a:y:sum", "a:x:sum"))]

    with pytest.raises(RulesReadThemselves, match="a:x:sum reads a:y:sum reads a:x:sum"):
        ordered(scheduled(groups, seed=0, default_ms=1), ["a:x:sum"])


def test_rules_that_read_what_stands_below_them_are_refused():
    """In Prometheus they would see the value of the turn before."""
    groups = [group("one", "10s", ("a:x:sum", "a:y:sum"), ("a:y:sum", "up"))]

    with pytest.raises(ValueError, match="a:x:sum reads a:y:sum, which stands below it in one"):
        ordered(scheduled(groups, seed=0, default_ms=1), ["a:x:sum"])


def test_a_rule_may_read_the_state_of_an_alert(engine):
    """`ALERTS` of the alert it names is there when it is computed."""
    fleet = Fleet(seconds=300)
    fleet.shows(fleet.server(phase_seconds=0), "thing", 1, lives=[(100, 200)])
    alert = {"alert": "Thing", "expr": "thing == 1", "for": "20s", "labels": {"severity": "info"}}
    reader = ("a:state:count", 'count(ALERTS{alertname="Thing", alertstate="firing"})')
    groups = [{"name": "alerts", "interval": "10s", "rules": [alert]}, group("later", "10s", reader)]

    evaluated = live(engine, fleet, "a:state:count", groups=groups, phases=None)

    assert evaluated.value("a:state:count", 110) is None
    assert evaluated.value("a:state:count", 150) == 1
    assert evaluated.value("count_over_time(a:state:count[5m])", 290) == pytest.approx(8, abs=1)


def test_times_of_another_length_are_refused():
    """Their bytes would be wrong."""
    far = Series(labels={"__name__": "up"}, times_ms=np.array([2**42]), values=np.array([1.0]))

    with pytest.raises(ValueError, match="times from"):
        write_request([far])


def test_an_alert_with_a_template_for_a_label_is_refused(engine):
    """The simulator cannot fill it."""
    alert = {"alert": "Thing", "expr": "vector(1)", "labels": {"severity": "{{ $value }}"}}
    start = engine.new_time()

    with pytest.raises(ValueError, match="is a template"):
        evaluate(engine, [{"name": "a", "rules": [alert]}], ["Thing"], start_ms=start, end_ms=start + 120_000)
