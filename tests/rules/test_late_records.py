"""Rules for vmalert: each reads what the rules above it recorded an evaluation ago, and never at once.

promtool shows the same when the rules stand in reverse: what a rule reads is then recorded after it.
"""

import promql_parser
import pytest

from support.case import Case, absent, reads
from support.promql import selectors
from support.promtool import run
from support.rule_cases import groups_for, load_cases
from support.simulate import World
from tritonobs import names
from tritonobs.units import parse_duration

LATE = {"recordsAtOnce": False}
BURNS = "TritonErrorBudgetBurnFast"
SLI = ("slo:sli_valid_requests", "slo:sli_bad_requests")
SLO = {"model": "m", "slo": "availability"}
OLD = {"job": "triton", "instance": "triton-2:8002", "replica": "triton-2", "model": "old", "version": "1"}
PAUSED = [(20, 4), (21, None), (30, 4), (31, None), (40, 4), (41, None), (99, 4)]


TRAFFIC = [(30, 40), (99, 4)]
DROPS = (
    World(minutes=40)
    .triton("m", qps=TRAFFIC)
    .stage("m", "total", qps=TRAFFIC, times={0.2: 1})
    .outage("triton-1")
)


def late(groups):
    """The same rules where each is evaluated before all that it reads."""
    return [{**group, "rules": group["rules"][::-1]} for group in groups[::-1]]


def promised(world):
    """A promise for m."""
    return world.info("m", "1").gauge(names.SLO_OBJECTIVE, 0.99, **SLO)


CASES = (
    Case(
        says="failures that Triton alone counts burn the budget",
        world=promised(World(minutes=60).triton("m", qps=8, failures={"REJECTED": 2})).outage("triton-1"),
        rules=(BURNS, "slo:sli_error:ratio_rate5m"),
        checks=(
            reads(f'count(ALERTS{{alertname="{BURNS}",alertstate="firing"}})', 59, ({}, 1)),
            reads("max(slo:sli_error:ratio_rate5m)", 59, ({}, 0.2)),
        ),
    ),
    Case(
        says="a steep drop of traffic makes no request bad, and none that is not measured",
        world=promised(DROPS)
        .gauge(names.SLO_OBJECTIVE, 0.98, model="m", slo="latency")
        .gauge(names.LATENCY_TARGET, 0.5, model="m", slo="latency", stage="total", le="0.5"),
        rules=("slo:sli_bad_requests:increase", "slo:sli_unmeasured_requests:increase"),
        checks=(
            reads("count(slo:sli_valid_requests:increase > 0)", 39, ({}, 2)),
            reads("count(slo:sli_bad_requests:increase)", 39, ({}, 2)),
            absent("max_over_time(slo:sli_bad_requests:increase[20m]) > 0.01", 40),
            absent("min_over_time(slo:sli_bad_requests:increase[20m]) < -0.01", 40),
            absent("max_over_time(slo:sli_unmeasured_requests:increase[20m]) > 0.01", 40),
        ),
    ),
    Case(
        says="sums of sums hold every request",
        world=promised(World(minutes=60).triton("m", qps=8, failures={"REJECTED": 2})),
        rules=tuple(f"{name}:{samples}" for name in SLI for samples in ("sampled", "rarely_sampled")),
        checks=tuple(
            reads(f"max(avg_over_time({name}:{samples}[10m]))", 59, ({}, 15 * per_second))
            for name, per_second in zip(SLI, (10, 2), strict=True)
            for samples in ("sampled", "rarely_sampled")
        ),
    ),
    Case(
        says="every start of a server counts",
        world=World(minutes=50).triton("m", qps=PAUSED).outage("triton-1", (20, 21), (30, 31), (40, 41)),
        rules=("replica:triton_restarted:bool",),
        checks=(
            reads("sum_over_time(replica:triton_restarted:bool[40m])", 50, ({"replica": "triton-1"}, 3)),
        ),
    ),
)


# Counters are read as records either way.
HISTORY = Case(
    says="what a server did before it was scraped for the first time is not charged",
    world=World(minutes=40)
    .gauge(names.TRITON_SUCCESS, [(20, None), (99, 1e6)], **OLD)
    .gauge("up", [(20, None), (99, 1)], job="triton", instance="triton-2:8002", replica="triton-2"),
    rules=("model_version:triton_requests:increase",),
    checks=(absent('max_over_time(model_version:triton_requests:increase{model="old"}[30m]) > 0', 40),),
)


