"""Cards of any vendor under one name and unit: NVIDIA (Triton, DCGM), Ascend, Cambricon."""

from __future__ import annotations

import palette
import thresholds

from signals import Signal, Step

_SELECTED = '{%(cluster)s, vendor=~"$vendor", device=~"$device"}'
_LEGEND = "{{vendor}} {{device}}"
_MEMORY = f"device:accelerator_memory_used:bytes{_SELECTED}\n  /\n(device:accelerator_memory_total:bytes > 0)"

_MEMORY_STEPS = (
    Step(value=None, colour=palette.GOOD),
    Step(value=thresholds.ACCELERATOR_MEMORY, colour=palette.CRITICAL),
)
_HEAT_STEPS = (Step(value=None, colour=palette.GOOD), Step(value=85, colour=palette.CRITICAL))

COUNT = Signal(
    title="Accelerators",
    unit="none",
    expr=f"count(device:accelerator_utilization:ratio{_SELECTED})",
    legend="accelerators",
    description=(
        "Cards that report. Good: all you have; a card that fell off the bus reports nothing. From "
        "`device:accelerator_utilization:ratio`."
    ),
    decimals=0,
)

MEAN = Signal(
    title="Mean utilisation",
    unit="percentunit",
    expr=f"avg(device:accelerator_utilization:ratio{_SELECTED})",
    legend="utilisation",
    description=(
        "Mean share of the time that cards work. Good: high where batches are served, below 70 % where "
        "people wait. From `device:accelerator_utilization:ratio`."
    ),
    maximum=1,
)

FULLEST = Signal(
    title="Fullest memory",
    unit="percentunit",
    expr=f"max(\n{_MEMORY}\n)",
    legend="memory",
    description=(
        "Memory of the fullest card. Good: below 97 %. From `device:accelerator_memory_used:bytes` and "
        "`…_total:bytes`."
    ),
    maximum=1,
    steps=_MEMORY_STEPS,
)

POWER_ALL = Signal(
    title="Power together",
    unit="watt",
    expr=f"sum(device:accelerator_power:watts{_SELECTED})",
    legend="power",
    description="Power of all chosen cards. Good: follows the work. From `device:accelerator_power:watts`.",
)

HOTTEST = Signal(
    title="Hottest",
    unit="celsius",
    expr=f"max(device:accelerator_temperature:celsius{_SELECTED})",
    legend="temperature",
    description=(
        "Temperature of the hottest card. Good: below 85 °C. From `device:accelerator_temperature:celsius`."
    ),
    steps=_HEAT_STEPS,
)

UTILISATION = Signal(
    title="Utilisation",
    unit="percentunit",
    expr=f"device:accelerator_utilization:ratio{_SELECTED}",
    legend=_LEGEND,
    description=(
        "Share of the time in which a card worked at all; under MIG, of its engines. Good: below 95 % while "
        "queues are short. From `DCGM_FI_DEV_GPU_UTIL`, `nv_gpu_utilization`, `npu_chip_info_utilization`, "
        "`mlu_utilization`."
    ),
    maximum=1,
    steps=(
        Step(value=None, colour=palette.GOOD),
        Step(value=thresholds.ACCELERATOR_BUSY, colour=palette.BAD),
    ),
    lines=True,
)

MEMORY_USED = Signal(
    title="Memory in use",
    unit="bytes",
    expr=f"device:accelerator_memory_used:bytes{_SELECTED}",
    legend=_LEGEND,
    description=(
        "Memory that programs hold on the card. Good: flat after the models are loaded; a slow rise is a "
        "leak. From `device:accelerator_memory_used:bytes`."
    ),
)

MEMORY_SHARE = Signal(
    title="Share of the memory",
    unit="percentunit",
    expr=_MEMORY,
    legend=_LEGEND,
    description=(
        "Memory in use of what the card has. Good: below 97 %; above it the next load of a model may fail. "
        "From `device:accelerator_memory_used:bytes` and `…_total:bytes`."
    ),
    maximum=1,
    steps=_MEMORY_STEPS,
)

POWER = Signal(
    title="Power",
    unit="watt",
    expr=f"device:accelerator_power:watts{_SELECTED}",
    legend=_LEGEND,
    description=(
        "Power drawn by the card. Good: follows the utilisation; full load at low power is a throttled "
        "card. From `device:accelerator_power:watts`."
    ),
)

TEMPERATURE = Signal(
    title="Temperature",
    unit="celsius",
    expr=f"device:accelerator_temperature:celsius{_SELECTED}",
    legend=_LEGEND,
    description=(
        "Temperature of the chip; Triton itself does not report it. Good: below 85 °C; from there on cards "
        "slow themselves down. From `device:accelerator_temperature:celsius`."
    ),
    steps=_HEAT_STEPS,
    lines=True,
)
