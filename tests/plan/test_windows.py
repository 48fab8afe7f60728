"""Windows hold enough scrapes, whatever the scrape interval."""

from decimal import Decimal

import pytest

from tritonobs.plan.rules import SCRAPES_PER_WINDOW, rule_windows


@pytest.mark.parametrize(
    ("scrape", "short", "medium"),
    [
        pytest.param("1", "10s", "1m", id="no window is shorter than ten seconds"),
        pytest.param("5", "20s", "1m", id="five seconds give twenty"),
        pytest.param("15", "1m", "1m", id="fifteen seconds give a minute, the medium window too"),
        pytest.param("60", "4m", "4m", id="a minute gives four, still below the base window"),
    ],
)
def test_windows_hold_enough_scrapes(scrape, short, medium):
    """The short window holds four scrapes, the medium one is at least a minute, the base is 5 m."""
    windows = rule_windows(Decimal(scrape), Decimal(scrape))

    assert (windows.short, windows.medium, windows.base) == (short, medium, "5m")
    assert windows.short_seconds >= SCRAPES_PER_WINDOW * Decimal(scrape)


@pytest.mark.parametrize(("scrape", "evaluation"), [("0", "5"), ("61", "5"), ("5", "0"), ("5", "90")])
def test_intervals_that_fit_no_window_are_refused(scrape, evaluation):
    """Below and above the allowed range it is a ValueError that names the range."""
    with pytest.raises(ValueError, match=r"allowed is above 0 s and at most 60 s"):
        rule_windows(Decimal(scrape), Decimal(evaluation))
