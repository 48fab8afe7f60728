"""Everything takes longer together: the machine, not a stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Fleet


def test_all_parts_that_slow_down_together_are_the_machine(
    fleet: Fleet, slow_down: Callable[..., None]
) -> None:
    """Half as long again everywhere: the replicas are named, no stage is, and nobody is very sure."""
    slow_down(1.5)

    (cause,) = fleet.verdict().causes

    assert (cause.check, cause.place, cause.confidence) == ("slow_machine", ("", "", "a:8002, b:8002"), 0.5)
    assert cause.sentence == (
        "everything on a:8002, b:8002 takes longer: a request to inspect 76 ms, was 51 ms, "
        "and no stage stands out"
    )
    assert fleet.verdict().following == ()


def test_a_noisy_machine_slows_parts_down_unevenly(fleet: Fleet, slow_down: Callable[..., None]) -> None:
    """Some a quarter, one to the double: still no stage to look at."""
    slow_down(1.4)
    fleet.now.stage("preprocess", "decode", 0.012 * 2)
    fleet.now.stage("nms", "suppress", 0.002 * 1.1)

    assert fleet.checks() == ["slow_machine"]


def test_the_largest_part_of_a_slow_machine_is_no_slow_stage(
    fleet: Fleet, slow_down: Callable[..., None]
) -> None:
    """As seen beside three compilers: inference 2.5 times as long, and half of the rest nearly as much."""
    slow_down(1.9)
    for model, stage, seconds in (
        ("detector", "infer", 0.021 * 2.5),
        ("detector", "total", 0.0545),
        ("preprocess", "decode", 0.012 * 1.6),
        ("preprocess", "total", 0.0306),
        ("inspect", "detector", 0.0575),
        ("inspect", "preprocess", 0.0346),
        ("inspect", "total", 0.1036),
    ):
        fleet.now.stage(model, stage, seconds)
    fleet.now.put("request", 0.0316 * 10 * 1e6, model="preprocess", version="1")

    assert fleet.checks() == ["slow_machine"]


def test_a_stage_that_stands_out_of_a_slow_machine_is_the_cause(
    fleet: Fleet, slow_down: Callable[..., None]
) -> None:
    """A stage that burns the processors slows the others down: it is named, the others follow from it."""
    slow_down(1.2)
    fleet.now.slow(0.150, "preprocess", "decode")

    verdict = fleet.verdict()

    assert [cause.check for cause in verdict.causes] == ["slow_stage"]
    assert verdict.causes[0].place[-1] == "decode"
    assert [cause.check for cause in verdict.following] == ["slow_machine"]


def test_one_slow_stage_is_no_slow_machine(fleet: Fleet) -> None:
    """The rest is as fast as ever."""
    fleet.now.slow(0.070, "preprocess", "decode")

    verdict = fleet.verdict()

    assert "slow_machine" not in [cause.check for cause in (*verdict.causes, *verdict.following)]


def test_waiting_is_no_slow_machine(fleet: Fleet, slow_down: Callable[..., None]) -> None:
    """A queue that takes most of the added time is read first, whatever the stages do."""
    slow_down(1.15)
    fleet.now.wait("detector", 0.200)

    assert fleet.checks() == ["queue_saturation"]


@pytest.fixture(name="slow_down")
def _slow_down(fleet: Fleet, stages: dict[str, dict[str, float]]) -> Callable[[float], None]:
    def slow_down(factor: float) -> None:
        for model, parts in stages.items():
            total = parts["total"] * factor
            for stage, mean in parts.items():
                fleet.now.stage(model, stage, mean * factor)
            fleet.now.put("request", (0.001 + total) * 10.0 * 1e6, model=model, version="1")
            for replica in ("a:8002", "b:8002"):
                spent = (0.001 + total) * 5.0 * 1e6
                fleet.now.put("replica_us", spent, model=model, version="1", instance=replica)

    return slow_down
