"""One replica is slower than the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Fleet


def _mean(fleet: Fleet, replica: str, mean: float) -> None:
    fleet.now.put("replica_us", mean * 5 * 1e6, model="inspect", version="1", instance=replica)


def test_a_replica_that_stands_out_is_the_cause(fleet: Fleet) -> None:
    """Same model, same traffic, one machine takes four times as long."""
    _mean(fleet, "b:8002", 0.200)

    (cause,) = fleet.verdict().causes

    assert (cause.check, cause.place) == ("slow_replica", ("inspect", "1", "b:8002"))
    assert cause.sentence == "b:8002 answers inspect in 200 ms, the other replicas in 51 ms"


def test_replicas_that_are_slow_together_are_no_slow_replica(fleet: Fleet) -> None:
    """Then it is the model or its traffic."""
    _mean(fleet, "a:8002", 0.200)
    _mean(fleet, "b:8002", 0.210)

    assert "slow_replica" not in fleet.checks()


def test_a_replica_hardly_anybody_asks_is_not_judged(fleet: Fleet) -> None:
    """One slow request in a minute is not a slow machine."""
    fleet.now.put("replica_requests", 0.01, model="inspect", version="1", instance="b:8002")
    fleet.now.put("replica_us", 0.01 * 0.9e6, model="inspect", version="1", instance="b:8002")

    assert fleet.checks() == []


def test_where_all_replicas_became_slower_one_must_stand_out_by_far(fleet: Fleet) -> None:
    """An instance less of a model on both: queues are nowhere equally long."""
    _mean(fleet, "a:8002", 0.130)
    _mean(fleet, "b:8002", 0.245)

    assert "slow_replica" not in fleet.checks()
