"""Larger inputs, more boxes, inputs that the cache does not know."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Fleet


def test_larger_images_that_take_longer_are_the_cause(fleet: Fleet) -> None:
    """The stage is slow because of what it gets; that it is slow follows."""
    fleet.now.slow(0.070, "preprocess", "decode")
    fleet.now.size("preprocess", "decode", "megapixels", 8.0)

    verdict = fleet.verdict()

    assert [cause.check for cause in verdict.causes] == ["larger_inputs"]
    assert [cause.check for cause in verdict.following] == ["slow_stage"]
    assert verdict.causes[0].confidence == 0.95


def test_a_few_huge_images_are_the_cause(fleet: Fleet) -> None:
    """The mean grew little, the largest hundredth is ten times what it was."""
    fleet.now.slow(0.030, "preprocess", "decode")
    fleet.now.size("preprocess", "decode", "megapixels", 1.2, p99=60.0)

    verdict = fleet.verdict()

    assert [cause.check for cause in verdict.causes] == ["larger_inputs"]
    assert "gets larger inputs: one in a hundred has 60 megapixels or more (was 1.2)," in verdict.sentence


def test_the_largest_of_three_images_is_one_of_chance(fleet: Fleet) -> None:
    """Soon after the start of a server, the baseline has seen hardly any."""
    fleet.now.slow(0.030, "preprocess", "decode")
    fleet.before.size("preprocess", "decode", "megapixels", 1.0, p99=0.2)
    fleet.before.put("size_count", 0.01, model="preprocess", version="1", stage="decode", kind="megapixels")
    fleet.before.put("size_sum", 0.01, model="preprocess", version="1", stage="decode", kind="megapixels")

    assert fleet.checks() == ["slow_stage"]


def test_larger_images_that_cost_nothing_are_no_cause(fleet: Fleet) -> None:
    """Users may send what they like as long as nobody waits for it."""
    fleet.now.size("preprocess", "decode", "megapixels", 8.0)

    assert fleet.checks() == []


def test_a_slow_stage_with_the_same_images_is_another_cause(fleet: Fleet) -> None:
    """The size is read, and cleared."""
    fleet.now.slow(0.070, "preprocess", "decode")

    assert fleet.checks() == ["slow_stage"]


def test_larger_images_explain_a_small_stage_that_takes_a_multiple(fleet: Fleet) -> None:
    """As seen in the exercise: decoding takes more than twice as long, the whole request a quarter longer."""
    fleet.now.slow(0.0125, "preprocess", "decode")
    fleet.now.size("preprocess", "decode", "megapixels", 2.75, p99=15.0)

    verdict = fleet.verdict()

    assert [cause.check for cause in verdict.causes] == ["larger_inputs"]
    assert [cause.check for cause in verdict.following] == ["slow_stage"]


def test_more_boxes_that_take_longer_are_the_cause(fleet: Fleet) -> None:
    """A camera out of focus gives a thousand boxes an image."""
    fleet.now.slow(0.040, "nms", "suppress")
    fleet.now.size("nms", "suppress", "boxes", 1000.0)

    verdict = fleet.verdict()

    assert [cause.check for cause in verdict.causes] == ["more_boxes"]
    assert verdict.sentence == "nms / suppress gets 1000 boxes per image (was 5): it takes 21.0 times as long"


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


def _cache(fleet: Fleet, before: float, now: float) -> None:
    for window, ratio in ((fleet.before, before), (fleet.now, now)):
        window.put("cache_hits", 10 * ratio, model="inspect", version="1")
        window.put("cache_misses", 10 * (1 - ratio), model="inspect", version="1")


def test_a_cache_that_stopped_answering_is_the_cause(fleet: Fleet) -> None:
    """From 80 % to 5 %: the models under it get five times the work."""
    _cache(fleet, 0.8, 0.05)
    fleet.now.wait("detector", 0.090)

    verdict = fleet.verdict()

    assert [cause.check for cause in verdict.causes] == ["cache_collapse"]
    assert [cause.check for cause in verdict.following] == ["queue_saturation"]


def test_a_cache_that_never_helped_cannot_collapse(fleet: Fleet) -> None:
    """Ten per cent or two makes no difference."""
    _cache(fleet, 0.10, 0.02)

    assert fleet.checks() == []
