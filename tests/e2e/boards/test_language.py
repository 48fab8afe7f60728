"""A model that behaves like a language model, behind a real Triton: its board, and a cache that fills up."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

from support.language_load import ask, prompts
from support.watched import without_data

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(660)]
LANGUAGE_ALERTS = {"TritonKvCacheFull", "TritonPreemptions"}


def test_an_answer_comes_word_by_word(language):
    """As many responses as tokens were asked for."""
    assert ask(language.plan.replicas[0].http_url, words=10, answer=7) == 7


def test_few_callers_alarm_nobody(language, language_watched):
    """For longer than both alerts wait at this speed: the silent twin of the overload."""
    url = language.plan.replicas[0].http_url
    with prompts(url, at_once=2, words=20, answer=20):

        def counted():
            return language_watched.client.query('model_version:triton_requests:rate5m{model="llm"} > 0')

        assert language_watched.until(lambda: not counted()) is False

        def alarmed():
            firing = language_watched.client.query('ALERTS{alertstate="firing", model="llm"}')
            return LANGUAGE_ALERTS & {one.labels["alertname"] for one in firing}

        deadline = time.monotonic() + 90
        assert language_watched.until(lambda: not alarmed() and time.monotonic() < deadline, 120) is False
        assert not alarmed()


def test_a_full_cache_and_requests_put_back_are_told(language, language_watched):
    """More callers than the cache has room for: both alerts fire; the SLO on first tokens burns."""
    url = language.plan.replicas[0].http_url
    wanted = LANGUAGE_ALERTS | {"TritonErrorBudgetBurnFast"}
    seen = set()

    def missing():
        # Each at some time: on a starved machine the cache empties now and then.
        firing = language_watched.client.query('ALERTS{alertstate="firing", model="llm"}')
        seen.update(one.labels["alertname"] for one in firing)
        return wanted - seen

    began = time.monotonic()
    with prompts(url, at_once=16, words=60, answer=40):
        assert language_watched.until(missing, 300) == set()
        # What was there before is no news: before were the few callers of the test above.
        assert "kv_cache_full" in named(language, time.monotonic() - began)


def test_every_query_of_the_board_finds_data(language, language_watched):
    """While more callers ask than the cache has room for."""
    url = language.plan.replicas[0].http_url
    with prompts(url, at_once=12, words=60, answer=40):

        def missing():
            return without_data(language_watched.drawn(language_watched.boards()["language"]))

        assert language_watched.until(missing) == []


def named(language, seconds):
    """The checks of triage that found something in so many seconds, compared with as many before."""
    words = [sys.executable, "-m", "tritonobs", "triage", str(language.fleet_file)]
    done = subprocess.run(
        [*words, "--model", "llm", "--since", f"{seconds:.0f}s", "--format", "json"],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    told = json.loads(done.stdout)
    return {cause["check"] for cause in (*told["causes"], *told["following"])}
