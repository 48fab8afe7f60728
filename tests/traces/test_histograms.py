"""Distributions: near the truth, weighted by the rate, bounded whatever names arrive."""

from __future__ import annotations

import math
import random
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.spans import body, request
from tritonobs.extensions.traces.call import Assembler
from tritonobs.extensions.traces.histograms import Histograms, Subject
from tritonobs.extensions.traces.otlp import read_value
from tritonobs.plan.objectives import BOUNDS, middle, with_thresholds
from tritonobs.timings.measured import bucket_quantile

WORST = 0.05


def call(name="detector", **more):
    """A call as the receiver gets it."""
    (traced,) = Assembler().add(read_value(body(*request(name, **more)))[0])
    return traced.call


def estimate(values, ratio):
    """What the rules make of a histogram of these."""
    counts = dict.fromkeys((*BOUNDS, math.inf), 0)
    for value in values:
        counts[next(bound for bound in counts if value <= bound)] += 1
    cumulative = dict(zip(counts, accumulate(counts.values()), strict=True))
    return middle(bucket_quantile(ratio, cumulative))


def test_the_bounds_cover_a_tenth_of_a_millisecond_to_a_minute():
    """140 of them, each 10 % above the one before."""
    assert (len(BOUNDS), BOUNDS[0], BOUNDS[24], BOUNDS[-1]) == (140, 0.0001, 0.001, 61.8966)
    assert max(high / low for low, high in pairwise(BOUNDS)) < 1.1008


@given(st.floats(0.0001, 60), st.sampled_from([0.5, 0.95, 0.99]))
def test_requests_that_take_equally_long_are_read_within_five_percent(seconds, ratio):
    """The hardest distribution: a straight line through a bucket is 10 % off."""
    assert estimate([seconds] * 7, ratio) == pytest.approx(seconds, rel=WORST)


@pytest.mark.parametrize(
    "draw",
    [
        pytest.param(lambda r: r.lognormvariate(-5, 1), id="lognormal around 7 ms"),
        pytest.param(lambda r: r.expovariate(3), id="exponential around 0.3 s"),
        pytest.param(lambda r: 0.0003 if r.random() < 0.93 else 2.0, id="0.3 ms or 2 s"),
        pytest.param(lambda r: r.uniform(0.02, 0.03), id="uniform from 20 to 30 ms"),
        pytest.param(lambda r: 0.01 * r.paretovariate(1.5), id="a heavy tail"),
    ],
)
def test_every_shape_is_read_within_five_percent(draw):
    """p50, p95 and p99 against the sorted values themselves."""
    chance = random.Random(7)  # noqa: S311 (the same draw every time)
    values = sorted(min(draw(chance), 60) for _ in range(20_000))
    for ratio in (0.5, 0.95, 0.99):
        true = values[math.ceil(ratio * len(values)) - 1]
        assert estimate(values, ratio) == pytest.approx(true, rel=WORST), ratio


def test_a_target_is_a_bound_of_its_own():
    """So an objective is counted exactly."""
    assert sorted(set(with_thresholds([0.25, 0.001])) - set(BOUNDS)) == [0.25]


def test_one_of_a_hundred_stands_for_a_hundred():
    """In the counts, the sum and the outcomes; samples stay what they are."""
    histograms = Histograms(BOUNDS)
    histograms.add("a", call(queue=0.002, compute=0.01), 100)
    histograms.add("a", call(queue=0.002, compute=0.2), 1)
    tally = histograms.subjects[Subject(model="detector", version="1", replica="a")]
    queue = tally.phases["queue"]
    assert (sum(queue.counts), round(queue.seconds, 6)) == (101, 0.202)
    assert (tally.outcomes, tally.samples, max(tally.weights)) == ({"ok": 101}, 2, 100)


def test_an_ensemble_is_counted_under_version_one():
    """As in Triton's own counters, whatever its version is: limits and objectives are compared with those."""
    histograms = Histograms(BOUNDS)
    histograms.add("a", call("ensemble", version="3", computed=False, inner=("member",)), 1)
    histograms.add("a", call("pipeline", version="3", inner=("member",)), 1)
    assert {(subject.model, subject.version) for subject in histograms.subjects} == {
        ("ensemble", "1"),
        ("pipeline", "3"),
    }


def test_a_refused_request_has_no_time():
    """It would make the model look quick while it turns everybody away."""
    histograms = Histograms(BOUNDS)
    histograms.add("a", call(answered=False), 10)
    (tally,) = histograms.subjects.values()
    assert (tally.phases, tally.outcomes) == ({}, {"rejected": 10})


def test_the_largest_weight_is_forgotten_after_ten_minutes():
    """Else one sample of 1 in 1000 would keep an SLO from ever paging."""
    now = [0.0]
    histograms = Histograms(BOUNDS, clock=lambda: now[0])
    weights = []
    for at, weight in ((0, 1000), (299, 10), (301, 10), (601, 10)):
        now[0] = at
        histograms.add("a", call(), weight)
        (tally,) = histograms.subjects.values()
        weights.append(max(tally.weights))
    assert weights == [1000, 1000, 1000, 10]


def test_a_million_names_fill_a_bounded_room_and_are_counted():
    """Who was there first stays, and goes only after an idle hour."""
    now = [0.0]
    histograms = Histograms(BOUNDS, most_subjects=3, clock=lambda: now[0])
    for name in "abcde":
        histograms.add("r", call(name), 1)
    assert ([subject.model for subject in histograms.subjects], histograms.refused) == (["a", "b", "c"], 2)
    now[0] = 3601.0
    histograms.add("r", call("f"), 1)
    assert [subject.model for subject in histograms.subjects] == ["b", "c", "f"]


def test_a_copy_stays_as_it_was():
    """The page is written while more is counted."""
    histograms = Histograms(BOUNDS)
    histograms.add("a", call(), 1)
    copy = histograms.copied()
    histograms.add("a", call(), 1)
    ((tally), *_), (now, *_) = copy.values(), histograms.subjects.values()
    assert (sum(tally.phases["request"].counts), tally.outcomes["ok"], tally.samples) == (1, 1, 1)
    assert (sum(now.phases["request"].counts), now.outcomes["ok"], now.samples) == (2, 2, 2)


def test_other_targets_begin_anew():
    """Counts by other bounds say nothing about the new ones; the same bounds keep them."""
    histograms = Histograms(with_thresholds([0.25]))
    histograms.add("a", call(), 1)
    histograms.rebound(with_thresholds([0.25]))
    assert len(histograms.subjects) == 1
    histograms.rebound(with_thresholds([0.3]))
    assert histograms.subjects == {}
