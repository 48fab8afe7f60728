"""Cards that are exported twice, cannot be read, or share a number with another host's."""

from support.promtool import Case, absent, reads
from support.simulate import World

CARDS = {
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": ({"UUID": "A", "instance": "h"}, 0.5),
    "DCGM_FI_DEV_GPU_UTIL": ({"UUID": "B", "instance": "h"}, 50),
    "nv_gpu_utilization": ({"gpu_uuid": "C", "instance": "h"}, 0.5),
    "npu_chip_info_utilization": ({"vdie_id": "D", "id": "0", "instance": "h"}, 50),
    "mlu_utilization": ({"uuid": "E", "instance": "h"}, 50),
}
MEMORY = {
    "DCGM_FI_DEV_FB_USED": ({"UUID": "A", "instance": "h"}, 8),
    "nv_gpu_memory_used_bytes": ({"gpu_uuid": "C", "instance": "h"}, 8 * 2**20),
    "npu_chip_info_hbm_used_memory": ({"vdie_id": "D", "id": "0", "instance": "h"}, 8),
    "npu_chip_info_used_memory": ({"vdie_id": "F", "id": "0", "instance": "h"}, 8),
    "mlu_memory_used": ({"uuid": "E", "instance": "h"}, 8 * 2**20),
}
TOTALS = {
    "nv_gpu_memory_total_bytes": ({"gpu_uuid": "C", "instance": "h"}, 8 * 2**20),
    "npu_chip_info_hbm_total_memory": ({"vdie_id": "D", "id": "0", "instance": "h"}, 8),
    "npu_chip_info_total_memory": ({"vdie_id": "F", "id": "0", "instance": "h"}, 8),
    "mlu_memory_total": ({"uuid": "E", "instance": "h"}, 8 * 2**20),
}
POWER = {
    "DCGM_FI_DEV_POWER_USAGE": ({"UUID": "A", "instance": "h"}, 50),
    "nv_gpu_power_usage": ({"gpu_uuid": "C", "instance": "h"}, 50),
    "npu_chip_info_power": ({"vdie_id": "D", "id": "0", "instance": "h"}, 50),
    "mlu_power_usage": ({"uuid": "E", "instance": "h"}, 50),
}
HEAT = {
    "DCGM_FI_DEV_GPU_TEMP": ({"UUID": "A", "instance": "h"}, 50),
    "npu_chip_info_temperature": ({"vdie_id": "D", "id": "0", "instance": "h"}, 50),
    "mlu_temperature": ({"uuid": "E", "instance": "h"}, 50),
}
FAULTS = {
    "DCGM_FI_DEV_XID_ERRORS": ({"UUID": "A", "instance": "h"}, 79),
    "npu_chip_info_error_code": ({"vdie_id": "D", "id": "0", "instance": "h"}, 79),
    "mlu_last_xid_error": ({"uuid": "E", "instance": "h"}, 79),
}
CLOCKS = {
    "DCGM_FI_DEV_SM_CLOCK": ({"UUID": "A", "instance": "h"}, 1500),
    "npu_chip_info_aicore_current_freq": ({"vdie_id": "D", "id": "0", "instance": "h"}, 1500),
    "mlu_frequency": ({"uuid": "E", "instance": "h"}, 1500),
}
# DCGM tells bytes a second, Cambricon those of 20 ms.
PCIE = {
    "DCGM_FI_PROF_PCIE_TX_BYTES": ({"UUID": "A", "instance": "h"}, 700),
    "DCGM_FI_PROF_PCIE_RX_BYTES": ({"UUID": "A", "instance": "h"}, 300),
    "mlu_pcie_read_throughput": ({"uuid": "E", "instance": "h"}, 14),
    "mlu_pcie_write_throughput": ({"uuid": "E", "instance": "h"}, 6),
}
NVLINK = {
    "DCGM_FI_PROF_NVLINK_TX_BYTES": ({"UUID": "A", "instance": "h"}, 700),
    "DCGM_FI_PROF_NVLINK_RX_BYTES": ({"UUID": "A", "instance": "h"}, 300),
}
VENDORS = {"A": "nvidia", "B": "nvidia", "C": "nvidia", "D": "ascend", "E": "cambricon", "F": "ascend"}
UNREADABLE = 2.0**63


