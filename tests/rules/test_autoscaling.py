"""How many servers autoscalers are told a pool needs, read by Prometheus from simulated fleets."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.case import RECORD, Case, absent, near, reads
from support.simulate import World
from tritonobs import names
from tritonobs.extensions.kubernetes.autoscaling import needs
from tritonobs.plan.build import build_plan
from tritonobs.render.rules import clock_knobs, evaluate_mixin
from tritonobs.spec.load import read_text

if TYPE_CHECKING:
    from support.case import Check
    from support.simulate import Level

# Eight servers take 80 requests a second, and each may be offered 8 of its 10.
FLEET = """\
fleet: shop
replicas: {kubernetes: {selector: app=triton, namespace: models}}
rules: {replica_label: replica, cluster_label: none}
prometheus: {scrape_interval: SECONDSs, evaluation_interval: SECONDSs}
kubernetes:
  objects:
    autoscaling:
      triton:
        models: [inspect, llm]
        language_models: [llm]
        max_replicas: 8
models: {inspect: {qps_limit: 80}, llm: {}}
"""
NAN, INFINITE = float("nan"), float("inf")
CACHE, WAITING = "vllm:kv_cache_usage_perc", "vllm:num_requests_waiting"


def _queries(seconds: int) -> dict[str, str]:
    spec = read_text(FLEET.replace("SECONDS", str(seconds)), "fleet.yaml").spec
    assert spec is not None
    plan = build_plan(spec, Path())
    (pool,) = plan.kubernetes.pools
    return {need.name.removeprefix("tritonobs_triton_"): need.query for need in needs(plan, pool)}


QUERIES = _queries(15)
_OF_A_MODEL = [f"inspect_{name}" for name in ("load", "ahead", "queue")]
LOAD, AHEAD, QUEUE = (QUERIES[name] for name in _OF_A_MODEL)
LLM_WAITING, KV_CACHE = QUERIES["llm_waiting"], QUERIES["llm_kv-cache"]


def _limited(world: World, limit: Level) -> World:
    return world.gauge(names.QPS_LIMIT, limit, model="inspect").info("inspect").info("inspect", "1")


def _served(qps: Level, *, limit: Level = 80, queue: Level = 0.01, seconds: float = 15) -> World:
    """Four servers that are offered so much each."""
    world = World(minutes=20, scrape_seconds=seconds)
    for place in range(4):
        world.triton("inspect", replica=f"triton-{place}", qps=qps, queue=queue, seconds=0.25)
    return _limited(world, limit)


def _language(waiting: Level, used: Level) -> World:
    world = World(minutes=20).info("llm").info("llm", "1")
    for place in range(2):
        replica = f"triton-{place}"
        labels = {"job": "triton", "instance": f"{replica}:8002", "replica": replica}
        world.triton("llm", replica=replica, qps=2)
        world.gauge(WAITING, waiting, **labels, model="llm", version="1")
        world.gauge(CACHE, used, **labels, model="llm", version="1")
    return world


def _lost_server() -> World:
    """Of four servers one is not reached from the fifth minute on; nobody knows what it does."""
    return _served(8).outage("triton-0", (5, 99))


def _nonsense() -> World:
    """Servers whose counters are no numbers."""
    world = _served(8)
    world.series |= {name: [NAN] * len(world.times) for name in world.series if name.startswith("nv_")}
    return world


def _blind(*minutes: tuple[float, float], seconds: float = 15) -> World:
    """Servers that need six of them for their queue; each is not scraped at the times of its own."""
    world = _served(8, queue=0.15, seconds=seconds)
    for place, lost in enumerate(minutes):
        world.outage(f"triton-{place}", lost)
    return world


def _stopped(begins: float, ends: float, seconds: float = 15) -> World:
    """Prometheus does not run meanwhile."""
    world = _served(8, queue=0.15, seconds=seconds)
    world.series = {
        name: [
            None if begins <= at / 60 < ends else value for at, value in zip(world.times, values, strict=True)
        ]
        for name, values in world.series.items()
    }
    return world


def _gone(minute: float, value: float = 8) -> Level:
    return [(minute, value), (999, None)]


TOLD = (
    pytest.param(_served(8), (reads(LOAD, 10, ({}, 4)),), id="32 requests a second need four servers"),
    pytest.param(
        _served(0), (reads(LOAD, 10, ({}, 0)), reads(QUEUE, 10, ({}, 0))), id="no request, no server"
    ),
    pytest.param(
        _served(8, limit=[(8, 80), (99, 40)]),
        (reads(LOAD, 7, ({}, 4)), reads(LOAD, 10, ({}, 8))),
        id="half the limit needs twice the servers",
    ),
    pytest.param(
        _served([(10, 8), (99, 10)]),
        (near(AHEAD, 9, {}, 4), near(AHEAD, 11.5, {}, 6), near(LOAD, 11.5, {}, 5), near(AHEAD, 15, {}, 5)),
        id="growth is taken to go on for two minutes",
    ),
    pytest.param(
        _served([(10, 8), (99, 4)]),
        (near(AHEAD, 11.5, {}, 2),),
        id="what falls is not taken to fall further",
    ),
    pytest.param(
        _served(8, queue=0.15), (near(QUEUE, 10, {}, 6),), id="half as long again, half as many more"
    ),
    pytest.param(
        _lost_server(),
        (near(LOAD, 4, {}, 4), near(LOAD, 10, {}, 4), near(QUEUE, 10, {}, 0.4)),
        id="a server that is not read does what the others do",
    ),
    pytest.param(
        _language(4, 0.4), (near(LLM_WAITING, 10, {}, 4), near(KV_CACHE, 10, {}, 1)), id="a language model"
    ),
)


@pytest.mark.parametrize(("world", "checks"), TOLD)
def test_so_many_servers_are_needed(world: World, checks: tuple[Check, ...], case_engine, generated) -> None:
    """Offered load against the limit, now and ahead, waits, waiting requests, the cache."""
    assert _said(world, checks, case_engine, generated) == ""


MISSING = (
    pytest.param(_served(_gone(5)), (LOAD, AHEAD, QUEUE), id="no server is scraped for two minutes"),
    pytest.param(_nonsense(), (LOAD, AHEAD, QUEUE), id="servers that tell nonsense"),
    pytest.param(_served(8, limit=_gone(5, 80)), (LOAD, AHEAD), id="the limit is gone"),
    pytest.param(_served(8, limit=0), (LOAD, AHEAD), id="a limit of 0"),
    pytest.param(_served(8, limit=INFINITE), (LOAD, AHEAD), id="no limit"),
    pytest.param(_served(8, limit=NAN), (LOAD, AHEAD), id="a limit that is not a number"),
    pytest.param(_language(NAN, NAN), (LLM_WAITING, KV_CACHE), id="an engine that tells nonsense"),
    pytest.param(_language(_gone(5), _gone(5)), (LLM_WAITING, KV_CACHE), id="an engine that tells nothing"),
    pytest.param(World(minutes=20), tuple(QUERIES.values()), id="nothing at all"),
)


@pytest.mark.parametrize(("world", "silent"), MISSING)
def test_missing_data_is_no_number(world: World, silent: tuple[str, ...], case_engine, generated) -> None:
    """Not 0, not NaN, not infinite: no row, at which every autoscaler holds still."""
    checks = [absent(query, minute) for query in silent for minute in (7.25, 15)]

    assert _said(world, tuple(checks), case_engine, generated) == ""


UNSEEN = (
    pytest.param(_blind(*[(5, 7)] * 4), id="all servers for two minutes"),
    pytest.param(_blind(*[(5, 13)] * 4), id="all servers for longer than autoscalers remember"),
    pytest.param(_blind((5, 13), (5, 13.25), (5, 13.5), (5, 13.75)), id="servers come back one by one"),
    pytest.param(_blind((5, 7)), id="one server"),
    pytest.param(_blind((5, 13), (6, 12)), id="two servers for long"),
    pytest.param(_stopped(5, 6), id="Prometheus is restarted"),
    pytest.param(_stopped(5, 13), id="Prometheus is away for longer than autoscalers remember"),
    pytest.param(_blind((5, 13), (5, 13), (5, 13.25), (5, 13.5), seconds=5), id="all servers, every 5 s"),
    pytest.param(_stopped(5, 13, seconds=5), id="Prometheus is away, every 5 s"),
)


@pytest.mark.parametrize("world", UNSEEN)
def test_what_was_not_seen_takes_no_server_away(world: World, case_engine, generated) -> None:
    """Whenever there is an answer, the largest of five minutes, which counts, is as large as before.

    Nor does a gap make the load larger.
    """
    remembered = "(max_over_time(({0})[5m:15s]) and {0})"
    queries = _queries(int(world.scrape_seconds))
    load, ahead, queue = (remembered.format(queries[name]) for name in _OF_A_MODEL)
    wrong = [f"{load} < 3.9", f"{load} > 4.1", f"{ahead} < 3.9", f"{queue} < 5.9"]
    checks = [absent(query, at / 4) for query in wrong for at in range(4 * 4, 4 * 20)]

    assert _said(world, tuple(checks), case_engine, generated) == ""


@pytest.mark.parametrize("tier", ["all", "global"])
def test_the_prometheus_that_is_asked_has_the_records(tier: str) -> None:
    """What only shards record would be missing for ever in the global Prometheus."""
    groups = evaluate_mixin({**clock_knobs(Decimal(15), Decimal(15)), "tier": tier})["records"]["groups"]
    there = {rule.get("record") for group in groups for rule in group["rules"]}

    assert {name for query in QUERIES.values() for name in RECORD.findall(query)} - there == set()


def test_a_ramp_is_known_before_the_limit(case_engine, generated) -> None:
    """Four servers take 40 requests a second; a ramp gets there at 13:20, and a fifth is asked for by 12:00.

    The controller takes up to a tenth more than there are servers for the same.
    """
    ramp = [(10.0, 5.0), *((10 + step / 4, 5 + 1.5 * step / 4) for step in range(1, 40)), (99.0, 20.0)]
    checks = (
        reads(f"({AHEAD}) > bool 4.4", 9.75, ({}, 0)),
        reads(f"({AHEAD}) > bool 4.4", 12, ({}, 1)),
    )

    assert _said(_served(ramp), checks, case_engine, generated) == ""


def _said(world: World, checks: tuple[Check, ...], case_engine, generated) -> str:
    groups = generated(world.scrape_seconds)
    known = {rule["record"] for group in groups for rule in group["rules"] if "record" in rule}
    read = {name for check in checks for name in RECORD.findall(check.expr) if name in known}
    case = Case(says="a pool", world=world, rules=tuple(read), checks=checks)
    return case_engine.wrong(groups, case)
