"""Buckets are most of all series: what the rules read of them."""

import re
from datetime import timedelta

import promql_parser
import pytest

from support.promql import nodes, selectors
from support.rule_cases import groups_for, load_cases
from tritonobs.render.rules import evaluate_mixin

BUCKETS = "tritonobs_stage_duration_seconds_bucket"
SHORT = timedelta(minutes=1)
STAGES = {"tritonobs.stages.whole", "tritonobs.stages.parts"}


def looking_back(knobs):
    """The rules that read more than the last minute of all buckets of our stages."""
    files = evaluate_mixin(knobs)
    rules = [rule for file in files.values() for group in file["groups"] for rule in group["rules"]]
    return {
        rule.get("record") or rule["alert"]
        for rule in rules
        for node in nodes(promql_parser.parse(rule["expr"]))
        if isinstance(node, promql_parser.MatrixSelector)
        and node.vector_selector.name == BUCKETS
        and 'le="' not in node.vector_selector.prettify()
        and (node.range > SHORT or node.vector_selector.offset)
    }


def test_no_rule_reads_minutes_of_all_buckets():
    """Most are at bounds that no threshold names."""
    assert looking_back({}) == set()


def test_rules_without_records_of_them_do():
    """Shards know no thresholds, and some rulers write records late."""
    increase = "worker_stage_le:tritonobs_stage_duration_seconds_bucket:increase"

    assert looking_back({"tier": "shard"}) == {increase}
    assert looking_back({"recordsAtOnce": False}) == {increase}


def reading_all(knobs):
    """The groups with a rule that reads all buckets of our stages."""
    return {
        group["name"]
        for group in evaluate_mixin(knobs)["records"]["groups"]
        for rule in group["rules"]
        for one in selectors(promql_parser.parse(rule["expr"]))
        if one.name == BUCKETS and "le=" not in one.prettify()
    }


@pytest.mark.parametrize("knobs", [{}, {"tier": "shard"}, {"recordsAtOnce": False}])
def test_error_budgets_read_the_buckets_that_thresholds_may_name(knobs):
    """Percentiles need all of them; error budgets only where any threshold is allowed."""
    assert reading_all(knobs) == {"tritonobs.slo", *STAGES}
    assert reading_all(knobs | {"latencyBounds": ["0.1"]}) == STAGES


@pytest.mark.parametrize("bound", ["1", "0.25", "1e+06"])
def test_a_bound_selects_its_own_bucket(bound):
    """Prometheus 3 writes 1.0 where others write 1. A dot is a dot."""
    rules = [rule for group in groups_for(15, latencyBounds=[bound]) for rule in group["rules"]]
    (expr,) = (rule["expr"] for rule in rules if rule.get("record", "").endswith("_bucket:last"))
    (read,) = (one for one in selectors(promql_parser.parse(expr)) if one.name == BUCKETS)
    (pattern,) = (matcher.value for matcher in read.matchers.matchers if matcher.name == "le")

    written = {
        one for one in ("1", "1.0", "10", "0.25", "0x25", "1e+06", "+Inf") if re.fullmatch(pattern, one)
    }
    assert written == {bound, "+Inf"} | ({"1.0"} if bound == "1" else set())


@pytest.mark.parametrize("told", load_cases()["named_bounds"], ids=lambda told: told.says)
def test_requests_count_once_where_thresholds_are_known(told, case_engine):
    """The same as where any threshold is allowed; a threshold that is not allowed finds nothing."""
    assert case_engine.wrong(groups_for(15, latencyBounds=["0.1", "0.5"]), told) == ""
    assert case_engine.wrong(groups_for(15, latencyBounds=["0.7"]), told) != ""
