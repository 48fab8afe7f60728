"""A GPU is throttled, or its memory is full."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Fleet


def test_a_gpu_whose_clock_fell_under_load_is_throttled(fleet: Fleet) -> None:
    """It has work and runs at half its clock: detector's slowness follows from it."""
    for window, clock in ((fleet.before, 1980.0), (fleet.now, 990.0)):
        window.put("gpu_clock", clock, UUID="GPU-1")
        window.put("gpu_utilization", 0.9, gpu_uuid="GPU-1", instance="a:8002")
    fleet.now.slow(0.020, "detector", "infer")

    verdict = fleet.verdict()

    assert [cause.check for cause in verdict.causes] == ["accelerator"]
    assert verdict.sentence == "GPU GPU-1 runs at 990 MHz, was 1980 MHz: it is throttled"


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
