"""Which windows are compared."""

from __future__ import annotations

import pytest

from tritonobs.extensions.triage.calm import windows
from tritonobs.timings.promql import Span

NOW = 1_000_000.0


@pytest.mark.parametrize(
    ("since", "baseline", "expected"),
    [
        pytest.param(600, "previous", Span(start=NOW - 1200, end=NOW - 600), id="as long, and right before"),
        pytest.param(60, "previous", Span(start=NOW - 360, end=NOW - 60), id="at least five minutes"),
        pytest.param(600, "yesterday", Span(start=NOW - 87_000, end=NOW - 86_400), id="same time yesterday"),
        pytest.param(
            600, "last-week", Span(start=NOW - 605_400, end=NOW - 604_800), id="same time last week"
        ),
        pytest.param(600, "3h", Span(start=NOW - 11_400, end=NOW - 10_800), id="some hours ago"),
    ],
)
def test_windows_lie_where_they_are_meant(since: float, baseline: str, expected: Span) -> None:
    """The incident ends now; the baseline is where its word says."""
    incident, before = windows(NOW, since, baseline)

    assert (incident, before) == (Span(start=NOW - since, end=NOW), expected)


@pytest.mark.parametrize(
    ("baseline", "why"),
    [("tomorrow", "write previous, yesterday, last-week"), ("5m", "lies inside the incident of 600 s")],
)
def test_windows_that_make_no_sense_are_refused(baseline: str, why: str) -> None:
    """With what is allowed, or why not."""
    with pytest.raises(ValueError, match=why):
        windows(NOW, 600, baseline)
