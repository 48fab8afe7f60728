"""Cards of a host: three are told each and four are told once, and which of them count.

Each host is told by itself.
"""

from support.case import Case, all_fire
from support.simulate import World

FAULT, SLOWED, FULL = (
    "TritonAcceleratorFault",
    "TritonAcceleratorThrottled",
    "TritonAcceleratorMemoryPressure",
)
CODE, HEALTHY, BROKEN = (
    "device:accelerator_fault:code",
    "device:accelerator_healthy:bool",
    "device:accelerator_ecc_uncorrected:increase1h",
)
THROTTLED, CLOCK, BUSY = (
    "device:accelerator_throttled:bool",
    "device:accelerator_clock:hertz",
    "device:accelerator_utilization:ratio",
)
USED, TOTAL = "device:accelerator_memory_used:bytes", "device:accelerator_memory_total:bytes"
NOW, HOUR = 40, 60
LATER = 27 * HOUR
HOST, NONE = "host", ()
PROGRAM_ERRORS = (13, 31, 43, 45)


def coded(code, since=NOW - 5):
    """A card whose last error got this code at a minute."""
    return {CODE: [(since, 0), (9999, code)]}


def slow_chip(since, busy=0.51, ratio=0.79):
    """A chip that has so much of its clock since a minute, and is so busy."""
    return {CLOCK: [(since, 1.8e9), (9999, ratio * 1.8e9)], BUSY: busy}


SICK, WELL = {HEALTHY: [(NOW - 5, 1), (9999, 0)]}, {HEALTHY: 1}
WITH_ERRORS, WITHOUT_ERRORS = {BROKEN: [(NOW - 5, 0), (9999, 1)]}, {BROKEN: 0}
# By host: its cards, and which of them are told: the places of some, or the host.
FAULTS = {
    "first-codes": ([coded(1)] * 4, HOST),
    "three-codes": ([coded(1)] * 3, (0, 1, 2)),
    **{f"code-{code}": ([coded(79), *[coded(code)] * 3], (0,)) for code in PROGRAM_ERRORS},
    **{f"only-code-{code}": ([coded(code)] * 4, NONE) for code in PROGRAM_ERRORS},
    "half-an-hour-ago": ([coded(79), *[coded(79, NOW - 30)] * 3], (0,)),
    "sick": ([SICK] * 4, HOST),
    "one-sick": ([SICK, *[WELL] * 4], (0,)),
    "memory": ([WITH_ERRORS] * 4, HOST),
    "one-memory": ([WITH_ERRORS, *[WITHOUT_ERRORS] * 4], (0,)),
    "several": ([coded(79), coded(7), SICK, WITH_ERRORS], HOST),
    "two-of-one-card": ([coded(79) | SICK | WITH_ERRORS, coded(7), SICK], (0, 1, 2)),
}
HOT_FOR_12, HOT_FOR_8 = ({THROTTLED: [(NOW - minutes, 0), (9999, 1)]} for minutes in (12, 8))
THROTTLES = {
    "four": ([HOT_FOR_12] * 4, HOST),
    "three": ([HOT_FOR_12] * 3, (0, 1, 2)),
    "not-yet": ([HOT_FOR_8] * 4, NONE),
    "one": ([HOT_FOR_12, *[{THROTTLED: 0}] * 4], (0,)),
}
LATELY, LONG_AGO = LATER - HOUR, LATER - 25 * HOUR
CHIPS = {
    "four": ([slow_chip(LATELY)] * 4, HOST),
    "three": ([slow_chip(LATELY)] * 3, (0, 1, 2)),
    "fast-enough": ([slow_chip(LATELY), *[slow_chip(LATELY, ratio=0.81)] * 3], (0,)),
    "half-busy": ([slow_chip(LATELY), *[slow_chip(LATELY, busy=0.5)] * 3], (0,)),
    "slow-for-days": ([slow_chip(LATELY), *[slow_chip(LONG_AGO)] * 3], (0,)),
}
NEARLY_FULL, NOT_YET = {USED: 98e9, TOTAL: 100e9}, {USED: 96e9, TOTAL: 100e9}
MEMORIES = {
    "four": ([NEARLY_FULL] * 4, HOST),
    "three": ([NEARLY_FULL] * 3, (0, 1, 2)),
    "one": ([NEARLY_FULL, *[NOT_YET] * 3], (0,)),
}


def of_hosts(says, alert, hosts, given, *, vendor="nvidia", now=NOW, **options):
    """All hosts of a table side by side, and what is told of each."""
    world, told = World(minutes=now, **options), []
    for host, (cards, which) in hosts.items():
        own = {"instance": f"{host}:9400", "vendor": vendor}
        for place, card in enumerate(cards):
            for name, level in card.items():
                world.gauge(name, level, **own, device=f"{host}-{place}")
        if which == HOST:
            told.append(own)
        else:
            told += [{**own, "device": f"{host}-{place}"} for place in which]
    return Case(
        says=says,
        world=world,
        rules=(alert,),
        given=given,
        checks=(all_fire(alert, now, *({**labels, "severity": "warning"} for labels in told)),),
    )


CASES = (
    of_hosts(
        "four cards of a host with faults are told once, without errors of programs and old codes",
        FAULT,
        FAULTS,
        (CODE, HEALTHY, BROKEN),
    ),
    of_hosts(
        "four cards of a host that slow down are told once after ten minutes, and three are told each",
        SLOWED,
        THROTTLES,
        (THROTTLED, CLOCK, BUSY),
    ),
    of_hosts(
        "four chips of a host are told once that are slower under load than they were within a day",
        SLOWED,
        CHIPS,
        (THROTTLED, CLOCK, BUSY),
        vendor="ascend",
        now=LATER,
        scrape_seconds=300,
    ),
    of_hosts(
        "four cards of a host whose memory is nearly full are told once, and three are told each",
        FULL,
        MEMORIES,
        (USED, TOTAL),
        now=11,
    ),
)
