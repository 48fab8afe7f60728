"""What a right fleet file means: numbers, words and names as their writer meant them."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Spoiled


def test_numbers_are_read_from_their_text(fleet: Spoiled) -> None:
    """99.99% is exactly 0.9999 and a limit keeps its digits: no float ever stands between."""
    spec = fleet.replace("99.9%", "99.99%").replace("limit: 8", "limit: 0.1").read().spec

    assert spec is not None
    assert spec.defaults.slos["availability"].objective == Decimal("0.9999")
    assert spec.models["checkout"].qps_limit == Decimal("0.1")


def test_words_that_yaml_takes_for_something_else_stay_words(fleet: Spoiled) -> None:
    """A team called `no`, a cluster `010` and a model `on` are names."""
    fleet.replace("fleet: shop", "fleet: yes\ncluster: 010").replace("checkout:", "on:\n    team: no")
    spec = fleet.read().spec

    assert spec is not None
    assert (spec.fleet, spec.cluster, spec.models["on"].team) == ("yes", "010", "no")


def test_anchors_and_merge_keys_work(fleet: Spoiled) -> None:
    """What is shared is written once; what stands beside `<<` wins."""
    fleet.replace("  checkout:\n", "  checkout: &shared\n    tier: gold\n")
    fleet.text += "  search:\n    <<: *shared\n    qps_limit: 3\n"
    reading = fleet.read()

    assert reading.findings == ()
    assert reading.spec is not None
    assert (reading.spec.models["search"].tier, reading.spec.models["search"].qps_limit) == ("gold", 3)


def test_hostile_model_names_are_data(fleet: Spoiled) -> None:
    """Quotes, braces, newlines and other scripts survive as they are."""
    spec = fleet.replace("checkout:", '"a\\"b{c}\\n模型":').read().spec

    assert spec is not None
    assert list(spec.models) == ['a"b{c}\n模型']


@pytest.mark.parametrize("empty", ["nms:", "nms: {}", "nms: ~"])
def test_a_model_may_have_nothing_to_say(fleet: Spoiled, empty: str) -> None:
    """A model that only inherits needs no more than its name."""
    fleet.text += f"  {empty}\n"
    spec = fleet.read().spec

    assert spec is not None
    assert spec.models["nms"].versions == {}
