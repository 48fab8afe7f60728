"""Quantiles from histogram buckets, as Prometheus computes them."""

from __future__ import annotations

import math
from collections.abc import Mapping


def bucket_quantile(ratio: float, buckets: Mapping[float, float]) -> float | None:
    """The value that `ratio` of the observations do not exceed, from cumulative counts by upper bound.

    Linear within a bucket, from 0 in the lowest; the highest finite bound for what lies above it. None
    without observations.
    """
    bounds = sorted(buckets)
    if not bounds or not math.isinf(bounds[-1]) or buckets[bounds[-1]] <= 0:
        return None
    rank = ratio * buckets[bounds[-1]]
    lower, below = 0.0, 0.0
    for bound in bounds:
        # A scrape in the middle of a flush may show a bucket below a smaller one.
        count = max(buckets[bound], below)
        if count >= rank:
            if math.isinf(bound):
                return lower
            return lower + (bound - lower) * ((rank - below) / (count - below) if count > below else 1.0)
        lower, below = bound, count
    return lower


def tells(ratio: float, samples: float | None) -> bool:
    """Whether so many observations have this quantile: one in a hundred above the P99 takes a hundred.

    None, where the number is not known, is taken for enough.
    """
    # Rates are read between scrapes, so their sums are whole numbers only nearly.
    return samples is None or round(samples) * (1 - ratio) >= 1 - 1e-9


def highest_told(buckets: Mapping[float, float], samples: float) -> float | None:
    """The value of the highest quantile that so many observations have; at least the median."""
    return bucket_quantile(max(0.5, 1 - 1 / samples), buckets) if samples > 0 else None
