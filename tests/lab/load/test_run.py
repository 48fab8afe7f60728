"""Load on a replica double: every request is sent, counted and explained."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

import pytest

from tritonobs.errors import BadAnswer, Unreachable
from tritonobs.extensions.lab.load.images import draw_shots, parse_mix, usable
from tritonobs.extensions.lab.load.run import LoadPlan, run_load
from tritonobs.extensions.lab.load.schedule import Segment

if TYPE_CHECKING:
    from conftest import Replica

    from tritonobs.extensions.lab.load.schedule import LoadResult, Progress


SMALL = parse_mix("64x64")


def test_every_planned_request_arrives(replica: Replica) -> None:
    """What the result says was sent is what the server got, to the request."""
    plan = LoadPlan(urls=(replica.url,), segments=(Segment(qps=100, seconds=1),), mix=SMALL)

    result = run_load(plan)

    assert (result.planned, result.sent, result.ok, result.errors) == (100, 100, 100, ())
    assert len(replica.bodies) == 100
    assert not result.stopped
    assert sum(result.sent_per_second) == 100
    # The last one is due after 0.99 s: only if that one was late, the rate was lower.
    assert result.lateness is not None
    assert 100 / max(1, 0.99 + result.lateness.max) - 1e-6 <= result.achieved_qps <= 100


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


def _load(url: str, model: str = "llm", version: str = "", mix: str = "prompt:3x2") -> LoadResult:
    plan = LoadPlan(
        urls=(url,),
        model=model,
        version=version,
        segments=(Segment(qps=20, seconds=0.5),),
        mix=parse_mix(mix),
    )
    return run_load(plan)


def test_prompts_have_the_words_and_ask_for_the_tokens() -> None:
    """Sixteen of a kind, each of which begins otherwise than the rest."""
    (shots,) = draw_shots(parse_mix("prompt:3x2"))

    bodies = [json.loads(shot.body) for shot in shots]

    assert bodies[0] == {"text_input": "w0.0 w0.1 w0.2", "max_tokens": 2}
    assert len({body["text_input"].split()[0] for body in bodies}) == 16


@pytest.mark.parametrize("kind", ["prompt:0x2", "prompt:3x0", "prompt:3", "prompt:x", "prompt:123456x1"])
def test_a_prompt_without_words_or_tokens_is_refused(kind: str) -> None:
    """With what is allowed."""
    with pytest.raises(ValueError, match=f"'{kind}' is not a kind.*or prompt:WORDSxTOKENS"):
        parse_mix(kind)


def test_images_and_prompts_are_not_sent_together() -> None:
    """They go to different models; prompts of two sizes may be mixed."""
    with pytest.raises(ValueError, match="has images and prompts"):
        parse_mix("640x640,prompt:3x2")
    assert [usable(one.kind) for one in parse_mix("prompt:3x2=3,prompt:9x2=1")] == [True, True]


@pytest.mark.parametrize(
    ("version", "path"),
    [("", "/v2/models/llm/generate_stream"), ("2", "/v2/models/llm/versions/2/generate_stream")],
)
def test_every_prompt_arrives(replica: Replica, version: str, path: str) -> None:
    """As JSON, at the model's endpoint, and is good when its stream ends well."""
    result = _load(replica.url, version=version)

    assert (result.sent, result.ok, result.errors) == (10, 10, ())
    assert set(replica.paths) == {path}
    assert {len(json.loads(body)["text_input"].split()) for body in replica.bodies} == {3}


def test_a_stream_that_breaks_off_is_an_error(replica: Replica) -> None:
    """Its status was 200, and its first word was good."""
    replica.break_streams = True

    result = _load(replica.url)

    assert [(error.kind, error.count) for error in result.errors] == [("{…: …}", 10)]
    assert "request 7 is longer than the cache" in result.errors[0].example


def test_a_refused_prompt_is_an_error_with_its_status(replica: Replica) -> None:
    """A model that was unloaded meanwhile."""
    replica.refuse_prompts = True

    result = _load(replica.url)

    assert [error.count for error in result.errors] == [10]
    assert result.errors[0].kind.startswith("400 ")
    assert "is not found" in result.errors[0].example


def test_a_model_that_takes_no_text_is_refused(replica: Replica) -> None:
    """Said before anything is sent, with what the model does take."""
    with pytest.raises(
        BadAnswer, match=r"model 'inspect' takes IMAGE BYTES; load sends a prompt as the input text_input"
    ):
        _load(replica.url, model="inspect")

    assert replica.bodies == []


@pytest.mark.parametrize("mix", ["prompt:3x2", "64x64"])
@pytest.mark.parametrize("odd", [[], "text", None, {"inputs": [{}]}, {"inputs": 7}], ids=repr)
def test_metadata_that_is_none_is_told(replica: Replica, mix: str, odd: object) -> None:
    """Something else than Triton answers at the address: for images as for prompts."""
    replica.odd = odd

    with pytest.raises(BadAnswer, match=r"the metadata of model 'odd' is not as documented"):
        _load(replica.url, model="odd", mix=mix)


def test_a_model_that_is_not_there_is_named(replica: Replica) -> None:
    """As for images."""
    with pytest.raises(BadAnswer, match=r"model 'none'.*not found"):
        _load(replica.url, model="none")


def test_nobody_there_is_unreachable() -> None:
    """As for images."""
    with pytest.raises(Unreachable, match=r"http://127\.0\.0\.1:9"):
        _load("http://127.0.0.1:9")
