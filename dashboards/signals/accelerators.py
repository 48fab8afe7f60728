"""Accelerators of any vendor under one name and unit: records of `rules/records/accelerators.libsonnet`."""

from __future__ import annotations

import palette
import thresholds

from signals import Signal, Step

_SELECTED = '{%(cluster)s, vendor=~"$vendor", device=~"$device"}'
_LEGEND = "{{vendor}} {{card}} {{host}}"
_NONE = "no accelerator is reported"
_UNTOLD = "no exporter reports this"


def _named(expr: str) -> str:
    """With the number of the accelerator on its host: a UUID is hard to remember."""
    return (
        f"(\n  {expr}\n"
        "    * on (cluster, device, vendor) group_left (card, host)\n"
        "  topk by (cluster, device, vendor) (1, device:accelerator_name:info)\n)\n"
        "or on (cluster, device)\n"
        f"({expr})"
    )


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
    empty=_NONE,
    description=(
        "Accelerators that report. Good: as many as are installed; one that fell off the bus is missing. "
        "From `device:accelerator_utilization:ratio`."
    ),
    decimals=0,
)

MEAN = Signal(
    title="Mean utilisation",
    unit="percentunit",
    expr=f"avg(device:accelerator_utilization:ratio{_SELECTED})",
    legend="utilisation",
    empty=_NONE,
    description=(
        "Mean share of the time that accelerators are busy. Good: high for batch work, below 70 % for "
        "interactive traffic. From `device:accelerator_utilization:ratio`."
    ),
    maximum=1,
)

FULLEST = Signal(
    title="Max memory use",
    unit="percentunit",
    expr=f"max(\n{_MEMORY}\n)",
    legend="memory",
    empty=_NONE,
    description=(
        "Memory use of the fullest accelerator. Good: below 97 %. From "
        "`device:accelerator_memory_used:bytes` and `…_total:bytes`."
    ),
    maximum=1,
    steps=_MEMORY_STEPS,
)

POWER_ALL = Signal(
    title="Total power",
    unit="watt",
    expr=f"sum(device:accelerator_power:watts{_SELECTED})",
    legend="power",
    empty=_NONE,
    description="Power of chosen accelerators. Good: follows load. From `device:accelerator_power:watts`.",
)

HOTTEST = Signal(
    title="Max temperature",
    unit="celsius",
    expr=f"max(device:accelerator_temperature:celsius{_SELECTED})",
    legend="temperature",
    empty=_NONE,
    description=(
        "Temperature of the hottest accelerator. Good: below 85 °C. From "
        "`device:accelerator_temperature:celsius`."
    ),
    steps=_HEAT_STEPS,
)

UTILISATION = Signal(
    title="Utilisation",
    short="busy",
    unit="percentunit",
    expr=_named(f"device:accelerator_utilization:ratio{_SELECTED}"),
    legend=_LEGEND,
    empty=_NONE,
    description=(
        "Share of the time in which an accelerator was busy at all; under MIG, its engines. Good: below 95 "
        "% while queues are short. From `device:accelerator_utilization:ratio`."
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
    short="used",
    unit="bytes",
    expr=_named(f"device:accelerator_memory_used:bytes{_SELECTED}"),
    legend=_LEGEND,
    empty=_NONE,
    description=(
        "Memory that programs hold on the accelerator. Good: flat after the models are loaded; a slow rise "
        "is a leak. From `device:accelerator_memory_used:bytes`."
    ),
)

MEMORY_SHARE = Signal(
    title="Share of memory in use",
    short="memory",
    unit="percentunit",
    expr=_named(_MEMORY),
    legend=_LEGEND,
    empty=_NONE,
    description=(
        "Memory in use as a share of the total. Good: below 97 %; above it the next model load may fail. "
        "From `device:accelerator_memory_used:bytes` and `…_total:bytes`."
    ),
    maximum=1,
    steps=_MEMORY_STEPS,
)

POWER = Signal(
    title="Power",
    short="power",
    unit="watt",
    expr=_named(f"device:accelerator_power:watts{_SELECTED}"),
    legend=_LEGEND,
    empty=_NONE,
    description=(
        "Power drawn by the accelerator. Good: follows the utilisation; full load at low power means that "
        "it is throttled. From `device:accelerator_power:watts`."
    ),
)

TEMPERATURE = Signal(
    title="Temperature",
    short="temp",
    unit="celsius",
    expr=_named(f"device:accelerator_temperature:celsius{_SELECTED}"),
    legend=_LEGEND,
    empty=_NONE,
    description=(
        "Temperature of the chip; Triton itself does not report it. Good: below 85 °C; from there on "
        "accelerators are throttled. From `device:accelerator_temperature:celsius`."
    ),
    steps=_HEAT_STEPS,
    lines=True,
)

FAULTS = Signal(
    title="Faults",
    short="fault",
    unit="none",
    expr=_named(f"device:accelerator_fault:code{_SELECTED}"),
    legend=_LEGEND,
    description=(
        "The code of the accelerator's last fault, as its vendor numbers it (NVIDIA: XIDs). Good: 0; 13, 31, "
        "43 and 45 are faults of programs. From `device:accelerator_fault:code`."
    ),
    decimals=0,
    empty=_UNTOLD,
    steps=(Step(value=None, colour=palette.GOOD), Step(value=1, colour=palette.CRITICAL)),
)

ECC = Signal(
    title="Memory errors",
    short="ECC",
    unit="none",
    expr=_named(f"device:accelerator_ecc_uncorrected:increase1h{_SELECTED}"),
    legend=_LEGEND,
    description=(
        "Uncorrectable errors of the accelerator's memory within an hour. Good: 0. From "
        "`device:accelerator_ecc_uncorrected:increase1h`."
    ),
    decimals=0,
    empty=_UNTOLD,
    steps=(Step(value=None, colour=palette.GOOD), Step(value=1, colour=palette.CRITICAL)),
)

THROTTLED = Signal(
    title="Throttled",
    unit="none",
    expr=_named(f"device:accelerator_throttled:bool{_SELECTED}"),
    legend=_LEGEND,
    description=(
        "Whether the accelerator is throttled by heat or insufficient power. Good: no. From "
        "`device:accelerator_throttled:bool`."
    ),
    says=((0, "no", palette.GOOD), (1, "throttled", palette.CRITICAL)),
    empty=_UNTOLD,
    maximum=1,
)

CLOCK = Signal(
    title="Clock",
    unit="hertz",
    expr=_named(f"device:accelerator_clock:hertz{_SELECTED}"),
    legend=_LEGEND,
    description=(
        "The clock of the accelerator's cores. Good: high under load; low under load means that it is "
        "throttled. From `device:accelerator_clock:hertz`."
    ),
    empty=_UNTOLD,
)

PCIE = Signal(
    title="Traffic over PCIe",
    unit="Bps",
    expr=_named(f"device:accelerator_pcie:bytes_per_second{_SELECTED}"),
    legend=_LEGEND,
    description=(
        "Bytes per second to and from the host. Good: far below what the slot can do (PCIe 4 x16: 32 GB/s "
        "each way). From `device:accelerator_pcie:bytes_per_second`."
    ),
    empty=_UNTOLD,
)

NVLINK = Signal(
    title="Traffic over NVLink",
    unit="Bps",
    expr=_named(f"device:accelerator_nvlink:bytes_per_second{_SELECTED}"),
    legend=_LEGEND,
    description=(
        "Bytes per second between accelerators. Good: even among those of one model. From "
        "`device:accelerator_nvlink:bytes_per_second`."
    ),
    empty=_UNTOLD,
)
