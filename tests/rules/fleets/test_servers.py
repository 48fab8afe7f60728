"""Who is there, against simulated fleets: silence blinds nobody else, and what is gone is told."""

from support.fleet_sim.curves import between
from support.fleet_sim.fleet import FOREVER, Fleet
from support.fleet_sim.world import live

STOPPED, DROP, DOWN = "TritonTrafficStopped", "TritonTrafficDrop", "TritonServerDown"
UNLOADED, MISSING, REPLACED = "TritonModelUnloaded", "TritonModelMissing", "TritonVersionNotLoaded"
LOST, SOURCE, LOOP, DEAD = (
    "TritonServersLost",
    "TritonLimitSourceLost",
    "TritonRestartLoop",
    "TritonWorkerDead",
)
TWICE, DISAGREE, RELOADED = "TritonServerScrapedTwice", "TritonLimitsDisagree", "TritonModelReloaded"
MODELS = (UNLOADED, MISSING, REPLACED)


def who(told):
    """What alerts are about."""
    return sorted(
        {
            (one.labels.get("model", ""), one.labels.get("version", ""), one.labels.get("replica", ""))
            for one in told
        }
    )


def test_a_server_that_is_down_blinds_only_for_its_own_models(engine):
    """Nms stops and ocr is unloaded while a server that has neither is down; cats is only on that one."""
    fleet = Fleet(seconds=9000, seed=1)
    here, sick = fleet.server("a"), fleet.server("b", silent=[(1800, FOREVER)])
    fleet.serve(here, "nms", qps=between(0, 5400, 2), bounds=None)
    fleet.serve(here, "ocr", qps=between(0, 5400, 2), loaded=[(0, 5400)], bounds=None)
    fleet.serve(here, "dogs", qps=2, bounds=None)
    fleet.serve(sick, "cats", qps=2, bounds=None)
    for model in ("nms", "ocr", "cats", "dogs"):
        fleet.owns(model, "1")

    world = live(engine, fleet, STOPPED, *MODELS, DOWN)

    assert who(world.fired(STOPPED)) == [("nms", "", "")]
    assert 5400 + 600 <= world.fired(STOPPED)[0].since <= 5400 + 735
    assert who(world.fired(UNLOADED, until=5300)) == []
    assert who(world.fired(UNLOADED, model="ocr")) == [("ocr", "1", "")]
    assert world.fired(UNLOADED, model="ocr")[0].since <= 5400 + 135
    assert world.fired(MISSING) == []
    assert who(world.fired(DOWN)) == [("", "", "b")]


def test_lost_scrapes_do_not_keep_traffic_that_stopped_silent(engine):
    """20 servers, 1 % of the scrapes lost; and with traffic nobody is called silent or unloaded."""
    fleet = Fleet(seconds=9000, seed=2)
    for number in range(20):
        server = fleet.server(f"t{number}", lost=0.01)
        fleet.serve(server, "nms", qps=between(0, 5400, 0.2), bounds=None)
        fleet.serve(server, "ocr", qps=0.2, bounds=None)
    fleet.owns("nms", "1").owns("ocr", "1")

    world = live(engine, fleet, STOPPED, DROP, *MODELS, DOWN)

    assert who(world.fired(STOPPED)) == [("nms", "", "")]
    assert world.fired(STOPPED)[0].since <= 5400 + 780
    assert [world.fired(name) for name in (DROP, *MODELS) if world.fired(name)] == []


def test_a_model_that_one_of_two_servers_lost_is_told_with_its_server(engine):
    """The other has it still; the first answers, and has other models."""
    fleet = Fleet(seconds=7200, seed=3)
    for name, gone in (("a", 3000), ("b", FOREVER)):
        server = fleet.server(name, lost=0.01)
        fleet.serve(server, "nms", qps=3, loaded=[(0, gone)], bounds=None)
        fleet.serve(server, "ocr", qps=1, bounds=None)
    fleet.owns("nms", "1").owns("ocr", "1")

    world = live(engine, fleet, *MODELS)

    assert who(world.fired(MISSING)) == [("nms", "1", "a")]
    assert 3000 < world.fired(MISSING)[0].since <= 3000 + 200
    assert world.fired(UNLOADED) == []


def test_restarts_and_rollouts_lose_nothing(engine):
    """A server that restarts, and version 2 in place of 1 on one server after the other; 1 stays listed."""
    fleet = Fleet(seconds=9000, seed=4)
    for place, name in enumerate("abc"):
        server = fleet.server(name, restarts=[(1200 + 600 * place, 1290 + 600 * place)])
        swap = 4200 + 300 * place
        fleet.serve(server, "nms", "1", qps=between(0, swap, 3), loaded=[(0, swap)], bounds=None)
        fleet.serve(server, "nms", "2", qps=between(swap, 9000, 3), loaded=[(swap, FOREVER)], bounds=None)
        fleet.serve(server, "ocr", "1", qps=between(0, swap, 0.02), loaded=[(0, swap)], bounds=None)
        fleet.serve(
            server, "ocr", "2", qps=between(swap, 9000, 0.02), loaded=[(swap - 60, FOREVER)], bounds=None
        )
    fleet.owns("nms", "1", "2").owns("ocr", "1")

    world = live(engine, fleet, *MODELS, STOPPED, DROP)

    assert world.fired(MISSING) == world.fired(UNLOADED) == world.fired(STOPPED) == world.fired(DROP) == []
    assert who(world.fired(REPLACED)) == [("nms", "1", ""), ("nms", "2", ""), ("ocr", "1", "")]


