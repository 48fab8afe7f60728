"""A model's Python process died."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Fleet


def _silent(fleet: Fleet, beat: float, worker: str = "preprocess_0_0-7a-1a", moves: float = 0.0) -> None:
    labels = {**WORKER, "worker": worker}
    fleet.now.put("heartbeats", beat, **labels)
    fleet.now.put("alive", moves, **labels)


WORKER = {"instance": "a:8002", "model": "preprocess", "version": "1", "worker": "preprocess_0_0-7a-1a"}


def test_a_worker_without_heartbeat_is_dead(fleet: Fleet) -> None:
    """Triton still calls the model ready; only the heartbeat tells."""
    _silent(fleet, 9_800.0)

    (cause,) = fleet.verdict().causes

    assert cause.check == "dead_worker"
    assert cause.since == 9_801.0
    assert cause.sentence == (
        "worker preprocess_0_0-7a-1a of preprocess version 1 on a:8002 died or hangs since 199 s, "
        "and no other took its place"
    )


def test_a_worker_that_was_replaced_is_told_as_such(fleet: Fleet) -> None:
    """The errors of those seconds have their reason."""
    _silent(fleet, 9_800.0)
    _silent(fleet, 9_999.0, "preprocess_0_0-8a-2b", 4.0)
    fleet.now.outcome("preprocess", error=1.0)

    verdict = fleet.verdict()

    assert verdict.causes[0].check == "dead_worker"
    assert "another took its place" in verdict.sentence
    assert "error_surge" in [cause.check for cause in verdict.following]


def test_the_dead_of_yesterday_rest(fleet: Fleet) -> None:
    """Triton keeps the series of a killed worker until it restarts; a replaced one is not news for ever."""
    _silent(fleet, 1_000.0, "preprocess_0_0-6a-0a")

    assert fleet.checks() == []


def test_a_worker_of_a_replica_that_is_not_scraped_is_not_judged(fleet: Fleet) -> None:
    """Its heartbeat is old because nobody looks."""
    _silent(fleet, 9_800.0)
    fleet.now.put("up", 0.0, job="triton", instance="a:8002")

    assert "dead_worker" not in fleet.checks()


def test_a_worker_of_a_target_that_vanished_is_not_judged(fleet: Fleet) -> None:
    """No `up` is down: what was seen last says nothing about now."""
    _silent(fleet, 9_800.0)
    fleet.now.put("alive", None, **WORKER)
    fleet.now.put("up", None, job="triton", instance="a:8002")

    assert "dead_worker" not in fleet.checks()


def test_what_a_failed_initialize_left_behind_never_was_a_worker(fleet: Fleet) -> None:
    """Its series beat for a moment; the worker of before serves on, and was there in the baseline."""
    _silent(fleet, 9_900.0, "preprocess_0_0-9a-3c")

    assert fleet.checks() == []


def test_a_worker_of_a_model_triton_never_loaded_is_none(fleet: Fleet) -> None:
    """The first load failed: there is not a model whose worker could die."""
    for window in (fleet.now, fleet.before):
        window.put("replica_requests", None, model="nms", version="1", instance="a:8002")
    fleet.now.put("alive", 0.0, model="nms", version="1", instance="a:8002", worker="nms_0_0-7a-1a")

    assert "dead_worker" not in fleet.checks()


def test_a_machine_whose_clock_is_wrong_keeps_its_workers(fleet: Fleet) -> None:
    """All heartbeats of a replica are an hour behind, and move: nobody died."""
    for model in ("inspect", "preprocess", "detector", "nms"):
        labels = {"instance": "a:8002", "model": model, "version": "1", "worker": f"{model}_0_0-7a-1a"}
        fleet.now.put("heartbeats", 10_000.0 - 3_600, **labels)

    assert fleet.checks() == []
