"""Requests wait for a free model instance."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Fleet


def test_a_queue_that_grew_is_the_cause(fleet: Fleet) -> None:
    """The stages are as fast as ever; detector's requests wait 90 ms for their turn."""
    fleet.now.wait("detector", 0.090)

    (cause,) = fleet.verdict().causes

    assert (cause.check, cause.place[0]) == ("queue_saturation", "detector")
    assert "requests wait 90 ms for a free instance of detector, was 1 ms" in cause.sentence


def test_a_short_wait_is_no_cause(fleet: Fleet) -> None:
    """Three milliseconds of waiting are what a queue is for."""
    fleet.now.wait("detector", 0.003)

    assert fleet.checks() == []


def test_a_wait_that_was_always_there_is_no_news(fleet: Fleet) -> None:
    """A batcher that collects for 90 ms by choice waits 90 ms in both windows."""
    fleet.now.wait("detector", 0.090)
    fleet.before.wait("detector", 0.090)

    assert fleet.checks() == []
