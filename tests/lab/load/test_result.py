"""Numbers of a run."""

from __future__ import annotations

import pytest

from tritonobs.extensions.lab.load.result import Percentiles, percentiles
from tritonobs.extensions.lab.load.run import kind_of


def test_percentiles_are_values_that_occurred() -> None:
    """Nearest rank: p99 of a hundred values is the 99th, not a mixture."""
    assert percentiles([value / 10 for value in range(100, 0, -1)]) == Percentiles(
        mean=pytest.approx(5.05), p50=5.0, p90=9.0, p95=9.5, p99=9.9, max=10.0
    )


def test_percentiles_of_one_value_are_that_value() -> None:
    """Small runs are no special case."""
    assert percentiles([0.25]) == Percentiles(mean=0.25, p50=0.25, p90=0.25, p95=0.25, p99=0.25, max=0.25)


def test_percentiles_of_nothing_are_nothing() -> None:
    """No answer has no latency, not a latency of 0."""
    assert percentiles([]) is None


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        ("503", "Exceeds maximum queue size", "503 Exceeds maximum queue size"),
        ("400", "too_large: 12000x8000 is more than 4000 a side", "400 too_large: NxN is more than N a side"),
        ("404", "unknown model: 'a \"b\" c' is not found", "404 unknown model: … is not found"),
        ("500", "first line\nTraceback", "500 first line"),
        ("", "", ""),
    ],
)
def test_kind_of_leaves_out_particulars(status: str, message: str, kind: str) -> None:
    """Grouping needs the sentence, not the numbers in it."""
    assert kind_of(status, message) == kind
