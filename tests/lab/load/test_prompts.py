"""Prompts to a language model: the same load, over Triton's generate endpoint."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tritonobs.errors import BadAnswer, Unreachable
from tritonobs.extensions.lab.load.images import draw_shots, parse_mix, usable
from tritonobs.extensions.lab.load.run import LoadPlan, run_load
from tritonobs.extensions.lab.load.schedule import Segment

if TYPE_CHECKING:
    from conftest import Replica

    from tritonobs.extensions.lab.load.result import LoadResult


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
