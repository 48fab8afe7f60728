"""A stage gets larger inputs."""

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

    assert fleet.checks() == ["larger_inputs"]


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