def doubled(record, gauges, value):
    """Every card is exported twice, once for each pod that sees it, with a lower value the second time."""
    world = World(minutes=6)
    for name, (labels, level) in gauges.items():
        world.gauge(name, level, **labels, pod="one").gauge(name, level / 2, **labels, pod="two")
    cards = {}
    for labels, _ in gauges.values():
        card = next(labels[label] for label in ("UUID", "gpu_uuid", "vdie_id", "uuid") if label in labels)
        cards[card] = {"device": card, "vendor": VENDORS[card], "instance": "h"}
    return Case(
        says=f"a card that is exported twice counts once, with the larger value: {record}",
        world=world,
        rules=(record,),
        checks=(reads(record, 5, *((row, value) for card, row in cards.items())),),
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
    doubled("device:accelerator_utilization:ratio", CARDS, 0.5),
    doubled("device:accelerator_memory_used:bytes", MEMORY, 8 * 2**20),
    doubled("device:accelerator_memory_total:bytes", TOTALS, 8 * 2**20),
    doubled("device:accelerator_power:watts", POWER, 50),
    doubled("device:accelerator_temperature:celsius", HEAT, 50),
    doubled("device:accelerator_fault:code", FAULTS, 79),
    doubled("device:accelerator_clock:hertz", CLOCKS, 1.5e9),
    doubled("device:accelerator_pcie:bytes_per_second", PCIE, 1000),
    doubled("device:accelerator_nvlink:bytes_per_second", NVLINK, 1000),
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
        rules=("device:accelerator_memory_total:bytes",),
        checks=(
            reads(
                "device:accelerator_memory_total:bytes / 1048576",
                5,
                ({"device": "A", "instance": "h", "vendor": "nvidia"}, 13),
                ({"device": "B", "instance": "h", "vendor": "nvidia"}, 12),
            ),
        ),
    ),
    unreadable(
        "device:accelerator_utilization:ratio", "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_DEV_GPU_UTIL"
    ),
    unreadable("device:accelerator_memory_used:bytes", "DCGM_FI_DEV_FB_USED"),
    unreadable(
        "device:accelerator_memory_total:bytes",
        "DCGM_FI_DEV_FB_USED",
        "DCGM_FI_DEV_FB_FREE",
        "DCGM_FI_DEV_FB_RESERVED",
    ),
    unreadable("device:accelerator_power:watts", "DCGM_FI_DEV_POWER_USAGE"),
    unreadable("device:accelerator_temperature:celsius", "DCGM_FI_DEV_GPU_TEMP"),
    unreadable("device:accelerator_name:info", "DCGM_FI_DEV_GPU_TEMP"),
    unreadable("device:accelerator_fault:code", "DCGM_FI_DEV_XID_ERRORS"),
    unreadable("device:accelerator_clock:hertz", "DCGM_FI_DEV_SM_CLOCK"),
    unreadable("device:accelerator_pcie:bytes_per_second", *list(PCIE)[:2]),
    unreadable("device:accelerator_nvlink:bytes_per_second", *NVLINK),
    Case(
        says="the same card number on two hosts is two cards",
        world=World(minutes=6)
        .gauge("mlu_power_usage", 50, uuid="0", instance="a")
        .gauge("mlu_power_usage", 60, uuid="0", instance="b"),
        rules=("device:accelerator_power:watts",),
        checks=(
            reads(
                "device:accelerator_power:watts",
                5,
                ({"device": "0", "instance": "a", "vendor": "cambricon"}, 50),
                ({"device": "0", "instance": "b", "vendor": "cambricon"}, 60),
            ),
        ),
    ),
)
