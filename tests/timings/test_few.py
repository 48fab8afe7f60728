"""Percentiles that too few requests stand behind."""

from __future__ import annotations

import math

import pytest

from tritonobs.clients.prometheus import Reading
from tritonobs.report.formats import few
from tritonobs.timings.measured import Timing, highest_told, tells, timings_from

SUBJECT = {"model": "m", "version": "1"}
SECONDS = 300.0
# Of a hundred requests fifty take up to 10 ms, ninety up to 100 ms, all up to 1 s.
BUCKETS = {0.01: 0.5, 0.1: 0.9, 1.0: 1.0, math.inf: 1.0}


def _answers(requests: float, samples: float | None, **labels: str) -> dict[str, tuple[Reading, ...]]:
    """What Prometheus would say of so many requests in the window, and of so many traced ones."""

    def reading(value: float, **more: str) -> Reading:
        return Reading(labels={**SUBJECT, **more}, value=value / SECONDS, time=0.0)

    name = "" if samples is None else "traced_"
    buckets = tuple(
        reading(requests * share, le="+Inf" if math.isinf(bound) else f"{bound:g}", **labels)
        for bound, share in BUCKETS.items()
    )
    found = {f"{name}buckets": buckets, f"{name}sum": (reading(requests * 0.1, **labels),)}
    found["count" if samples is None else "traced_samples"] = (
        (reading(requests, **labels),) if samples is None else (reading(samples),)
    )
    return found


def _stage(requests: float) -> Timing:
    answers = _answers(requests, None, stage="total")
    return timings_from(answers, at=0.0, window_seconds=SECONDS).stages["m", "1", "total"]


def _traced(requests: float, samples: float) -> Timing:
    answers = _answers(requests, samples, phase="request")
    return timings_from(answers, at=0.0, window_seconds=SECONDS).traced["m", "1", "request"]


@pytest.mark.parametrize(
    ("samples", "p95", "p99", "known"),
    [
        (10, False, False, True),
        (19, False, False, True),
        (20, True, False, True),
        (99, True, False, True),
        (100, True, True, False),
        (100_000, True, True, False),
    ],
)
def test_a_percentile_takes_its_number_of_requests(
    samples: int, *, p95: bool, p99: bool, known: bool
) -> None:
    """Twenty for a P95, a hundred for a P99; where one is lacking, the highest that there is, is known."""
    for timing in (_stage(samples), _traced(100_000, samples)):
        assert timing.p50 is not None
        assert [one is not None for one in (timing.p95, timing.p99, timing.known)] == [p95, p99, known]


def test_ten_samples_of_a_thousand_requests_are_ten() -> None:
    """At one in a hundred the buckets say a thousand."""
    assert _traced(1000, 10).p99 is None
    assert _stage(1000).p99 is not None


def test_what_is_known_is_the_highest_quantile_that_so_many_have() -> None:
    """Of ten requests the P90, of two the median."""
    assert highest_told(BUCKETS, 10) == pytest.approx(0.1)
    assert highest_told(BUCKETS, 2) == pytest.approx(0.01)
    assert highest_told(BUCKETS, 0) is None


def test_a_number_that_is_not_known_is_enough() -> None:
    """Snapshots of earlier versions did not ask."""
    assert tells(0.99, None)


@pytest.mark.parametrize(
    ("known", "text"),
    [(0.0625, "≥62.5 ms"), (0.0005, "-"), (10.0, ">10 s"), (None, "-")],
)
def test_it_is_shown_as_what_the_percentile_is_at_least(known: float | None, text: str) -> None:
    """In the lowest bucket nothing is known, above the highest that it is above."""
    assert few(known, 0.001, 10.0) == text
