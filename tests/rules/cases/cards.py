"""Cards that are exported twice, cannot be read, or share a number with another host's."""

from support.case import Case, absent, reads
from support.simulate import World

USE, USED, TOTAL = (
    "device:accelerator_utilization:ratio",
    "device:accelerator_memory_used:bytes",
    "device:accelerator_memory_total:bytes",
)
POWER, HEAT = "device:accelerator_power:watts", "device:accelerator_temperature:celsius"
FAULT, CLOCK = "device:accelerator_fault:code", "device:accelerator_clock:hertz"
PCIE, NVLINK = "device:accelerator_pcie:bytes_per_second", "device:accelerator_nvlink:bytes_per_second"
MEMORY = 8 * 2**20
VALUES = {
    USE: 0.5,
    USED: MEMORY,
    TOTAL: MEMORY,
    POWER: 50,
    HEAT: 50,
    FAULT: 79,
    CLOCK: 1.5e9,
    PCIE: 1000,
    NVLINK: 1000,
}
# Vendor, labels of a card (the first is its name), and what its exporter says where a record has its value.
EXPORTERS = (
    (
        "nvidia",
        {"UUID": "A"},
        {
            USE: {"DCGM_FI_PROF_GR_ENGINE_ACTIVE": 0.5},
            USED: {"DCGM_FI_DEV_FB_USED": 8},
            POWER: {"DCGM_FI_DEV_POWER_USAGE": 50},
            HEAT: {"DCGM_FI_DEV_GPU_TEMP": 50},
            FAULT: {"DCGM_FI_DEV_XID_ERRORS": 79},
            CLOCK: {"DCGM_FI_DEV_SM_CLOCK": 1500},
            PCIE: {"DCGM_FI_PROF_PCIE_TX_BYTES": 700, "DCGM_FI_PROF_PCIE_RX_BYTES": 300},
            NVLINK: {"DCGM_FI_PROF_NVLINK_TX_BYTES": 700, "DCGM_FI_PROF_NVLINK_RX_BYTES": 300},
        },
    ),
    ("nvidia", {"UUID": "B"}, {USE: {"DCGM_FI_DEV_GPU_UTIL": 50}}),
    (
        "nvidia",
        {"gpu_uuid": "C"},
        {
            USE: {"nv_gpu_utilization": 0.5},
            USED: {"nv_gpu_memory_used_bytes": MEMORY},
            TOTAL: {"nv_gpu_memory_total_bytes": MEMORY},
            POWER: {"nv_gpu_power_usage": 50},
        },
    ),
    (
        "ascend",
        {"vdie_id": "D", "id": "0"},
        {
            USE: {"npu_chip_info_utilization": 50},
            USED: {"npu_chip_info_hbm_used_memory": 8},
            TOTAL: {"npu_chip_info_hbm_total_memory": 8},
            POWER: {"npu_chip_info_power": 50},
            HEAT: {"npu_chip_info_temperature": 50},
            FAULT: {"npu_chip_info_error_code": 79},
            CLOCK: {"npu_chip_info_aicore_current_freq": 1500},
        },
    ),
    (
        "ascend",
        {"vdie_id": "F", "id": "0"},
        {USED: {"npu_chip_info_used_memory": 8}, TOTAL: {"npu_chip_info_total_memory": 8}},
    ),
    (
        "cambricon",
        {"uuid": "E"},
        {
            USE: {"mlu_utilization": 50},
            USED: {"mlu_memory_used": MEMORY},
            TOTAL: {"mlu_memory_total": MEMORY},
            POWER: {"mlu_power_usage": 50},
            HEAT: {"mlu_temperature": 50},
            FAULT: {"mlu_last_xid_error": 79},
            CLOCK: {"mlu_frequency": 1500},
            # Cambricon tells bytes of 20 ms.
            PCIE: {"mlu_pcie_read_throughput": 14, "mlu_pcie_write_throughput": 6},
        },
    ),
)
UNREADABLE = 2.0**63


