"""Queries that would read too much are refused before Prometheus sees them."""

from __future__ import annotations

import pytest

from tritonobs.extensions.mcp.ask import Unanswered
from tritonobs.extensions.mcp.bounds import bounded

DAY = 86_400.0


@pytest.mark.parametrize(
    "expression",
    [
        "up",
        "rate(nv_inference_count[5m])",
        "rate(nv_inference_count[300])",
        "nv_inference_count offset 6d",
        "max_over_time(rate(nv_inference_count[5m])[1h:1m])",
        'up{job="[9999d] # offset 9999d"}',
        "up{job=~`a#b`}",
    ],
)
def test_what_reads_little_passes(expression):
    """Ranges, subqueries and offsets of ordinary size; texts are not read for them."""
    bounded(expression, points=1, span_seconds=0.0)


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("rate(up[365d])", "more than 7 days back"),
        ("up offset 365d", "more than 7 days back"),
        ("up offset -365d", "more than 7 days back"),
        ("rate(up[4d] offset 4d)", "more than 7 days back"),
        ("max_over_time(up[6d:100ms])", "1,000,000 samples"),
        ("max_over_time(rate(up[1h])[2d:15s])", "1,000,000 samples"),
        ("rate(up[1y])", "not a plain duration"),
        ("rate(up[5m+365d])", "not a plain duration"),
        ("up offset (365d)", "not a plain duration"),
        ("up # offset 1m", "comments are not accepted"),
    ],
)
def test_what_reads_much_is_refused(expression, why):
    """In each way to write it; what cannot be judged is refused, too."""
    with pytest.raises(Unanswered, match=why):
        bounded(expression, points=1, span_seconds=0.0)


def test_points_of_a_range_count():
    """A query that is fine at one moment reads too much at a hundred."""
    bounded("max_over_time(up[3d])", points=1, span_seconds=0.0)
    with pytest.raises(Unanswered, match="samples"):
        bounded("max_over_time(up[3d])", points=100, span_seconds=DAY)
