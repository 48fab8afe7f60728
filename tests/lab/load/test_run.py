"""Load on a replica double: every request is sent, counted and explained."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from tritonobs.errors import BadAnswer, Unreachable
from tritonobs.extensions.lab.load.images import parse_mix
from tritonobs.extensions.lab.load.run import LoadPlan, run_load
from tritonobs.extensions.lab.load.schedule import Segment

if TYPE_CHECKING:
    from conftest import Replica

    from tritonobs.extensions.lab.load.result import Progress

SMALL = parse_mix("64x64")


def test_every_planned_request_arrives(replica: Replica) -> None:
    """What the result says was sent is what the server got, to the request."""
    plan = LoadPlan(urls=(replica.url,), segments=(Segment(qps=100, seconds=1),), mix=SMALL)

    result = run_load(plan)

    assert (result.planned, result.sent, result.ok, result.errors) == (100, 100, 100, ())
    assert len(replica.bodies) == 100
    assert not result.stopped
    assert sum(result.sent_per_second) == 100
    assert result.achieved_qps == pytest.approx(100, rel=0.1)


def test_a_slow_server_delays_no_request(replica: Replica) -> None:
    """Open loop: all requests are out before the first answer comes."""
    replica.delay_seconds = 1.0
    plan = LoadPlan(urls=(replica.url,), segments=(Segment(qps=40, seconds=0.5),), mix=SMALL)

    result = run_load(plan)

    assert result.peak_in_flight == 20
    assert result.ok == 20
    assert result.latency_from_send is not None
    assert result.latency_from_send.p50 >= 1.0


def test_waiting_for_a_free_slot_shows_as_lateness(replica: Replica) -> None:
    """When this side cannot keep up, latency from the schedule says so; that from the send hides it."""
    replica.delay_seconds = 0.2
    plan = LoadPlan(urls=(replica.url,), segments=(Segment(qps=50, seconds=0.2),), mix=SMALL, max_in_flight=1)

    result = run_load(plan)

    assert result.ok == 10
    assert result.lateness is not None
    assert result.latency_from_schedule is not None
    assert result.latency_from_send is not None
    assert result.lateness.max > 1.0
    assert result.latency_from_schedule.max > result.latency_from_send.max


def test_errors_are_grouped_by_what_they_say(replica: Replica) -> None:
    """Messages that differ in numbers and names are one kind; images of that kind carry the errors."""
    replica.refuse_empty = True
    mix = parse_mix("64x64=1,empty=1")
    plan = LoadPlan(urls=(replica.url,), segments=(Segment(qps=60, seconds=0.5),), mix=mix)

    result = run_load(plan)

    (error,) = result.errors
    images, empty = result.images
    assert error.kind == "500 request N: … image"
    assert error.example.startswith("request ")
    assert error.count == empty.sent == empty.errors == result.failed
    assert (images.errors, images.ok, empty.ok) == (0, images.sent, 0)
    assert result.sent == result.ok + error.count == 30


def test_a_broken_connection_is_an_error_and_no_second_request(replica: Replica) -> None:
    """A POST that may have been worked on is never sent again behind our back."""
    replica.break_connections = True
    plan = LoadPlan(urls=(replica.url,), segments=(Segment(qps=20, seconds=0.25),), mix=SMALL)

    result = run_load(plan)

    assert [(error.kind, error.count) for error in result.errors] == [("connection broken", 5)]
    assert len(replica.bodies) == 5


def test_no_answer_in_time_is_an_error(replica: Replica) -> None:
    """A hanging server costs the timeout, and the request is counted."""
    replica.delay_seconds = 3.0
    plan = LoadPlan(
        urls=(replica.url,), segments=(Segment(qps=10, seconds=0.3),), mix=SMALL, timeout_seconds=0.3
    )

    result = run_load(plan)

    assert [(error.kind, error.count) for error in result.errors] == [("timed out", 3)]
    assert result.latency_from_send is None


def test_stop_ends_the_sending_and_keeps_the_answers(replica: Replica) -> None:
    """Set from another thread, in the middle: the result is about what was sent."""
    stop = threading.Event()
    replica.delay_seconds = 0.3

    def watch(progress: Progress) -> None:
        if progress.sent >= 5:
            stop.set()

    plan = LoadPlan(urls=(replica.url,), segments=(Segment(qps=20, seconds=60),), mix=SMALL)
    result = run_load(plan, watch, stop=stop)

    assert result.stopped
    assert 5 <= result.sent < 100
    assert result.ok == result.sent == len(replica.bodies)
    assert result.seconds < 30


def test_an_interrupt_returns_what_was_done(replica: Replica) -> None:
    """Ctrl-C is an answer to "how did it go so far", not a traceback."""

    def interrupt(progress: Progress) -> None:
        if progress.sent >= 3:
            raise KeyboardInterrupt

    plan = LoadPlan(urls=(replica.url,), segments=(Segment(qps=20, seconds=60),), mix=SMALL)
    result = run_load(plan, interrupt)

    assert result.stopped
    assert result.ok == result.sent == len(replica.bodies) >= 3


def test_requests_go_to_the_replicas_in_turn(replica: Replica) -> None:
    """With two addresses each gets half."""
    plan = LoadPlan(urls=(replica.url, replica.url), segments=(Segment(qps=20, seconds=0.5),), mix=SMALL)

    assert run_load(plan).ok == 10


def test_nobody_there_is_unreachable_before_anything_is_sent() -> None:
    """A wrong port is one error, not a table of a thousand."""
    plan = LoadPlan(urls=("http://127.0.0.1:9",), segments=(Segment(qps=1, seconds=1),), mix=SMALL)

    with pytest.raises(Unreachable, match=r"http://127\.0\.0\.1:9"):
        run_load(plan)


def test_an_unknown_model_is_named(replica: Replica) -> None:
    """The server's own sentence, with the model's name."""
    plan = LoadPlan(urls=(replica.url,), model="no such", segments=(Segment(qps=1, seconds=1),), mix=SMALL)

    with pytest.raises(BadAnswer, match=r"model 'no such'.*not found"):
        run_load(plan)


@pytest.mark.parametrize(
    "inputs",
    [
        pytest.param([], id="no input"),
        pytest.param([{"name": "X", "datatype": "FP32", "shape": [1]}], id="a tensor of numbers"),
        pytest.param([{"name": "X", "datatype": "BYTES", "shape": [1]}] * 2, id="two inputs"),
    ],
)
def test_a_model_that_takes_no_image_is_refused(replica: Replica, inputs: list[dict[str, object]]) -> None:
    """Said before anything is sent, with what the model does take."""
    replica.inputs = inputs
    plan = LoadPlan(urls=(replica.url,), segments=(Segment(qps=1, seconds=1),), mix=SMALL)

    with pytest.raises(BadAnswer, match="load sends one image"):
        run_load(plan)

    assert replica.bodies == []