def test_a_version_that_is_missed_is_no_rollout(engine):
    """Nine of ten requests ask for version 1; it goes while version 2 stays."""
    fleet = Fleet(seconds=7200, seed=5)
    server = fleet.server("a")
    fleet.serve(server, "nms", "1", qps=9, loaded=[(0, 3000)], bounds=None)
    fleet.serve(server, "nms", "2", qps=1, bounds=None)
    fleet.owns("nms", "1", "2")

    world = live(engine, fleet, UNLOADED)

    assert who(world.fired(UNLOADED)) == [("nms", "1", "")]
    assert world.fired(UNLOADED)[0].since <= 3000 + 135


def test_a_cluster_without_targets_is_told_within_a_minute(engine):
    """Discovery of one cluster is empty; the other is well. It is told while the fleet file has models."""
    fleet = Fleet(seconds=10_800, seed=6)
    for cluster, seen in (("east", (0, 3600)), ("west", (0, FOREVER))):
        fleet.serve(fleet.server("a", cluster=cluster, discovered=seen), qps=2, bounds=None)
        fleet.owns("nms", "1", cluster=cluster)

    world = live(engine, fleet, LOST, SOURCE, UNLOADED)

    assert [(one.labels["cluster"], one.until) for one in world.fired(LOST)] == [("east", None)]
    assert 3600 < world.fired(LOST)[0].since <= 3660
    assert world.fired(SOURCE) == world.fired(UNLOADED) == []


def test_pods_that_come_and_go_are_no_alert(engine):
    """Each server lives a while and is replaced by another; discovery forgets the old one."""
    fleet = Fleet(seconds=10_800, seed=7)
    for place in range(9):
        life = (1200 * place, 1200 * place + 2400)
        fleet.serve(fleet.server(f"pod-{place}", life=life), qps=2, bounds=None)
    fleet.owns("nms", "1")

    world = live(engine, fleet, LOST, *MODELS, STOPPED, DOWN)

    assert [world.fired(name) for name in (LOST, *MODELS, STOPPED, DOWN) if world.fired(name)] == []


def test_limits_that_one_cluster_loses_are_its_own(engine):
    """The serve of one cluster is silent; the other cluster's rows do not stand in for it."""
    fleet = Fleet(seconds=3600, seed=8)
    for cluster in ("east", "west"):
        fleet.serve(fleet.server("a", cluster=cluster), qps=2, bounds=None)
        fleet.owns("nms", "1", cluster=cluster).limits("nms", 8, cluster=cluster)
    fleet.serve_silent((1800, FOREVER), cluster="west")

    world = live(engine, fleet, SOURCE)

    assert [one.labels["cluster"] for one in world.fired(SOURCE)] == ["west"]


def test_clusters_have_limits_traffic_and_models_of_their_own(engine):
    """A limit of 8 in the east is no limit in the west, and a model there is none here."""
    fleet = Fleet(seconds=3600, seed=9)
    fleet.serve(fleet.server("a", cluster="east"), qps=between(1800, 3600, 20, otherwise=4), bounds=None)
    fleet.serve(fleet.server("a", cluster="west"), qps=60, bounds=None)
    fleet.owns("nms", "1", cluster="east").limits("nms", 8, cluster="east")
    fleet.owns("nms", "1", cluster="west").limits("nms", 100, cluster="west").owns("ocr", "1", cluster="west")
    fleet.serve(fleet.server("b", cluster="east"), "ocr", qps=1, bounds=None)

    world = live(engine, fleet, "TritonQpsAboveLimit", UNLOADED)

    assert [one.labels["cluster"] for one in world.fired("TritonQpsAboveLimit")] == ["east"]
    assert {(one.labels["cluster"], one.labels["model"]) for one in world.fired(UNLOADED)} == {
        ("west", "ocr")
    }


def test_lost_scrapes_are_no_restarts(engine):
    """One scrape in ten is lost on one server, another one really dies four times."""
    fleet = Fleet(seconds=3600, seed=10)
    fleet.serve(fleet.server("flaky", lost=0.1), qps=5, bounds=None)
    dying = fleet.server("dying", restarts=[(1800 + 150 * k, 1860 + 150 * k) for k in range(4)])
    fleet.serve(dying, qps=5, bounds=None)

    assert who(live(engine, fleet, LOOP).fired(LOOP)) == [("", "", "dying")]


def test_a_worker_that_hangs_is_dead_and_lost_scrapes_are_not(engine):
    """One of two servers' workers stands still from 1800 on; the other is scraped badly."""
    fleet = Fleet(seconds=3600, seed=14)
    fleet.serve(fleet.server("a", lost=0.05), qps=2)
    fleet.serve(fleet.server("b"), qps=2, stuck=[(1800, 3600)])

    world = live(engine, fleet, DEAD)

    assert who(world.fired(DEAD)) == [("nms", "1", "b")]
    assert world.fired(DEAD)[0].since <= 1800 + 105
