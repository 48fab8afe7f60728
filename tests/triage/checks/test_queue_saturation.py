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


def test_a_queue_that_drains_is_waited_for(fleet: Fleet) -> None:
    """20 requests wait, 2 fewer each second: what is answered came before, nobody is to be hunted."""
    fleet.now.wait("detector", 0.200)
    fleet.now.put("waiting", 20.0, model="detector", version="1")
    fleet.now.put("filling", -2.0, model="detector", version="1")

    (cause,) = fleet.verdict().causes

    assert cause.sentence.endswith("; the rush is over, and what waits is being answered")
    assert cause.next_steps[0] == "wait: at this pace the queue has drained in about 10s"


def test_where_requests_wait_twice_the_called_model_comes_first(fleet: Fleet) -> None:
    """The instances of inspect are taken because its requests wait for the detector."""
    fleet.now.wait("detector", 0.060)
    fleet.now.put("queue", 0.080 * 10.0 * 1e6, model="inspect", version="1")
    fleet.now.put("request", 0.190 * 10.0 * 1e6, model="inspect", version="1")
    fleet.now.put("pending", 5.0, model="inspect", version="1")

    causes = [cause for cause in fleet.verdict().causes if cause.check == "queue_saturation"]

    assert [cause.place[0] for cause in causes] == ["detector", "inspect"]
