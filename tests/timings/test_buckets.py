"""Quantiles as Prometheus computes them."""

from __future__ import annotations

import math

import pytest

from tritonobs.timings.measured import bucket_quantile

INF = math.inf


@pytest.mark.parametrize(
    ("ratio", "buckets", "value"),
    [
        pytest.param(0.5, {0.1: 10, 0.2: 20, INF: 20}, 0.1, id="at a bound"),
        pytest.param(0.75, {0.1: 10, 0.2: 20, INF: 20}, 0.15, id="between two bounds"),
        pytest.param(0.25, {0.1: 10, 0.2: 20, INF: 20}, 0.05, id="from zero in the lowest"),
        pytest.param(0.99, {0.1: 10, 0.2: 10, INF: 20}, 0.2, id="above the highest bound"),
        pytest.param(0.5, {0.1: 0, 0.2: 0, INF: 0}, None, id="no observation"),
        pytest.param(0.5, {0.1: 1}, None, id="no infinite bucket"),
        pytest.param(0.5, {}, None, id="no bucket"),
        pytest.param(0.5, {0.1: 10, 0.2: 9, INF: 10}, 0.05, id="a scrape in the middle of a flush"),
    ],
)
def test_bucket_quantile_is_that_of_histogram_quantile(
    ratio: float, buckets: dict[float, float], value: float | None
) -> None:
    """The values of these cases were computed by Prometheus 2.42."""
    assert bucket_quantile(ratio, buckets) == (None if value is None else pytest.approx(value))
