"""Cards with faults of their own, and cards that slow themselves down."""

from support.case import Case, all_fire, fires, reads, silent
from support.simulate import World

FAULT, SLOWED = "TritonAcceleratorFault", "TritonAcceleratorThrottled"
NVIDIA = {"UUID": "GPU-1-ab", "gpu": "3", "Hostname": "node-a", "instance": "a:9400"}
ASCEND = {"vdie_id": "D-0-cd", "id": "0", "instance": "b:8082"}
CAMBRICON = {"uuid": "MLU-2-ef", "mlu": "1", "node": "node-c", "instance": "c:30108"}
CARD = {
    "nvidia": {"device": "GPU-1-ab", "instance": "a:9400", "vendor": "nvidia"},
    "ascend": {"device": "D-0-cd", "instance": "b:8082", "vendor": "ascend"},
    "cambricon": {"device": "MLU-2-ef", "instance": "c:30108", "vendor": "cambricon"},
}
UNNUMBERED = {"device": "GPU-7-xyz", "instance": "d:8002", "vendor": "nvidia"}
XID, REASONS = "DCGM_FI_DEV_XID_ERRORS", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS"
DAY = 24 * 60
NAMES = "device:accelerator_name:info"


def told(name, level, labels, minutes=40):
    """One card, with one series."""
    return World(minutes=minutes).gauge(name, level, **labels)


def ascend(clock, busy):
    """An Ascend chip at this clock in MHz, this busy in percent."""
    world = told("npu_chip_info_aicore_current_freq", clock, ASCEND, minutes=60)
    return world.gauge("npu_chip_info_utilization", busy, **ASCEND)


def host(count, levels):
    """So many cards of one host, with reasons for their clocks."""
    world = World(minutes=40)
    for number in range(count):
        world.gauge(REASONS, levels, **{**NVIDIA, "UUID": f"GPU-{number}", "gpu": str(number)})
    return world


def fault_of(vendor, minute):
    """The fault of a vendor's card is told."""
    return fires(FAULT, minute, severity="warning", **CARD[vendor])


def slow_of(vendor, minute):
    """A vendor's card is told as slowed down."""
    return fires(SLOWED, minute, severity="warning", **CARD[vendor])


