"""Several clusters in one Prometheus, and several sets of buckets in one model (D7, D8)."""

import pytest

from support.fleet_sim.curves import between, steps
from support.fleet_sim.fleet import FOREVER, Fleet
from support.fleet_sim.world import live

HOUR = 3600
RATIO = "slo:sli_error:ratio_rate1h"
BURNS = tuple(f"TritonErrorBudgetBurn{tier}" for tier in ("Fast", "Medium"))
OLD, NEW = (0.02, 0.05, 0.1, 0.25, 0.5), (0.02, 0.05, 0.15, 0.3, 0.5)


def two_clusters(*, seconds=3600, seed=0, **how):
    """The same model `nms` in east and west, 10 requests a second in each; `how` is of the east's traffic."""
    fleet = Fleet(seconds=seconds, seed=seed)
    for cluster in ("east", "west"):
        server = fleet.server(f"{cluster}-1", cluster=cluster)
        fleet.serve(server, **({"qps": 10, **how} if cluster == "east" else {"qps": 10}))
        fleet.owns("nms", "1", cluster=cluster)
    return fleet


def clusters_of(lived, alert):
    """Which clusters an alert named."""
    return {one.labels.get("cluster") for one in lived.fired(alert)}


@pytest.mark.parametrize(("limit", "other"), [(8, 100), (8, 9), (4, 1000)])
def test_a_limit_counts_in_its_own_cluster(engine, limit, other):
    """The east is above its limit; the west, with another one, is what it is (D8)."""
    fleet = two_clusters().limits("nms", limit, cluster="east").limits("nms", other, cluster="west")

    lived = live(engine, fleet, "TritonQpsAboveLimit")

    above = {"east"} | ({"west"} if other < 10 else set())
    assert clusters_of(lived, "TritonQpsAboveLimit") == above


def test_errors_in_one_cluster_burn_its_budget_only(engine):
    """The ratio of each cluster is that of its own requests (D8)."""
    fleet = two_clusters(seconds=4800, raised=0.1, steady=True)
    for cluster in ("east", "west"):
        fleet.promises("nms", cluster=cluster).promises("nms", cluster=cluster, version="1")

    lived = live(engine, fleet, RATIO, *BURNS)

    for cluster, ratio in (("east", 0.1), ("west", 0)):
        assert lived.value(f'{RATIO}{{cluster="{cluster}",version=""}}', 4700) == pytest.approx(
            ratio, rel=0.02
        )
    assert clusters_of(lived, BURNS[0]) == {"east"}


def test_limits_that_are_not_delivered_are_told_of_their_cluster(engine):
    """One cluster's `serve` is gone; the other's rows are no reason to be silent (D8)."""
    fleet = two_clusters().limits("nms", 100, cluster="east").limits("nms", 100, cluster="west")
    fleet.serve_silent((1800, FOREVER), cluster="west")

    lived = live(engine, fleet, "TritonLimitSourceLost")

    assert clusters_of(lived, "TritonLimitSourceLost") == {"west"}


def test_limits_of_every_cluster_that_are_delivered_are_no_alarm(engine):
    """Both sources answer (D8)."""
    fleet = two_clusters().limits("nms", 100, cluster="east").limits("nms", 100, cluster="west")

    lived = live(engine, fleet)

    assert lived.all_fired() == {}
    assert lived.failures == {}


def test_every_alert_and_every_record_about_models_names_its_cluster(engine):
    """Much is wrong in the east; whatever is told about it says where (D8)."""
    fleet = Fleet(seconds=5400, seed=4)
    for cluster in ("east", "west"):
        wrong = cluster == "east"
        first = fleet.server(f"{cluster}-1", cluster=cluster)
        second = fleet.server(f"{cluster}-2", cluster=cluster, restarts=[(2400, 5400)] if wrong else [])
        for server in (first, second):
            fleet.serve(
                server, qps=steps((0, 10), (1800, 40)) if wrong else 10, raised=0.2 * wrong, slow=0.1 * wrong
            )
            fleet.serve(server, "ocr", qps=5, loaded=[(0, 1500 if wrong else FOREVER)])
        fleet.owns("nms", "1", cluster=cluster).owns("ocr", "1", cluster=cluster).limits(
            "nms", 30, cluster=cluster
        )
        fleet.promises("nms", cluster=cluster).promises_time("nms", "0.1", cluster=cluster)

    lived = live(engine, fleet)

    told = [one for fired in lived.all_fired().values() for one in fired]
    assert len({one.labels["alertname"] for one in told}) >= 4
    assert {one.labels.get("cluster") for one in told} == {"east"}


