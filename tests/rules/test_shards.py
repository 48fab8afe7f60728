"""A shard that is missing is told, and nothing else is: the global tier over what shards would give."""

import pytest

from support.case import Case, fires, reads, silent
from support.rule_cases import groups_for
from support.simulate import World
from tritonobs import names

MISSING, UNLOADED, LOST = "TritonobsShardMissing", "TritonModelUnloaded", "TritonServersLost"
ABOVE = names.ALERT_QPS_ABOVE_LIMIT
VERSIONS = f'count(count by (version) (count_over_time(ALERTS{{alertname="{ABOVE}"}}[1h])))'
STOPPED, DOWN, NOT_LOADED = "TritonTrafficStopped", "TritonServerDown", "TritonVersionNotLoaded"
RATE = "shard:replica_model_version:triton_requests_succeeded:rate1m"
UNTIL_30 = [(30, 1), (999, None)]
GONE = [(30, 1), (999, 0)]
AWAY_10 = [(30, 1), (40, None), (999, 1)]
ASKED = {"job": "tritonobs-shards"}


@pytest.fixture(name="whole", scope="module")
def _whole():
    return groups_for(15, tier="global")


def shard(world, name, level=1, *, asked=None, models=("a",), **of):
    """What a shard gives while `level` is 1: its servers, one for each model; `asked` is its `up`."""
    own = {"shard": name, **of}
    world.gauge("shard:cluster:tritonobs_shard:info", level, **own)
    for what in ("targets", "answers"):
        world.gauge(f"shard:cluster:triton_{what}:info", level, **own)
    for model in models:
        replica = {"replica": f"triton-{model}", **own}
        world.gauge("shard:replica:triton_scraped:info", level, **replica)
        world.gauge(RATE, level, model=model, version="1", **replica)
        world.info(model, "1", **of)
    if asked is not None:
        world.gauge("up", asked, **ASKED, **own)
    return world


def two(level, asked, *, minutes=120, **of):
    """Shard 0 with a, and shard 1 with b, as told."""
    world = shard(World(minutes=minutes), "0", asked=None if asked is None else 1, **of)
    return shard(world, "1", level, asked=asked, models=("b",), **of)


ALL = (MISSING, UNLOADED, LOST, STOPPED, DOWN, NOT_LOADED)
OTHERS = tuple(alert for alert in ALL if alert != MISSING)
CASES = (
    Case(
        says="a shard that cannot be asked is told for as long as that lasts, and its models hold still",
        world=two(UNTIL_30, GONE),
        rules=ALL,
        checks=(
            silent(MISSING, 30.5),
            fires(MISSING, 32, severity="critical", shard="1"),
            fires(MISSING, 119, severity="critical", shard="1"),
            *(silent(alert, 120) for alert in OTHERS),
        ),
    ),
    Case(
        says="a shard that answers and does not evaluate is missing, too, for an hour if nobody asks shards",
        world=two(UNTIL_30, None),
        rules=ALL,
        checks=(
            fires(MISSING, 37, severity="critical", shard="1"),
            silent(MISSING, 120, since=95),
            *(silent(alert, 80) for alert in OTHERS),
        ),
    ),
    Case(
        says="a shard that was taken out of the configuration is not missed",
        world=two(UNTIL_30, UNTIL_30),
        rules=(MISSING,),
        checks=(silent(MISSING, 120),),
    ),
    Case(
        says="a shard that comes back makes no alert while it knows no rates yet",
        world=shard(
            shard(World(minutes=60), "0", asked=1),
            "1",
            AWAY_10,
            asked=[(30, 1), (40, 0), (999, 1)],
            models=("b",),
        ).gauge(
            RATE, [(30, 1), (41.5, None), (999, 1)], model="b", version="1", replica="triton-b", shard="1"
        ),
        rules=ALL,
        checks=(silent(MISSING, 60, since=41), *(silent(alert, 60) for alert in OTHERS)),
    ),
    Case(
        says="all shards gone at once are shards that are missing, and no cluster is said to be lost",
        world=shard(two(UNTIL_30, GONE), "0", UNTIL_30, asked=GONE),
        rules=ALL,
        checks=(
            reads(f'count(ALERTS{{alertname="{MISSING}",alertstate="firing"}})', 32, ({}, 2)),
            *(silent(alert, 120) for alert in OTHERS),
        ),
    ),
    Case(
        says="an overflow on a shard that goes is not said of the version, too",
        world=shard(World(minutes=60), "0", UNTIL_30, asked=GONE)
        .gauge(RATE, [(20, 1), (30, 9), (999, None)], model="a", version="1", replica="triton-a", shard="0")
        .gauge(
            "shard:model_version:triton_requests_offered:irate1m", UNTIL_30, model="a", version="1", shard="0"
        )
        .gauge(names.QPS_LIMIT, 4, model="a")
        .gauge(names.QPS_LIMIT, 4, model="a", version="1"),
        rules=(ABOVE,),
        checks=(
            fires(ABOVE, 29, severity="critical", model="a"),
            reads(VERSIONS, 60, ({}, 1)),
        ),
    ),
    Case(
        says="a model that goes from a shard that is there is told while another shard is missing",
        world=shard(
            shard(World(minutes=60), "0", asked=1, models=("a", "c")),
            "1",
            UNTIL_30,
            asked=GONE,
            models=("b",),
        ).gauge(RATE, [(40, 1), (999, None)], model="a", version="1", replica="triton-a", shard="0"),
        rules=ALL,
        checks=(
            silent(UNLOADED, 40),
            fires(UNLOADED, 43, severity="critical", model="a", version="1", kind="model"),
        ),
    ),
    Case(
        says="servers that are taken away are no missing shard, and hide no model that goes with them",
        world=two(1, 1, minutes=60)
        .gauge(RATE, UNTIL_30, model="b", version="1", replica="triton-b", shard="1")
        .gauge("shard:replica:triton_scraped:info", UNTIL_30, replica="triton-b", shard="1"),
        rules=ALL,
        checks=(
            fires(UNLOADED, 33, severity="critical", model="b", version="1", kind="model"),
            silent(MISSING, 60),
        ),
    ),
)


@pytest.mark.parametrize("told", CASES, ids=lambda told: told.says)
def test_the_global_tier_misses_a_shard_and_nothing_else(told, case_engine, whole):
    """Every check holds in Prometheus."""
    assert case_engine.wrong(whole, told) == ""
