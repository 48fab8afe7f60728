"""Bucket bounds as people write them in config.pbtxt."""

import math
from bisect import bisect_left
from statistics import NormalDist

import pytest

from tritonobs.stage import DEFAULT_BOUNDS_SECONDS, format_bound, parse_bounds


def test_bounds_read_as_written():
    """Seconds, separated by commas, spaces or none."""
    assert parse_bounds("0.01, 0.25,1") == (0.01, 0.25, 1.0)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("fast", id="a word"),
        pytest.param("0.5; 1", id="semicolons"),
        pytest.param("1, 0.5", id="falling"),
        pytest.param("0.5, 0.5", id="twice the same"),
        pytest.param("0, 1", id="zero"),
        pytest.param("-1, 1", id="negative"),
        pytest.param("1, nan", id="not a number"),
        pytest.param("1, inf", id="the infinite bucket is always there"),
        pytest.param("0.0000009, 1", id="below a microsecond"),
        pytest.param(", ".join(str(at) for at in range(1, 102)), id="a hundred and one"),
    ],
)
def test_unusable_bounds_are_refused_with_what_is_allowed(text):
    """The message repeats the text and says how to write it."""
    with pytest.raises(ValueError, match=r"seconds") as refused:
        parse_bounds(text)

    assert repr(text) in str(refused.value)


@pytest.mark.parametrize(
    ("bound", "le"),
    [
        (0.25, "0.25"),
        (0.07, "0.07"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1.0, "1"),
        (120.0, "120"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (1.25e-6, "1.25e-06"),
        (100_000.0, "100000"),
        (1e6, "1e+06"),
        (1.6384e6, "1.6384e+06"),
        (float("inf"), "+Inf"),
    ],
)
def test_a_bound_is_printed_as_prometheus_prints_it(bound, le):
    """In the fewest digits; texts that Prometheus 2.42 shows on its own page are among these."""
    assert format_bound(bound) == le


def test_default_bounds_hold_the_targets_people_choose():
    """0.1 ms to two minutes, written as every part of the way writes them."""
    written = [format_bound(bound) for bound in DEFAULT_BOUNDS_SECONDS]

    assert parse_bounds(", ".join(written)) == DEFAULT_BOUNDS_SECONDS
    assert (written[0], written[-1], len(written)) == ("0.0001", "120", 60)
    assert {"0.001", "0.01", "0.05", "0.1", "0.15", "0.25", "0.5", "1", "2.5", "5", "10", "30", "60"} <= {
        *written
    }
    assert written == [f"{bound:.16g}" for bound in DEFAULT_BOUNDS_SECONDS], "Triton's histograms agree"


@pytest.mark.parametrize("sigma", [0.3, 0.4, 0.6, 1.0])
@pytest.mark.parametrize("quantile", [0.5, 0.95, 0.99])
def test_quantiles_of_the_default_bounds_are_within_a_tenth(sigma, quantile):
    """As `histogram_quantile` interpolates, for log-normal stages with medians from 0.1 ms to 10 s."""
    normal = NormalDist(0, sigma)
    edges = (0.0, *DEFAULT_BOUNDS_SECONDS)
    for step in range(501):
        median = 0.0001 * 10 ** (step / 100)
        true = median * math.exp(normal.inv_cdf(quantile))
        at = bisect_left(edges, true)
        low, high = (
            normal.cdf(math.log(edges[each] / median)) if edges[each] else 0 for each in (at - 1, at)
        )
        shown = edges[at - 1] + (edges[at] - edges[at - 1]) * (quantile - low) / (high - low)
        assert shown == pytest.approx(true, rel=0.1), median
