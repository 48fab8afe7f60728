"""Buckets are most of all series: what the rules read of them."""

from datetime import timedelta

import promql_parser

from support.promql import nodes
from tritonobs.render.rules import evaluate_mixin

BUCKETS = "tritonobs_stage_duration_seconds_bucket"
SHORT = timedelta(minutes=1)


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
