"""A stage takes longer for the same work."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Fleet


def test_a_stage_that_takes_longer_is_named_with_its_share(fleet: Fleet) -> None:
    """Decode of preprocess adds 70 ms: it is the cause, and it is all of the change."""
    fleet.now.slow(0.070, "preprocess", "decode")

    (cause,) = fleet.verdict().causes

    assert (cause.check, cause.place) == ("slow_stage", ("preprocess", "1", "preprocess", "decode"))
    assert (
        cause.sentence
        == "inspect / preprocess / decode takes 82 ms, was 12 ms: 100% of what inspect takes longer"
    )


def test_a_stage_whose_slowest_hundredth_grew_is_named(fleet: Fleet) -> None:
    """The mean hides it: one request in fifty waits for a disk."""
    fleet.now.stage("preprocess", "decode", 0.012, p99=0.400)
    fleet.now.stage("inspect", "total", 0.050, p99=0.480)

    assert fleet.checks() == ["slow_stage"]


def test_fuller_batches_are_no_slow_stage(fleet: Fleet) -> None:
    """Every request of a batch is charged the whole batch: three in a batch each take three times as long."""
    fleet.now.slow(0.024, "preprocess", "decode")
    fleet.now.put("executions", 10.0 / 3, model="preprocess", version="1")

    assert "slow_stage" not in fleet.checks()
