"""Suppression gets more boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Fleet


def test_more_boxes_that_take_longer_are_the_cause(fleet: Fleet) -> None:
    """A camera out of focus gives a thousand boxes an image."""
    fleet.now.slow(0.040, "nms", "suppress")
    fleet.now.size("nms", "suppress", "boxes", 1000.0)

    verdict = fleet.verdict()

    assert [cause.check for cause in verdict.causes] == ["more_boxes"]
    assert verdict.sentence == "nms / suppress gets 1000 boxes per image, was 5: it takes 21.0 times as long"


def test_more_boxes_that_cost_nothing_are_no_cause(fleet: Fleet) -> None:
    """Ten boxes instead of five, in the same time."""
    fleet.now.size("nms", "suppress", "boxes", 10.0)

    assert fleet.checks() == []


def test_another_slow_stage_is_not_blamed_on_boxes(fleet: Fleet) -> None:
    """More boxes, but it is the decoding that takes longer."""
    fleet.now.slow(0.070, "preprocess", "decode")
    fleet.now.size("nms", "suppress", "boxes", 10.0)

    assert fleet.checks() == ["slow_stage"]


def test_more_boxes_explain_a_small_stage_that_takes_a_multiple(fleet: Fleet) -> None:
    """Requests as a whole hardly take longer."""
    fleet.now.slow(0.006, "nms", "suppress")
    fleet.now.size("nms", "suppress", "boxes", 50.0)

    verdict = fleet.verdict()

    assert [cause.check for cause in verdict.causes] == ["more_boxes"]
    assert [cause.check for cause in verdict.following] == ["slow_stage"]
