"""Requests wait for batches that do not fill."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs.clients.triton import ModelConfig
from tritonobs.extensions.triage.snapshot import ReplicaState

if TYPE_CHECKING:
    from conftest import Fleet


def _config(delay_seconds: float) -> ReplicaState:
    config = ModelConfig(
        name="detector",
        platform="python",
        max_batch_size=16,
        model_instances=1,
        dynamic_batching=True,
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
