"""Limits from the past of a real Prometheus: what they would have done, and which one fits."""

from __future__ import annotations

import time
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tritonobs.errors import BadAnswer
from tritonobs.extensions.history.backtest import backtest_limit, backtest_objective
from tritonobs.extensions.history.suggest import operations_in_history, suggest
from tritonobs.timings.ask import unknown_model
from tritonobs.timings.promql import Span

if TYPE_CHECKING:
    from tritonobs.clients.prometheus import PrometheusClient

pytestmark = pytest.mark.e2e

MINUTE = 60.0
THREE_HOURS = 180 * MINUTE


@pytest.fixture(name="span")
def _span() -> Span:
    now = time.time()
    return Span(start=now - 2 * THREE_HOURS, end=now)


@pytest.mark.parametrize("version", ["", "1"])
def test_a_limit_would_have_fired_as_long_as_it_was_passed(
    prometheus: PrometheusClient, span: Span, version: str
) -> None:
    """Half an hour of 20 requests/s above a limit of 8: one alert, kept one minute more."""
    found = backtest_limit(prometheus, span, model="inspect", version=version, qps=Decimal(8))

    (episode,) = found.episodes
    assert episode.alert == "TritonQpsAboveLimit"
    assert span.end - episode.start == pytest.approx(90 * MINUTE, abs=MINUTE)
    assert episode.seconds == pytest.approx(31 * MINUTE, abs=1.5 * MINUTE)
    assert episode.peak == 20
    # Prometheus reads on for five minutes after the last sample, and here that is now.
    assert found.seen_seconds == pytest.approx(THREE_HOURS, abs=2 * MINUTE)


def test_a_limit_that_was_kept_would_have_been_silent(prometheus: PrometheusClient, span: Span) -> None:
    """20 requests/s are within 30."""
    found = backtest_limit(prometheus, span, model="inspect", version="", qps=Decimal(30))

    assert found.episodes == ()


def test_an_objective_would_have_fired_fast(prometheus: PrometheusClient, span: Span) -> None:
    """Half of all requests fail: more than 14.4 times what 99 % leaves, in five minutes and in an hour."""
    found = backtest_objective(
        prometheus, span, model="inspect", slo="availability", objective=Decimal("0.99")
    )

    (fast,) = [episode for episode in found.episodes if episode.alert == "TritonErrorBudgetBurnFast"]
    began = span.end - fast.start
    assert 75 * MINUTE < began < 90 * MINUTE
    assert 20 * MINUTE < fast.seconds < 35 * MINUTE
    assert found.firing_seconds >= fast.seconds


def test_an_objective_is_tried_on_one_version(prometheus: PrometheusClient, span: Span) -> None:
    """As on the model here, which has one; a version without a history is no silence."""
    tried = partial(
        backtest_objective, prometheus, span, model="inspect", slo="availability", objective=Decimal("0.99")
    )

    found = tried(version="1")

    assert found.subject == "availability of inspect version 1"
    assert "TritonErrorBudgetBurnFast" in {episode.alert for episode in found.episodes}
    with pytest.raises(BadAnswer, match="holds nothing of"):
        tried(version="2")


def test_an_objective_that_allows_it_would_have_been_silent(prometheus: PrometheusClient, span: Span) -> None:
    """Who promises 50 % has nothing to say about a bad half hour."""
    found = backtest_objective(
        prometheus, span, model="inspect", slo="availability", objective=Decimal("0.5")
    )

    assert found.episodes == ()


def test_a_past_without_the_model_is_no_silence(prometheus: PrometheusClient, span: Span) -> None:
    """Nothing recorded is told, and a slip of the pen gets the name that was meant."""
    with pytest.raises(BadAnswer, match="holds nothing of"):
        backtest_limit(prometheus, span, model="nms", version="", qps=Decimal(8))

    assert unknown_model(prometheus, span, model="detectr") == (
        'no model "detectr" was seen; there are detector (did you mean detector?)'
    )
    assert unknown_model(prometheus, span, model="detector", version="1") == ""


def test_a_limit_that_fits_is_found_in_the_past(prometheus: PrometheusClient, span: Span) -> None:
    """Every quarter of an hour 2 requests/s more, and after 14 they wait."""
    found = suggest("detector", operations_in_history(prometheus, span, model="detector"))

    assert found.knee_qps == pytest.approx(16, abs=1)
    assert found.good_qps == pytest.approx(14, abs=1)
    assert found.limit_qps == pytest.approx(11, abs=1)
    assert found.calm_seconds == pytest.approx(0.05, rel=0.05)
