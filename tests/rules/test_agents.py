"""An agent that is missing is told, and nothing else is: all rules over what agents write to one store."""

from dataclasses import replace

import pytest

from support.case import Case, fires, reads, silent
from support.rule_cases import groups_for
from support.simulate import World
from tritonobs import names
from tritonobs.render.rules import evaluate_mixin

MISSING, UNLOADED, LOST = "TritonobsAgentMissing", "TritonModelUnloaded", "TritonServersLost"
STOPPED, DOWN, NOT_LOADED = "TritonTrafficStopped", "TritonServerDown", "TritonVersionNotLoaded"
GONE_ON_ONE = "TritonModelMissing"
OTHERS = (UNLOADED, LOST, STOPPED, DOWN, NOT_LOADED, GONE_ON_ONE)
ALL = (MISSING, *OTHERS)
UNTIL_30 = [(30, 1), (999, 0)]
AWAY_10 = [(30, 1), (40, 0), (999, 1)]
FROM_30, FOR_10 = (30, 999), (30, 40)


@pytest.fixture(name="rules", scope="module")
def _rules():
    return groups_for(15, agentsSelector=f'job="{names.AGENTS_JOB}"')


def fleet(minutes=60, *, agents=(1, 1), away=(), models=("a", "b")):
    """Agent 0 with the server of a, agent 1 with that of b; `away` are times without a sample of a model."""
    world = World(minutes=minutes)
    for model in models:
        world.triton(model, replica=f"triton-{model}", qps=4).info(model, "1")
    for model in models:
        world.outage(f"triton-{model}")
    for model, (start, end) in away:
        for name, values in world.series.items():
            if f'replica="triton-{model}"' in name:
                world.series[name] = [
                    None if 60 * start <= at < 60 * end else value
                    for at, value in zip(world.times, values, strict=True)
                ]
    for number, level in enumerate(agents):
        world.gauge("up", level, job=names.AGENTS_JOB, shard=str(number))
    return world


CASES = (
    Case(
        says="an agent that does not answer is told for as long as that lasts, and its models hold still",
        world=fleet(120, agents=(1, UNTIL_30), away=[("b", FROM_30)]),
        rules=ALL,
        checks=(
            silent(MISSING, 30.5),
            fires(MISSING, 32, severity="critical", shard="1"),
            fires(MISSING, 119, severity="critical", shard="1"),
            *(silent(alert, 120) for alert in OTHERS),
        ),
    ),
    Case(
        says="an agent that comes back makes no alert while rates of its servers are not known yet",
        world=fleet(agents=(1, AWAY_10), away=[("b", FOR_10)]),
        rules=ALL,
        checks=(silent(MISSING, 60, since=41), *(silent(alert, 60) for alert in OTHERS)),
    ),
    Case(
        says="all agents gone at once are agents that are missing, and no cluster is said to be lost",
        world=fleet(120, agents=(UNTIL_30, UNTIL_30), away=[("a", FROM_30), ("b", FROM_30)]),
        rules=ALL,
        checks=(
            reads(f'count(ALERTS{{alertname="{MISSING}",alertstate="firing"}})', 32, ({}, 2)),
            *(silent(alert, 120) for alert in OTHERS),
        ),
    ),
    Case(
        says="a model that goes with its server is told while every agent answers",
        world=fleet(away=[("b", FROM_30)]),
        rules=ALL,
        checks=(
            fires(UNLOADED, 33, severity="critical", model="b", version="1", kind="model"),
            silent(MISSING, 60),
        ),
    ),
    Case(
        says="a model that goes from a server that is scraped is told while another agent is missing",
        world=fleet(agents=(1, UNTIL_30), away=[("b", FROM_30)]).triton(
            "a", replica="triton-a", qps=[(40, 4), (999, None)]
        ),
        rules=ALL,
        checks=(
            silent(UNLOADED, 40),
            fires(UNLOADED, 43, severity="critical", model="a", version="1", kind="model"),
        ),
    ),
)


@pytest.mark.parametrize("told", CASES, ids=lambda told: told.says)
def test_a_missing_agent_is_told_and_nothing_else(told, case_engine, rules):
    """Every check holds in Prometheus."""
    assert case_engine.wrong(rules, told) == ""


def test_without_the_knob_the_loss_would_be_told_of_models(case_engine):
    """What agents need the knob for: their models would be said to be loaded nowhere."""
    told = replace(CASES[0], rules=OTHERS, checks=(silent(UNLOADED, 120),))
    without = groups_for(15)

    assert UNLOADED in case_engine.wrong(without, told)


def test_without_agents_nothing_asks_for_them():
    """One Prometheus, shards and the global tier read no page of an agent."""
    for tier in ("all", "shard", "global"):
        assert names.AGENTS_JOB not in str(evaluate_mixin({"tier": tier}))
