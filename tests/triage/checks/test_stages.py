"""A stage takes longer; requests wait for a batch that does not fill, or for a free instance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs.clients.triton import ModelConfig
from tritonobs.extensions.triage.snapshot import ReplicaState

if TYPE_CHECKING:
    from conftest import Fleet


def test_a_stage_that_takes_longer_is_named_with_its_share(fleet: Fleet) -> None:
    """Decode of preprocess adds 70 ms: it is the cause, and it is all of the change."""
    fleet.now.slow(0.070, "preprocess", "decode")

    (cause,) = fleet.verdict().causes

    assert (cause.check, cause.place) == ("slow_stage", ("preprocess", "1", "preprocess", "decode"))
    assert (
        cause.sentence
        == "inspect / preprocess / decode takes 82 ms (was 12 ms): 100% of the added time of inspect"
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
        "inspect / nms / suppress takes 8 ms (was 2 ms): 4.0 times as long, 14% of a request to inspect"
    )


def test_a_small_stage_is_not_named_beside_what_made_requests_slow(fleet: Fleet) -> None:
    """It takes four times as long, and adds 6 of 86 ms."""
    fleet.now.slow(0.080, "detector", "infer")
    fleet.now.slow(0.006, "nms", "suppress")
    for stage, seconds in (("detector", 0.105), ("total", 0.136)):
        fleet.now.stage("inspect", stage, seconds)

    (cause,) = fleet.verdict().causes

    assert (cause.check, cause.place) == ("slow_stage", ("detector", "1", "detector", "infer"))


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


def _config(delay_seconds: float) -> ReplicaState:
    config = ModelConfig(
        name="detector",
        platform="python",
        max_batch_size=16,
        max_queue_delay_seconds=delay_seconds,
        decoupled=False,
        steps=(),
        parameters={},
    )
    return ReplicaState(address="http://a:8000", ready=True, entries=(), configs=(config,))


def test_a_wait_as_long_as_the_batchers_delay_is_its_delay(fleet: Fleet) -> None:
    """Batches of one, each after the full 40 ms the configuration allows."""
    fleet.now.wait("detector", 0.041)
    fleet.replicas = [_config(0.040)]

    (cause,) = fleet.verdict().causes

    assert cause.check == "batch_delay"
    assert "its max_queue_delay is 40 ms" in cause.sentence


def test_a_wait_longer_than_the_delay_is_a_queue(fleet: Fleet) -> None:
    """Requests that wait four times the delay wait for an instance, not for company."""
    fleet.now.wait("detector", 0.160)
    fleet.replicas = [_config(0.040)]

    assert fleet.checks() == ["queue_saturation"]


def test_full_batches_are_worth_their_delay(fleet: Fleet) -> None:
    """The batcher does what it was told to, and it pays."""
    fleet.now.wait("detector", 0.041)
    fleet.now.put("executions", 1.0, model="detector", version="1")
    fleet.replicas = [_config(0.040)]

    assert "batch_delay" not in fleet.checks()


def test_a_queue_that_grew_is_the_cause(fleet: Fleet) -> None:
    """The stages are as fast as ever; detector's requests wait 90 ms for their turn."""
    fleet.now.wait("detector", 0.090)

    (cause,) = fleet.verdict().causes

    assert (cause.check, cause.place[0]) == ("queue_saturation", "detector")
    assert "requests wait 90 ms for a free instance of detector (was 1 ms)" in cause.sentence


def test_a_short_wait_is_no_cause(fleet: Fleet) -> None:
    """Three milliseconds of waiting are what a queue is for."""
    fleet.now.wait("detector", 0.003)

    assert fleet.checks() == []


def test_a_wait_that_was_always_there_is_no_news(fleet: Fleet) -> None:
    """A batcher that collects for 90 ms by choice waits 90 ms in both windows."""
    fleet.now.wait("detector", 0.090)
    fleet.before.wait("detector", 0.090)

    assert fleet.checks() == []


def test_a_queue_that_drains_is_waited_for(fleet: Fleet) -> None:
    """20 requests wait, 2 fewer each second: what is answered came before, nobody is to be hunted."""
    fleet.now.wait("detector", 0.200)
    fleet.now.put("waiting", 20.0, model="detector", version="1")
    fleet.now.put("filling", -2.0, model="detector", version="1")

    (cause,) = fleet.verdict().causes

    assert cause.sentence.endswith("; the spike has ended and the queue is draining")
    assert cause.next_steps[0] == "wait: at this rate the queue drains in about 10s"


def test_where_requests_wait_twice_the_called_model_comes_first(fleet: Fleet) -> None:
    """The instances of inspect are taken because its requests wait for the detector."""
    fleet.now.wait("detector", 0.060)
    fleet.now.put("queue", 0.080 * 10.0 * 1e6, model="inspect", version="1")
    fleet.now.put("request", 0.190 * 10.0 * 1e6, model="inspect", version="1")
    fleet.now.put("pending", 5.0, model="inspect", version="1")

    causes = [cause for cause in fleet.verdict().causes if cause.check == "queue_saturation"]

    assert [cause.place[0] for cause in causes] == ["detector", "inspect"]
