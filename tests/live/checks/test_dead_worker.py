"""A model's Python process died."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Fleet


WORKER = {"instance": "a:8002", "model": "preprocess", "version": "1", "worker": "preprocess_0_0-7a-1a"}


def test_a_worker_without_heartbeat_is_dead(fleet: Fleet) -> None:
    """Triton still calls the model ready; only the heartbeat tells."""
    fleet.now.put("heartbeats", 9_800.0, **WORKER)

    (cause,) = fleet.verdict().causes

    assert cause.check == "dead_worker"
    assert cause.since == 9_800.0
    assert "died 200 s ago and nobody took its place" in cause.sentence


def test_a_worker_that_was_replaced_is_told_as_such(fleet: Fleet) -> None:
    """The errors of those seconds have their reason."""
    fleet.now.put("heartbeats", 9_800.0, **WORKER)
    fleet.now.put("heartbeats", 9_999.0, **{**WORKER, "worker": "preprocess_0_0-8a-2b"})
    fleet.now.put("outcomes", 1.0, model="preprocess", version="1", outcome="error")

    verdict = fleet.verdict()

    assert verdict.causes[0].check == "dead_worker"
    assert "another took its place" in verdict.sentence
    assert "error_surge" in [cause.check for cause in verdict.following]


def test_the_dead_of_yesterday_rest(fleet: Fleet) -> None:
    """Triton keeps the series of a killed worker until it restarts; a replaced one is no news for ever."""
    fleet.now.put("heartbeats", 1_000.0, **{**WORKER, "worker": "preprocess_0_0-6a-0a"})

    assert fleet.checks() == []


def test_a_worker_of_a_replica_that_is_not_scraped_is_not_judged(fleet: Fleet) -> None:
    """Its heartbeat is old because nobody looks."""
    fleet.now.put("heartbeats", 9_800.0, **WORKER)
    fleet.now.put("up", 0.0, job="triton", instance="a:8002")

    assert "dead_worker" not in fleet.checks()
