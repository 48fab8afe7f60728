"""The knee: the rate at which requests begin to wait for each other."""

from __future__ import annotations

import pytest

from tritonobs.extensions.history.suggest import Operation, describe, far_too_much, suggest, suggestion_page


def _operations(*seconds: float, failed: dict[int, float] | None = None) -> list[Operation]:
    """One operation every 5 requests/s."""
    return [
        Operation(qps=5.0 * at, seconds=value, failed_ratio=(failed or {}).get(at, 0.0))
        for at, value in enumerate(seconds, 1)
    ]


def test_the_knee_is_where_waiting_begins() -> None:
    """Flat up to 30, then rising: the limit is 30 less a fifth."""
    found = suggest("inspect", _operations(0.05, 0.05, 0.051, 0.05, 0.052, 0.055, 0.09, 0.3, 0.9))

    assert (found.good_qps, found.knee_qps, found.limit_qps) == (30.0, 35.0, 24.0)
    assert describe(found) == (
        "inspect begins to wait at 35 requests/s; up to 30 a request takes 50 ms. "
        "With 20% headroom the limit is 24."
    )


def test_a_single_slow_step_is_no_knee() -> None:
    """A neighbour's backup at 15 requests/s says nothing about 40."""
    found = suggest("inspect", _operations(0.05, 0.05, 0.2, 0.05, 0.05, 0.05, 0.05, 0.05))

    assert (found.knee_qps, found.good_qps) == (None, 40.0)


def test_errors_are_a_knee_too() -> None:
    """A bounded queue answers 503 as fast as ever."""
    found = suggest("inspect", _operations(*[0.05] * 8, failed={6: 0.02, 7: 0.2, 8: 0.4}))

    assert (found.good_qps, found.knee_qps) == (25.0, 30.0)


def test_a_model_that_never_waited_gets_what_was_proved() -> None:
    """And the sentence says that more may be possible."""
    found = suggest("inspect", _operations(*[0.05] * 6), headroom_ratio=0.1)

    assert (found.knee_qps, found.limit_qps) == (None, 27.0)
    assert "a higher one may be" in describe(found)


def test_the_order_of_the_steps_does_not_matter() -> None:
    """History comes in the order of the clock, not of the rate."""
    operations = _operations(0.05, 0.05, 0.05, 0.05, 0.3, 0.9)

    assert suggest("m", operations[::-1]) == suggest("m", operations)


@pytest.mark.parametrize(
    ("operations", "enough"),
    [
        pytest.param(_operations(0.05, 0.05, 0.05, 9.0), False, id="four points are no curve"),
        pytest.param(_operations(0.05, 0.05, 0.05, 0.06, 0.4), False, id="it begins to wait"),
        pytest.param(_operations(0.05, 0.05, 0.05, 0.4, 9.0), True, id="it waits for seconds"),
        pytest.param(_operations(*[0.05] * 5, failed={5: 0.5}), True, id="half of it fails"),
    ],
)
def test_load_rises_no_further_than_it_must(operations: list[Operation], *, enough: bool) -> None:
    """Once the knee is far behind, more load only hurts."""
    assert far_too_much(operations) is enough


def test_too_few_rates_are_refused() -> None:
    """Four points are no curve."""
    with pytest.raises(ValueError, match="4 different rates of inspect were seen"):
        suggest("inspect", _operations(0.05, 0.05, 0.05, 0.05))


def test_the_picture_escapes_the_models_name() -> None:
    """A page is opened in a browser."""
    page = suggestion_page(suggest("<b>", _operations(0.05, 0.05, 0.05, 0.3, 0.9)), "<i>")

    assert "<b>" not in page
    assert "<i>" not in page
    assert page.count("<circle") == 5
