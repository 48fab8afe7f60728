"""A language model: a full cache, longer prompts, larger batches."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tritonobs import assets
from tritonobs.timings.questions import FULL, FULL_ON_AVERAGE

if TYPE_CHECKING:
    from conftest import Fleet, Window

LLM = {"model": "llm", "version": "1"}


def _engine(
    window: Window,
    *,
    cache: float = 0.4,
    waiting: float = 0.0,
    running: float = 4.0,
    prompt: float = 500.0,
    first: float = 0.2,
    later: float = 0.03,
) -> None:
    """What an engine tells over a window."""
    window.put("kv_cache", cache, **LLM)
    window.put("kv_cache_blocked", cache if cache > 0.95 and waiting >= 1 else None, **LLM)
    window.put("llm_waiting", waiting, **LLM)
    window.put("llm_running", running, **LLM)
    window.put("request_tokens", prompt, **LLM, kind="tokens_in")
    window.put("request_tokens", 100.0, **LLM, kind="tokens_out")
    window.put("token_seconds", first, **LLM, stage="first_token")
    window.put("token_seconds", later, **LLM, stage="output_token")


def test_a_full_cache_with_requests_waiting_is_the_cause(fleet: Fleet) -> None:
    """Nine requests wait for room."""
    _engine(fleet.before)
    _engine(fleet.now, cache=0.98, waiting=9.0)

    verdict = fleet.verdict()

    assert [cause.check for cause in verdict.causes] == ["kv_cache_full"]
    assert verdict.sentence == "the KV cache of llm is 98% full, and 9 requests wait for room"


def test_longer_prompts_that_make_first_tokens_late_are_the_cause(fleet: Fleet) -> None:
    """Also of the cache that they fill."""
    _engine(fleet.before)
    _engine(fleet.now, cache=0.98, waiting=9.0, prompt=1500.0, first=0.9)

    verdict = fleet.verdict()

    assert [cause.check for cause in verdict.causes] == ["prompt_longer"]
    assert [cause.check for cause in verdict.following] == ["kv_cache_full"]
    assert verdict.sentence.startswith("prompts to llm have 1500 tokens on average (was 500)")


def test_a_larger_batch_that_makes_tokens_slow_is_the_cause(fleet: Fleet) -> None:
    """Twelve requests at once instead of four."""
    _engine(fleet.before)
    _engine(fleet.now, running=12.0, later=0.08)

    assert fleet.checks() == ["batch_too_large"]


@pytest.mark.parametrize(
    "now",
    [
        {},
        {"cache": 0.99},
        {"waiting": 5.0},
        {"prompt": 1500.0},
        {"running": 12.0},
        {"first": 0.21, "later": 0.031, "prompt": 520.0, "running": 4.4},
    ],
    ids=["as ever", "a well-used cache", "who waits for something else", "long prompts in no more time",
         "more requests in no more time", "a little of everything"],
)  # fmt: skip
def test_what_hurts_nobody_is_no_cause(fleet: Fleet, now: dict[str, float]) -> None:
    """One number alone is not enough."""
    _engine(fleet.before)
    _engine(fleet.now, **now)

    assert fleet.checks() == []


def test_a_cache_that_was_full_before_is_no_news(fleet: Fleet) -> None:
    """Triage tells what changed; the alert fires all the same."""
    _engine(fleet.before, cache=0.98, waiting=9.0)
    _engine(fleet.now, cache=0.98, waiting=9.0)

    assert fleet.checks() == []


def test_a_cache_that_was_full_for_a_while_before_is_news(fleet: Fleet) -> None:
    """On average it had room; now it has none."""
    _engine(fleet.before, cache=0.6)
    fleet.before.put("kv_cache_blocked", 0.97, **LLM)
    _engine(fleet.now, cache=0.98, waiting=9.0)

    assert fleet.checks() == ["kv_cache_full"]


def test_full_means_what_the_alert_means() -> None:
    """The same shares as those of the rules."""
    text = (assets.folder("rules") / "config" / "thresholds.json").read_text(encoding="utf-8")
    knobs = {row["knob"]: row["value"] for row in json.loads(text)}

    assert (knobs["kvCacheRatio"], knobs["kvCacheMeanRatio"]) == (FULL, FULL_ON_AVERAGE)


def _tokens(fleet: Fleet, now: float, limit: float | None, *, version: str = "") -> None:
    """Tokens of prompts a second in the busiest minute, 400 before, and the limit."""
    _engine(fleet.before)
    _engine(fleet.now)
    for window, rate in ((fleet.before, 400.0), (fleet.now, now)):
        window.put("tokens", rate, **LLM, kind="tokens_in")
        window.put("token_limits", limit, model="llm", version=version, kind="tokens_in")


@pytest.mark.parametrize("version", ["", "1"])
def test_more_tokens_than_the_limit_are_the_cause(fleet: Fleet, version: str) -> None:
    """Of the model over its versions, or of one."""
    _tokens(fleet, 2400.0, 2000.0, version=version)

    verdict = fleet.verdict()

    assert [cause.check for cause in verdict.causes] == ["tokens_limit"]
    assert verdict.sentence.endswith("handled 2400 tokens_in/s; its limit is 2000")


@pytest.mark.parametrize("limit", [2400.0, None])
def test_tokens_within_the_limit_or_without_one_are_no_cause(fleet: Fleet, limit: float | None) -> None:
    """Exactly the limit is allowed."""
    _tokens(fleet, 2400.0, limit)

    assert fleet.checks() == []


def test_busiest_minutes_of_versions_are_not_added_up(fleet: Fleet) -> None:
    """A rollout: 1500 tokens/s of each version for a while, and of the model never more than 1600."""
    _tokens(fleet, 1500.0, 2000.0)
    for window in (fleet.now, fleet.before):
        window.put("tokens", 1500.0, model="llm", version="2", kind="tokens_in")
        window.put("tokens", 1600.0, model="llm", kind="tokens_in")

    assert fleet.checks() == []

    fleet.now.put("tokens", 2100.0, model="llm", kind="tokens_in")

    assert fleet.checks() == ["tokens_limit"]
