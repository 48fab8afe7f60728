"""What cards tell of their state: why they slow down, whether they are well, errors of their memory."""

from support.case import Case, absent, reads
from support.simulate import World

SLOWED, WELL = "device:accelerator_throttled:bool", "device:accelerator_healthy:bool"
ERRORS = "device:accelerator_ecc_uncorrected:increase1h"
NEWER, OLDER = "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS"
# Slowed down by hardware, by software for heat, by hardware for heat, by the power supply.
HARM = (8, 32, 64, 128)
# Idle, clocks that were set, the power limit, boost groups, clocks of the display.
HARMLESS = (1, 2, 4, 16, 256)
UNREADABLE = 2.0**63


def row(device, vendor="nvidia"):
    """The labels of a card on host h."""
    return {"device": device, "instance": "h", "vendor": vendor}


def reasons(series):
    """A card for each reason, called by it, and one with all reasons there are."""
    world = World(minutes=6)
    for mask in (*HARM, *HARMLESS, sum(HARM), sum(HARMLESS)):
        world.gauge(series, mask, UUID=f"GPU-{mask}", instance="h")
    return world


def told_twice(series, one, other, **labels):
    """A series that two pods export, with different values."""
    world = World(minutes=6)
    for name, value in (("one", one), ("two", other)):
        world.gauge(series, value, **labels, instance="h", pod=name)
    return world


def counted(series, *levels, **labels):
    """A counter of errors by the minute, exported for as many pods, over three hours."""
    world = World(minutes=180, scrape_seconds=60)
    for pod, level in enumerate(levels):
        world.gauge(series, level, **labels, instance="h", pod=f"{pod}")
    return world


CASES = (
    *(
        Case(
            says=f"a card is slowed down by each of four reasons, and by none of the others: {series}",
            world=reasons(series),
            rules=(SLOWED,),
            checks=(
                reads(
                    SLOWED,
                    5,
                    *((row(f"GPU-{mask}"), 1) for mask in (*HARM, sum(HARM))),
                    *((row(f"GPU-{mask}"), 0) for mask in (*HARMLESS, sum(HARMLESS))),
                ),
            ),
        )
        for series in (NEWER, OLDER)
    ),
    *(
        Case(
            says=f"a card is slowed down when one of the pods that see it says so: {series}",
            world=told_twice(series, slow, well, **labels),
            rules=(SLOWED,),
            checks=(reads(SLOWED, 5, (row("A", vendor), 1)),),
        )
        for series, slow, well, vendor, labels in (
            (NEWER, 64, 1, "nvidia", {"UUID": "A"}),
            (OLDER, 64, 1, "nvidia", {"UUID": "A"}),
            ("mlu_thermal_slow_down", 1, 0, "cambricon", {"uuid": "A"}),
        )
    ),
    *(
        Case(
            says=f"a card is well, or not, or nobody knows: {series}",
            world=told_twice(series, 1, unknown, **{label: "A"}, id="0")
            .gauge(series, 0, **{label: "B"}, id="1", instance="h")
            .gauge(series, unknown, **{label: "C"}, id="2", instance="h"),
            rules=(WELL,),
            checks=(reads(WELL, 5, (row("A", vendor), 1), (row("B", vendor), 0)),),
        )
        for series, vendor, label, unknown in (
            ("npu_chip_info_health_status", "ascend", "vdie_id", -1),
            ("mlu_health", "cambricon", "uuid", None),
        )
    ),
    Case(
        says="a card is well when one of the pods that see it says so",
        world=told_twice("npu_chip_info_health_status", 1, 0, vdie_id="A", id="0").gauge(
            "mlu_health", 1, uuid="B", instance="h", pod="one"
        ).gauge("mlu_health", 0, uuid="B", instance="h", pod="two"),
        rules=(WELL,),
        checks=(reads(WELL, 5, (row("A", "ascend"), 1), (row("B", "cambricon"), 1)),),
    ),
    *(
        Case(
            says=f"errors of memory count for an hour, those of the pod that saw most of them: {series}",
            world=counted(series, [(30, 0), (999, 3)], [(30, 0), (999, 1)], **{label: "A"}),
            rules=(ERRORS,),
            checks=(
                reads(ERRORS, 29, (row("A", vendor), 0)),
                reads(f"round({ERRORS})", 60, (row("A", vendor), 3)),
                reads(ERRORS, 100, (row("A", vendor), 0)),
            ),
        )
        for series, vendor, label in (
            ("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "nvidia", "UUID"),
            ("mlu_ecc_uncorrected_error_total", "cambricon", "uuid"),
        )
    ),
    Case(
        says="a count of errors that DCGM cannot read any more is no error",
        world=counted("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", [(30, 0), (999, UNREADABLE)], UUID="A"),
        rules=(ERRORS,),
        checks=(absent(ERRORS, 60),),
    ),
)  # fmt: skip
