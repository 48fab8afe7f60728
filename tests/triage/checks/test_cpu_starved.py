"""A machine's processors are all busy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tritonobs.clients.prometheus import Series

if TYPE_CHECKING:
    from conftest import Fleet

    from tritonobs.timings.cause import Cause


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


def test_a_machine_that_others_take_comes_before_the_stage_that_suffers_most(fleet: Fleet) -> None:
    """Beside a build every stage took longer, and inference three times as long: it is still the build."""
    _slow_everywhere(fleet, 1.6)
    for name, part in (
        ("detector", "infer"),
        ("detector", "total"),
        ("inspect", "detector"),
        ("inspect", "total"),
    ):
        fleet.now.stage(name, part, STAGES[name][part] * 1.6 + 0.040)
    for name in ("detector", "inspect"):
        total = STAGES[name]["total"] * 1.6 + 0.040
        fleet.now.put("request", (0.001 + total) * 10.0 * 1e6, model=name, version="1")
    fleet.now.put("cpu", 0.97, instance="a:8002")

    verdict = fleet.verdict()

    assert verdict.causes[0].check == "cpu_starved"
    assert "what else runs there" in verdict.causes[0].next_steps[0]
    assert [cause.check for cause in verdict.causes if cause.check == "slow_stage"] == []
    assert "slow_stage" in [cause.check for cause in verdict.following]


def test_a_dead_worker_does_not_explain_taken_processors(fleet: Fleet) -> None:
    """Two faults: somebody builds, and a worker died."""
    _slow_everywhere(fleet, 1.8)
    fleet.now.put("cpu", 0.99, instance="a:8002")
    labels = {"instance": "a:8002", "model": "nms", "version": "1", "worker": "nms_0_0-7a-1a"}
    fleet.now.put("heartbeats", 9_700.0, **labels)
    fleet.now.put("alive", 0.0, **labels)

    assert {"dead_worker", "cpu_starved"} <= set(fleet.checks())


def test_processors_that_are_taken_for_half_of_the_time_are_taken(fleet: Fleet) -> None:
    """The window begins before the build: its mean is below what counts as busy."""
    _slow_everywhere(fleet, 1.8)
    fleet.now.put("cpu", 0.75, instance="a:8002")
    times = [9_000.0 + 10.0 * step for step in range(101)]
    points = tuple((time, 0.98 if time > 9_650.0 else 0.4) for time in times)
    fleet.trends["cpu"] = (Series(labels={"instance": "a:8002"}, points=points),)

    (cause,) = [cause for cause in _all(fleet) if cause.check == "cpu_starved"]

    assert "98% busy, were 40%" in cause.sentence
    assert cause.since == pytest.approx(9_650.0, abs=30.0)


def _all(fleet: Fleet) -> list[Cause]:
    verdict = fleet.verdict()
    return [*verdict.causes, *verdict.following]
