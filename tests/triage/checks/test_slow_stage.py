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
        == "inspect / preprocess / decode takes 82 ms, was 12 ms: 100% of the added time of inspect"
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


def test_a_small_stage_that_takes_four_times_as_long_is_found(fleet: Fleet) -> None:
    """It is 2 of 51 ms: requests are hardly slower, and the stage is no better for it."""
    fleet.now.slow(0.006, "nms", "suppress")

    (cause,) = fleet.verdict().causes

    assert (cause.check, cause.place) == ("slow_stage", ("nms", "1", "nms", "suppress"))
    assert cause.sentence == (
        "inspect / nms / suppress takes 8 ms, was 2 ms: 4.0 times as long, 14% of a request to inspect"
    )


def test_one_call_that_was_held_up_is_no_slow_stage(fleet: Fleet) -> None:
    """As seen beside compilers: it multiplies the mean of a small stage, and only the slowest call grew."""
    fleet.now.stage("nms", "suppress", 0.008)
    for name, seconds in (("p50", 0.0018), ("p95", 0.003), ("p99", 0.200)):
        fleet.now.put(name, seconds, model="nms", version="1", stage="suppress")

    assert fleet.checks() == []


def test_a_stage_of_hardly_any_requests_is_not_judged(fleet: Fleet) -> None:
    """Six of them are chance."""
    for window in (fleet.now, fleet.before):
        for model in ("inspect", "preprocess", "detector", "nms"):
            window.model(model, rate=0.01)
    fleet.now.stage("nms", "suppress", 0.008, rate=0.01)

    assert fleet.checks() == []


def test_time_around_a_called_model_that_triton_counts_is_the_called_models(fleet: Fleet) -> None:
    """Triton's own count of the detector went from 23 to 48 ms, its stages did not."""
    labels = {"model": "detector", "version": "1"}
    fleet.now.put("request", 0.048 * 10.0 * 1e6, **labels)
    for stage, seconds in (("detector", 0.050), ("total", 0.075)):
        fleet.now.stage("inspect", stage, seconds)
    fleet.now.put("request", 0.076 * 10.0 * 1e6, model="inspect", version="1")

    (cause,) = fleet.verdict().causes

    assert cause.check == "slow_stage"
    assert cause.place == ("detector", "1", "detector", "(other)")
    assert cause.trend == ("request", {"model": "detector", "version": "1"})
