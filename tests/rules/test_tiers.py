"""Shards and the global tier: each reads only what it has, and together they have what one Prometheus has."""

import promql_parser
import pytest

from support.promql import selectors, series_of
from support.tiered import asked_later
from tritonobs.errors import RenderFailed
from tritonobs.render.rules import evaluate_mixin, given_by_shards

TRITON = 'job="triton"'
PREFIX = "shard:"
VENDORS = ("vllm:",)
COUNTED = "sum_over_time"
# What only `tritonobs serve` or a rules file tells.
OBJECTIVES = {
    "tritonobs_model_info",
    "tritonobs_qps_limit",
    "tritonobs_tokens_per_second_limit",
    "tritonobs_slo_objective_ratio",
    "tritonobs_latency_target_seconds",
    "tritonobs_pipeline_calls",
}
# Records that stay on shards: what they are made for is recorded there, too.
KEPT = {
    "replica:triton_load_seconds:max",
    "replica:triton_requests_succeeded:sum",
    "target:triton_requests:last",
    "cluster:tritonobs_evaluated:info",
    "replica:triton_pages_new:count",
    "target:triton_page_read:bool",
    "worker_stage_le:tritonobs_stage_duration_seconds_bucket:last",
    "worker_stage_le:tritonobs_stage_duration_seconds_bucket:increase",
}


def rules_of(tier):
    """Every rule of a tier."""
    files = evaluate_mixin({"tier": tier})
    return [rule for file in files.values() for group in file["groups"] for rule in group["rules"]]


def named(rules):
    """The records among rules."""
    return {rule["record"] for rule in rules if "record" in rule}


def reads(rule):
    """The series that a rule reads: names, each with its matchers as PromQL."""
    read = selectors(promql_parser.parse(rule["expr"]))
    return [(name, one.prettify()) for one in read for name in series_of(one)]


def is_record(name):
    """Whether rules make the series, and not Triton, an engine or an exporter."""
    return ":" in name and not name.startswith(VENDORS)


def unknown(rules, records):
    """The records that rules read and that neither they nor `records` are."""
    there = named(rules) | records
    return {name for rule in rules for name, _ in reads(rule) if is_record(name)} - there


def raw(rules):
    """The series of servers that rules read."""
    return {name for rule in rules for name, _ in reads(rule) if not is_record(name)}


def of_servers(rules, servers):
    """The rules that read what only a shard scrapes, with what that is; `servers` are such series."""
    return {
        (rule.get("record") or rule["alert"], name)
        for rule in rules
        for name, selector in reads(rule)
        if TRITON in selector or name in servers
    }


@pytest.fixture(name="shard", scope="module")
def _shard():
    return rules_of("shard")


@pytest.fixture(name="whole", scope="module")
def _whole():
    return rules_of("global")


@pytest.fixture(name="given", scope="module")
def _given():
    """What shards give, by the name that the global tier has for it, and whether its samples count."""
    return {PREFIX + one.record: one.counts for one in given_by_shards({})}


@pytest.fixture(name="servers", scope="module")
def _servers(shard):
    return raw(shard) - {"up"}


def test_one_prometheus_knows_no_tiers():
    """All is what the mixin says without a tier."""
    assert evaluate_mixin({"tier": "all"}) == evaluate_mixin({})
    assert PREFIX not in str(evaluate_mixin({}))


def test_a_shard_has_no_alert_and_no_objective(shard):
    """Objectives on every shard would miss the models of all others."""
    assert [rule["alert"] for rule in shard if "alert" in rule] == []
    assert raw(shard) & OBJECTIVES == set()


def test_a_shard_reads_no_record_that_it_has_not(shard):
    """Nothing of the global tier is needed to record what a shard gives."""
    assert unknown(shard, set()) == set()


def test_the_global_tier_reads_no_series_of_servers(whole, servers):
    """It scrapes none: what it asks of servers it asks of the records of shards."""
    assert of_servers(whole, servers) == set()


def test_the_global_tier_reads_no_record_that_nobody_gives(whole, given):
    """Its own records and those of shards are all that it reads."""
    assert unknown(whole, set(given)) == set()


def test_shards_give_nothing_that_nobody_reads(whole, given):
    """What crosses the network is used."""
    assert set(given) - {name for rule in whole for name, _ in reads(rule)} == set()


def test_the_global_tier_records_nothing_twice(whole):
    """A rule there reads all that shards have of a record."""
    made = [rule["record"] for rule in whole if "record" in rule]

    assert sorted(made) == sorted(set(made))


def test_samples_that_count_are_summed_over_time_and_no_others(whole, given):
    """An increase that was read twice would count twice."""
    summed = {
        name
        for rule in whole
        for name in given
        if f"{COUNTED}({name}[" in rule["expr"] or f"{COUNTED}({name}{{" in rule["expr"]
    }

    assert summed == {name for name, counts in given.items() if counts}


def test_both_tiers_together_have_every_record_and_alert(whole):
    """Boards and people find in the global tier what they find in one Prometheus, and one alert more."""
    every = rules_of("all")
    alerts = [{rule["alert"] for rule in rules if "alert" in rule} for rules in (every, whole)]

    assert named(every) - named(whole) == KEPT
    assert alerts[1] - alerts[0] == {"TritonobsShardMissing"}
    assert alerts[0] - alerts[1] == set()


def test_the_checks_see_a_rule_that_is_on_the_wrong_tier(shard, whole, given, servers):
    """A record that shards keep for themselves, a raw series, an objective on a shard."""
    failed = "shard:replica:triton_scraped:info"
    up = {"alert": "A", "expr": f"up{{{TRITON}}} == 0"}
    bytes_used = {"record": "a:b:c", "expr": "DCGM_FI_DEV_FB_USED"}
    info = {"record": "a:b:c", "expr": "tritonobs_model_info"}
    held = {"record": "a:b:c", "expr": "subject:tritonobs_qps_limit:held"}

    assert unknown(whole, set(given) - {failed}) == {failed}
    assert of_servers([up, bytes_used], servers) == {("A", "up"), ("a:b:c", "DCGM_FI_DEV_FB_USED")}
    assert raw([*shard, info]) & OBJECTIVES == {"tritonobs_model_info"}
    assert unknown([*shard, held], set()) == {"subject:tritonobs_qps_limit:held"}


def test_two_tiers_say_what_one_prometheus_says(tiered_case, tiered, case_engine):
    """Every check of the case holds, of increases an evaluation later; all cases with TRITONOBS_TIERS=all."""
    asked = asked_later(tiered_case)

    assert case_engine.wrong(tiered(asked.world.scrape_seconds), asked) == ""


def test_a_tier_that_is_none_is_refused():
    """The mixin names those there are."""
    with pytest.raises(RenderFailed, match="tier is shards; allowed are all, shard, global"):
        evaluate_mixin({"tier": "shards"})
