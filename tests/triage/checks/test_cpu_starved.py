"""A machine's processors are all busy."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Fleet

    from tritonobs.triage.cause import Cause


STAGES = {
    "inspect": {"total": 0.050, "preprocess": 0.020, "detector": 0.025, "nms": 0.004},
    "preprocess": {"total": 0.018, "decode": 0.012, "normalise": 0.005},
    "detector": {"total": 0.022, "infer": 0.021},
    "nms": {"total": 0.003, "suppress": 0.002},
}


def _slow_everywhere(fleet: Fleet, factor: float) -> None:
    for model, stages in STAGES.items():
        for stage, mean in stages.items():
            fleet.now.stage(model, stage, mean * factor)


def test_a_busy_machine_and_stages_slow_together_are_a_lack_of_cpu(fleet: Fleet) -> None:
    """No stage stands out: all of them got slower when a neighbour took the processors."""
    _slow_everywhere(fleet, 1.8)
    fleet.now.put("cpu", 0.99, instance="a:8002")

    assert "cpu_starved" in [cause.check for cause in _all(fleet)]


def test_one_slow_stage_on_a_busy_machine_is_that_stage(fleet: Fleet) -> None:
    """A stage that burns the processors is the cause, not their victim."""
    fleet.now.slow(0.070, "preprocess", "decode")
    fleet.now.put("cpu", 0.99, instance="a:8002")

    assert "cpu_starved" not in [cause.check for cause in _all(fleet)]


def test_a_machine_that_is_always_busy_is_no_news(fleet: Fleet) -> None:
    """It was at 99 % before, too."""
    _slow_everywhere(fleet, 1.8)
    for window in (fleet.now, fleet.before):
        window.put("cpu", 0.99, instance="a:8002")

    assert "cpu_starved" not in [cause.check for cause in _all(fleet)]


def _all(fleet: Fleet) -> list[Cause]:
    verdict = fleet.verdict()
    return [*verdict.causes, *verdict.following]
