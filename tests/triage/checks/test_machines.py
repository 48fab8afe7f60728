"""A replica or a machine that is slower, busy processors, accelerators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tritonobs.clients.prometheus import Series

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Fleet

    from tritonobs.timings.cause import Cause


def _mean(fleet: Fleet, replica: str, mean: float) -> None:
    fleet.now.put("replica_us", mean * 5 * 1e6, model="inspect", version="1", instance=replica)


def test_a_replica_that_stands_out_is_the_cause(fleet: Fleet) -> None:
    """Same model, same traffic, one machine takes four times as long."""
    _mean(fleet, "b:8002", 0.200)

    (cause,) = fleet.verdict().causes

    assert (cause.check, cause.place) == ("slow_replica", ("inspect", "1", "b:8002"))
    assert cause.sentence == "mean latency of inspect on b:8002 is 200 ms, on the other replicas 51 ms"


def test_replicas_that_are_slow_together_are_no_slow_replica(fleet: Fleet) -> None:
    """Then it is the model or its traffic."""
    _mean(fleet, "a:8002", 0.200)
    _mean(fleet, "b:8002", 0.210)

    assert "slow_replica" not in fleet.checks()


def test_a_replica_hardly_anybody_asks_is_not_judged(fleet: Fleet) -> None:
    """One slow request in a minute is not a slow machine."""
    fleet.now.put("replica_requests", 0.01, model="inspect", version="1", instance="b:8002")
    fleet.now.put("replica_us", 0.01 * 0.9e6, model="inspect", version="1", instance="b:8002")

    assert fleet.checks() == []


def test_where_all_replicas_became_slower_one_must_stand_out_by_far(fleet: Fleet) -> None:
    """An instance less of a model on both: queues are nowhere equally long."""
    _mean(fleet, "a:8002", 0.130)
    _mean(fleet, "b:8002", 0.245)

    assert "slow_replica" not in fleet.checks()


def test_a_gpu_whose_clock_fell_under_load_is_throttled(fleet: Fleet) -> None:
    """It has work and runs at half its clock: detector's slowness follows from it."""
    for window, clock in ((fleet.before, 1980.0), (fleet.now, 990.0)):
        window.put("gpu_clock", clock, UUID="GPU-1")
        window.put("gpu_utilization", 0.9, gpu_uuid="GPU-1", instance="a:8002")
    fleet.now.slow(0.020, "detector", "infer")

    verdict = fleet.verdict()

    assert [cause.check for cause in verdict.causes] == ["accelerator"]
    assert verdict.sentence == "GPU GPU-1 runs at 990 MHz (was 1980 MHz): it is throttled"


def test_an_idle_gpu_may_rest(fleet: Fleet) -> None:
    """Without work a low clock is thrift."""
    for window, clock in ((fleet.before, 1980.0), (fleet.now, 300.0)):
        window.put("gpu_clock", clock, UUID="GPU-1")
        window.put("gpu_utilization", 0.02, gpu_uuid="GPU-1", instance="a:8002")

    assert fleet.checks() == []


def test_full_memory_is_a_cause(fleet: Fleet) -> None:
    """Named with the card and the machine."""
    fleet.before.put("gpu_memory", 0.80, gpu_uuid="GPU-1", instance="a:8002")
    fleet.now.put("gpu_memory", 0.99, gpu_uuid="GPU-1", instance="a:8002")

    assert fleet.checks() == ["accelerator"]


def test_memory_with_room_is_none(fleet: Fleet) -> None:
    """Ninety per cent is what one pays for."""
    fleet.now.put("gpu_memory", 0.90, gpu_uuid="GPU-1", instance="a:8002")

    assert fleet.checks() == []


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

    assert "98% (was 40%)" in cause.sentence
    assert cause.since == pytest.approx(9_650.0, abs=30.0)


def _all(fleet: Fleet) -> list[Cause]:
    verdict = fleet.verdict()
    return [*verdict.causes, *verdict.following]


def test_all_parts_that_slow_down_together_are_the_machine(
    fleet: Fleet, slow_down: Callable[..., None]
) -> None:
    """Half as long again everywhere: the replicas are named, no stage is, and nobody is very sure."""
    slow_down(1.5)

    (cause,) = fleet.verdict().causes

    assert (cause.check, cause.place, cause.confidence) == ("slow_machine", ("", "", "a:8002, b:8002"), 0.5)
    assert cause.sentence == (
        "nearly all stages on a:8002, b:8002 are slower: mean latency of inspect 76 ms (was 51 ms)"
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