CASES = (
    *(
        Case(
            says=f"a fault is told: {says}",
            world=world,
            rules=(FAULT,),
            checks=(silent(FAULT, 9), fault_of(vendor, 12)),
        )
        for says, vendor, world in (
            ("a new XID", "nvidia", told(XID, [(10, 0), (99, 79)], NVIDIA)),
            ("a new error code", "ascend", told("npu_chip_info_error_code", [(10, 0), (99, 7)], ASCEND)),
            ("a bad health", "ascend", told("npu_chip_info_health_status", [(10, 1), (99, 0)], ASCEND)),
            ("a sick card", "cambricon", told("mlu_health", [(10, 1), (99, 0)], CAMBRICON)),
            ("memory that could not be corrected once", "nvidia",
             told("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", [(10, 0), (99, 1)], NVIDIA)),
            ("the first XID there is", "nvidia", told(XID, [(10, 0), (99, 1)], NVIDIA)),
        )
    ),
    *(
        Case(says=f"no fault: {says}", world=world, rules=(FAULT,), checks=(silent(FAULT, 40),))
        for says, world in (
            ("an XID of long ago", told(XID, 79, NVIDIA)),
            *(
                (f"XID {code}, an error of a program", told(XID, [(10, 0), (99, code)], NVIDIA))
                for code in (13, 31, 43, 45)
            ),
            ("a code that DCGM cannot read", told(XID, [(10, 0), (99, 2.0**63)], NVIDIA)),
            ("a health that nobody knows", told("npu_chip_info_health_status", -1, ASCEND)),
            ("a restarted driver", told("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", [(10, 5), (99, 0)], NVIDIA)),
        )
    ),
    Case(
        says="a fault is over a quarter of an hour after it was new",
        world=told(XID, [(10, 0), (99, 79)], NVIDIA),
        rules=(FAULT,),
        checks=(fault_of("nvidia", 12), fault_of("nvidia", 30), silent(FAULT, 40, since=37)),
    ),
    *(
        Case(says=f"slowed down: {says}", world=world, rules=(SLOWED,), checks=(slow_of(vendor, 35),))
        for says, vendor, world in (
            ("by heat", "nvidia", told(REASONS, 64, NVIDIA)),
            ("by the power supply, under the older name", "nvidia",
             told("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", 128 + 4, NVIDIA)),
            ("by heat, of Cambricon's", "cambricon", told("mlu_thermal_slow_down", 1, CAMBRICON)),
            ("an Ascend chip under load", "ascend", ascend([(20, 1800), (99, 1000)], 90)),
        )
    ),
    Case(
        says="a card that slows itself down for ten minutes is told then, and not before",
        world=told(REASONS, [(10, 0), (99, 64)], NVIDIA),
        rules=(SLOWED,),
        checks=(silent(SLOWED, 19), slow_of("nvidia", 21)),
    ),
    Case(
        says="eight cards of a host that slow down are one alert",
        world=host(8, [(10, 0), (99, 64)]),
        rules=(SLOWED,),
        checks=(fires(SLOWED, 30, severity="warning", instance="a:9400", vendor="nvidia"),),
    ),
    Case(
        says="three of a host are told each",
        world=host(3, 64),
        rules=(SLOWED,),
        checks=(
            all_fire(
                SLOWED,
                30,
                *({**CARD["nvidia"], "device": f"GPU-{one}", "severity": "warning"} for one in range(3)),
            ),
        ),
    ),
    Case(
        says="eight that are well are not told",
        world=host(8, 0),
        rules=(SLOWED,),
        checks=(silent(SLOWED, 40),),
    ),
    Case(
        says="what an Ascend chip could do two days ago is forgotten",
        world=World(minutes=3 * DAY, scrape_seconds=300)
        .gauge("npu_chip_info_aicore_current_freq", [(DAY, 1800), (9999, 1000)], **ASCEND)
        .gauge("npu_chip_info_utilization", 90, **ASCEND),
        rules=(SLOWED,),
        checks=(slow_of("ascend", 2 * DAY - 10), silent(SLOWED, 3 * DAY, since=2 * DAY + 10)),
    ),
    *(
        Case(says=f"not slowed down: {says}", world=world, rules=(SLOWED,), checks=(silent(SLOWED, 40),))
        for says, world in (
            ("idle, and within the power limit that was set", told(REASONS, 1 + 4 + 256, NVIDIA)),
            ("for two minutes", told(REASONS, [(10, 0), (12, 64), (99, 0)], NVIDIA)),
            ("reasons that DCGM cannot read", told(REASONS, 2.0**63, NVIDIA)),
            ("an Ascend chip that rests", ascend([(20, 1800), (99, 800)], 5)),
        )
    ),
    Case(
        says="cards are called by their number and host, whoever made them",
        world=World(minutes=6)
        .gauge("DCGM_FI_DEV_GPU_TEMP", 60, **NVIDIA)
        .gauge("npu_chip_info_temperature", 50, **ASCEND)
        .gauge("mlu_temperature", 50, **CAMBRICON)
        .gauge("nv_gpu_utilization", 0.5, gpu_uuid="GPU-7-xyz", instance="d:8002"),
        rules=(NAMES,),
        checks=(
            reads(
                NAMES,
                5,
                ({**CARD["nvidia"], "card": "3", "host": "node-a"}, 1),
                ({**CARD["ascend"], "card": "0", "host": "b"}, 1),
                ({**CARD["cambricon"], "card": "1", "host": "node-c"}, 1),
                ({**UNNUMBERED, "card": "xyz", "host": "d"}, 1),
            ),
        ),
    ),
)  # fmt: skip
