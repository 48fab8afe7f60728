"""Numbers as people read them: three digits, no exponent."""

from __future__ import annotations

import math

import pytest

from tritonobs.report.formats import NOTHING, number, rate


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.25, "0.25"),
        (12.54, "12.5"),
        (999.4, "999"),
        (999.7, "1000"),
        (1234.4, "1234"),
        (0.00001, "0.00001"),
        (0.0, "0"),
        (None, NOTHING),
        (math.nan, NOTHING),
    ],
)
def test_a_rate_has_three_digits_and_no_exponent(value: float | None, text: str) -> None:
    """What rounds to a thousand, too."""
    assert rate(value) == text


@pytest.mark.parametrize(
    ("value", "digits", "text"), [(205_000.0, 3, "205000"), (-25_123.0, 4, "-25123"), (12.345, 4, "12.35")]
)
def test_large_counts_and_sizes_are_whole(value: float, digits: int, text: str) -> None:
    """Records that were lost, and bytes."""
    assert number(value, digits) == text