@pytest.mark.parametrize("told", [*CASES, HISTORY, *load_cases()["missed"]], ids=lambda told: told.says)
def test_late_records_say_the_same(told, promtool, tmp_path):
    """Whether records are read at once or an evaluation later."""
    for groups in (groups_for(15, **LATE), late(groups_for(15, **LATE)), groups_for(15)):
        assert run(promtool, groups, told, tmp_path) == ""


@pytest.mark.parametrize("told", CASES, ids=lambda told: told.says)
def test_rules_that_read_at_once_would_not(told, promtool, tmp_path):
    """Each case needs the knob."""
    assert run(promtool, late(groups_for(15)), told, tmp_path) != ""


def torn(groups):
    """Prometheus lets groups overlap: all others are evaluated between two rules of error budgets."""
    (slo,) = (group for group in groups if group["name"] == "tritonobs.slo")
    cut = next(
        place for place, rule in enumerate(slo["rules"]) if rule.get("record", "").startswith("slo:sli_")
    )
    parts = [{**slo, "rules": slo["rules"][:cut]}, {**slo, "name": "rest", "rules": slo["rules"][cut:]}]
    return [parts[0], *(group for group in groups if group is not slo), parts[1]]


@pytest.mark.parametrize("told", CASES, ids=lambda told: told.says)
def test_groups_that_overlap_say_the_same(told, promtool, tmp_path):
    """One reads while another has written a part of its evaluation."""
    assert run(promtool, torn(groups_for(15)), told, tmp_path) == ""


def compared(groups):
    """The rules that compare a record as it is now with what it was an evaluation ago, or earlier."""
    made = {
        rule["record"]: float(parse_duration(group["interval"]))
        for group in groups
        for rule in group["rules"]
        if "record" in rule
    }
    found = set()
    for rule in (rule for group in groups for rule in group["rules"]):
        offsets = {}
        for one in selectors(promql_parser.parse(rule["expr"])):
            if one.name in made:
                offsets.setdefault(one.name, set()).add(one.offset.total_seconds() if one.offset else 0.0)
        if any(0 in at and any(0 < one <= made[name] for one in at) for name, at in offsets.items()):
            found.add(rule.get("record") or rule["alert"])
    return found


def test_no_rule_compares_a_record_with_the_evaluation_before():
    """It would compare a sample with itself."""
    assert compared(groups_for(15, **LATE)) == set()


def test_the_check_sees_those_that_do():
    """Where records are read at once some do."""
    assert {"replica:triton_pages_new:count", "replica:triton_restarted:bool"} <= compared(groups_for(15))


def read_twice(groups):
    """Series of which an increase reads how they are now, and how they were an evaluation ago."""
    found = set()
    for group in groups:
        ago = parse_duration(group["interval"])
        for rule in (rule for rule in group["rules"] if rule.get("record", "").endswith(":increase")):
            offsets = {}
            for one in selectors(promql_parser.parse(rule["expr"])):
                if one.name and ":" not in one.name.removeprefix("vllm:"):
                    offsets.setdefault(one.name, set()).add(one.offset.total_seconds() if one.offset else 0.0)
            found |= {(rule["record"], name) for name, at in offsets.items() if {0.0, ago} <= at}
    return found


@pytest.mark.parametrize("knobs", [{}, {"tier": "shard"}, {"tier": "global"}], ids=str)
def test_series_are_read_twice_when_their_pages_are_written(knobs):
    """A scrape that is written a moment after an evaluation would count neither in it nor in the next one."""
    assert read_twice(groups_for(15, **knobs)) == set()


def test_the_check_sees_series_that_are_read_twice():
    """Where all rules wait for pages, none waits longer."""
    record = "replica_model:triton_requests:increase"
    assert (record, names.TRITON_SUCCESS) in read_twice(groups_for(15, **LATE))


@pytest.mark.parametrize("scrape", [5, 15, 60])
def test_rates_that_leave_out_a_server_that_came_back_follow_that_record(scrape):
    """Two of its pages may come between two evaluations of another group: its queue was a burst then."""
    back = "replica:triton_returned:info"
    readers = 0
    for group in groups_for(scrape):
        made = [rule.get("record") for rule in group["rules"]]
        reading = [at for at, rule in enumerate(group["rules"]) if back in rule["expr"]]
        assert all(back in made[:at] for at in reading)
        readers += len(reading)
    assert readers >= 2