def doubled(record):
    """Every card is exported twice, once for each pod that sees it, with a lower value the second time."""
    world, rows = World(minutes=6), []
    for vendor, labels, said in EXPORTERS:
        for name, level in said.get(record, {}).items():
            world.gauge(name, level, **labels, instance="h", pod="one")
            world.gauge(name, level / 2, **labels, instance="h", pod="two")
        if record in said:
            rows.append({"device": next(iter(labels.values())), "vendor": vendor, "instance": "h"})
    return Case(
        says=f"a card that is exported twice counts once, with the larger value: {record}",
        world=world,
        rules=(record,),
        checks=(reads(record, 5, *((row, VALUES[record]) for row in rows)),),
    )


def unreadable(record, *gauges):
    """DCGM writes numbers near 2^63 for what it cannot read."""
    world = World(minutes=6)
    for name in gauges:
        world.gauge(name, UNREADABLE, UUID="A", instance="h")
    return Case(
        says=f"what DCGM could not read is no value: {record}",
        world=world,
        rules=(record,),
        checks=(absent(record, 5),),
    )


CASES = (
    *map(doubled, VALUES),
    Case(
        says="a card's memory is what is used, free and reserved, of the pod that sees most of it",
        world=World(minutes=6)
        .gauge("DCGM_FI_DEV_FB_USED", 4, UUID="A", instance="h", pod="one")
        .gauge("DCGM_FI_DEV_FB_FREE", 8, UUID="A", instance="h", pod="one")
        .gauge("DCGM_FI_DEV_FB_RESERVED", 1, UUID="A", instance="h", pod="one")
        .gauge("DCGM_FI_DEV_FB_USED", 2, UUID="A", instance="h", pod="two")
        .gauge("DCGM_FI_DEV_FB_FREE", 8, UUID="A", instance="h", pod="two")
        .gauge("DCGM_FI_DEV_FB_RESERVED", 1, UUID="A", instance="h", pod="two")
        .gauge("DCGM_FI_DEV_FB_USED", 4, UUID="B", instance="h", pod="one")
        .gauge("DCGM_FI_DEV_FB_FREE", 8, UUID="B", instance="h", pod="one")
        .gauge("DCGM_FI_DEV_FB_USED", 2, UUID="B", instance="h", pod="two")
        .gauge("DCGM_FI_DEV_FB_FREE", 8, UUID="B", instance="h", pod="two"),
        rules=(TOTAL,),
        checks=(
            reads(
                "device:accelerator_memory_total:bytes / 1048576",
                5,
                ({"device": "A", "instance": "h", "vendor": "nvidia"}, 13),
                ({"device": "B", "instance": "h", "vendor": "nvidia"}, 12),
            ),
        ),
    ),
    unreadable(USE, "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_DEV_GPU_UTIL"),
    unreadable(USED, "DCGM_FI_DEV_FB_USED"),
    unreadable(
        TOTAL,
        "DCGM_FI_DEV_FB_USED",
        "DCGM_FI_DEV_FB_FREE",
        "DCGM_FI_DEV_FB_RESERVED",
    ),
    unreadable(POWER, "DCGM_FI_DEV_POWER_USAGE"),
    unreadable(HEAT, "DCGM_FI_DEV_GPU_TEMP"),
    unreadable("device:accelerator_name:info", "DCGM_FI_DEV_GPU_TEMP"),
    unreadable(FAULT, "DCGM_FI_DEV_XID_ERRORS"),
    unreadable(CLOCK, "DCGM_FI_DEV_SM_CLOCK"),
    unreadable(PCIE, "DCGM_FI_PROF_PCIE_TX_BYTES", "DCGM_FI_PROF_PCIE_RX_BYTES"),
    unreadable(NVLINK, "DCGM_FI_PROF_NVLINK_TX_BYTES", "DCGM_FI_PROF_NVLINK_RX_BYTES"),
    Case(
        says="the same card number on two hosts is two cards",
        world=World(minutes=6)
        .gauge("mlu_power_usage", 50, uuid="0", instance="a")
        .gauge("mlu_power_usage", 60, uuid="0", instance="b"),
        rules=(POWER,),
        checks=(
            reads(
                POWER,
                5,
                ({"device": "0", "instance": "a", "vendor": "cambricon"}, 50),
                ({"device": "0", "instance": "b", "vendor": "cambricon"}, 60),
            ),
        ),
    ),
)
