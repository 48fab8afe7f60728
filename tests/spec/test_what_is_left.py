"""What can still be judged of a fleet file with mistakes, so that all of them are found at once."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Spoiled


def test_what_is_left_of_a_wrong_file_can_be_judged_further(fleet: Spoiled) -> None:
    """A wrong value is taken out, so that its neighbours are still looked at."""
    left = fleet.replace("limit: 8", "limit: no").replace("99.9%", "99.95%").read().spec

    assert left is not None
    assert left.models["checkout"].qps_limit is None
    assert left.defaults.slos["availability"].objective == Decimal("0.9995")


@pytest.mark.parametrize(
    ("old", "new", "complaints"),
    [
        pytest.param("fleet:", "flet:", 2, id="no name of the fleet"),
        pytest.param("http:", "htp:", 1, id="no server with a right address"),
        pytest.param(
            "models:",
            "notify: {dingtalk: {oncall: {webhook: x}}}\nmodels:",
            1,
            id="a robot without a webhook",
        ),
        pytest.param("models:", "notify: 4\nmodels:", 1, id="no mapping"),
    ],
)
def test_what_lost_its_last_right_value_does_not_hide_the_rest(
    fleet: Spoiled, old: str, new: str, complaints: int
) -> None:
    """The fleet's name, its servers and its robots are not needed to judge the models."""
    reading = fleet.replace(old, new).read()

    assert len(reading.findings) == complaints
    assert reading.spec is not None
    assert reading.spec.models["checkout"].qps_limit is not None
