"""A GPU is throttled, or its memory is full."""

from __future__ import annotations

from collections.abc import Iterator

from tritonobs.extensions.triage.check import LATE, check
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause, Evidence

_FULL = 0.95
_SLOWED = 0.85
# An idle card lowers its clock by itself.
_BUSY = 0.3


@check(order=150, explains=LATE)
def judge(view: View) -> Iterator[Cause]:
    """Every GPU that is full, or whose clock fell while it had work."""
    slower = any(case.slower for case in view.cases)
    before = view.rows("gpu_memory", "instance", "gpu_uuid", before=True)
    for key, used in view.rows("gpu_memory", "instance", "gpu_uuid").items():
        if used >= _FULL:
            yield Cause(
                place=("", "", *key),
                sentence=f"the memory of GPU {key[1]} on {key[0]} is {used:.0%} full",
                confidence=0.8 if slower or used > before.get(key, used) else 0.55,
                evidence=(Evidence("GPU memory used", before.get(key), used, "ratio"),),
                next_steps=(
                    "see which model grew: unload models without requests, or lower instance_group counts",
                    "models that allocate later will fail; do not reload anything before there is room",
                ),
                asked=("gpu_memory",),
            )
    yield from _throttled(view)


def _throttled(view: View) -> Iterator[Cause]:
    clocks = view.rows("gpu_clock", "UUID", before=True)
    heat = view.rows("gpu_temperature", "UUID")
    # The label UUID of dcgm-exporter has the value of Triton's gpu_uuid.
    busy = view.rows("gpu_utilization", "gpu_uuid")
    for (card,), clock in view.rows("gpu_clock", "UUID").items():
        was = clocks.get((card,), 0.0)
        if clock < _SLOWED * was and busy.get((card,), 1.0) >= _BUSY:
            yield Cause(
                place=("", "", card),
                sentence=f"GPU {card} runs at {clock:.0f} MHz, was {was:.0f} MHz: it is throttled",
                confidence=0.9,
                evidence=(
                    Evidence("SM clock in MHz", was, clock),
                    Evidence("GPU temperature in °C", None, heat.get((card,))),
                ),
                next_steps=("check cooling and power limit of that machine (nvidia-smi -q -d PERFORMANCE)",),
                asked=("gpu_clock", "gpu_temperature"),
            )