def test_a_single_cluster_is_named_too(engine):
    """Whoever adds a second one later need not look at every rule again (D8)."""
    fleet = Fleet(seconds=3600)
    fleet.serve(fleet.server(), qps=10, bounds=None, raised=0.2)
    fleet.owns("nms", "1").limits("nms", 5).promises("nms")

    lived = live(engine, fleet, "TritonQpsAboveLimit", *BURNS)

    assert clusters_of(lived, "TritonQpsAboveLimit") == {"default"}
    assert clusters_of(lived, BURNS[0]) == {"default"}


@pytest.mark.parametrize(("le", "versions"), [("0.1", 2), ("0.1", 1), ("0.25", 2)])
def test_a_change_of_buckets_makes_no_healthy_model_slow(engine, le, versions):
    """Old and new workers have different bounds; only those with the threshold's can be judged (D7)."""
    fleet = Fleet(seconds=5400)
    for number, bounds in enumerate((OLD, NEW)):
        server = fleet.server(f"triton-{number}")
        version = str(number + 1 if versions == 2 else 1)
        fleet.serve(server, version=version, qps=10, bounds=bounds, slow=0.001)
    fleet.owns("nms", *"12"[:versions]).promises_time("nms", le)

    lived = live(engine, fleet, RATIO, *BURNS)

    assert lived.fired(BURNS[0]) + lived.fired(BURNS[1]) == []
    assert lived.value(f'{RATIO}{{slo="latency",version=""}}', 5000) == pytest.approx(0.001, abs=0.002)


@pytest.mark.parametrize("turn", [2400, 3000])
def test_a_model_that_is_slow_burns_while_its_buckets_change(engine, turn):
    """A third of what can be judged is too late; the change hides nothing of that (D7)."""
    fleet = Fleet(seconds=5400)
    for number in range(2):
        server = fleet.server(f"triton-{number}")
        late = between(turn, FOREVER, 0.33)
        fleet.serve(server, qps=10, slow=late, bounds=NEW if number else OLD)
    fleet.owns("nms", "1").promises_time("nms", "0.1")

    lived = live(engine, fleet, BURNS[0])

    assert len(lived.fired(BURNS[0])) == 1


def test_what_no_bucket_can_judge_is_said_to_be_unmeasured(engine):
    """No worker has the bound of the threshold: there is no ratio, and an alert that says so (D7)."""
    fleet = Fleet(seconds=5400)
    fleet.serve(fleet.server(), qps=10, bounds=NEW)
    fleet.owns("nms", "1").promises_time("nms", "0.1")

    lived = live(engine, fleet, RATIO, "TritonSliMissing", *BURNS)

    assert {one.labels["slo"] for one in lived.fired("TritonSliMissing")} == {"latency"}
    assert lived.value(f'{RATIO}{{slo="latency"}}', 5000) is None
    assert lived.fired(BURNS[0]) + lived.fired(BURNS[1]) == []


@pytest.mark.parametrize("versions", [1, 2])
def test_half_a_model_that_cannot_be_judged_is_said_to_be_unmeasured(engine, versions):
    """The new workers lack the threshold's bound; their half is not measured, and somebody says so (D7)."""
    fleet = Fleet(seconds=5400)
    for number, bounds in enumerate((OLD, NEW)):
        version = str(number + 1 if versions == 2 else 1)
        fleet.serve(fleet.server(f"triton-{number}"), version=version, qps=10, bounds=bounds)
    fleet.owns("nms", *"12"[:versions]).promises_time("nms", "0.1")

    lived = live(engine, fleet, "TritonSliMissing")

    assert lived.fired("TritonSliMissing", model="nms") != []


def test_a_model_whose_buckets_fit_is_measured(engine):
    """All workers have the bound of the threshold (D7)."""
    fleet = Fleet(seconds=3600)
    for number in range(2):
        fleet.serve(fleet.server(f"triton-{number}"), qps=10, bounds=OLD)
    fleet.owns("nms", "1").promises_time("nms", "0.1")

    lived = live(engine, fleet, "TritonSliMissing")

    assert lived.fired("TritonSliMissing") == []
