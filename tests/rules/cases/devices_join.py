"""A fourth card of a host that joins three: somebody is told all the time, of the cards or of the host."""

from support.case import Case, all_fire
from support.simulate import World

JOINS, LEAVES, ENDS = 30, 60, 90
HOST = {"instance": "host:9400", "vendor": "nvidia"}
# By alert: how long it waits, how long before that a card must be so, and what says it.
ALERTS = {
    "TritonAcceleratorThrottled": (5, 5, "device:accelerator_throttled:bool"),
    "TritonAcceleratorMemoryPressure": (10, 0, "device:accelerator_memory_used:bytes"),
}


def joins(alert):
    """Three cards for an hour and a half, and a fourth one for half an hour of it."""
    waits, before, record = ALERTS[alert]
    world = World(minutes=ENDS + waits)
    for card in range(4):
        since, until = (JOINS - before, LEAVES) if card == 3 else (1, ENDS)
        level = [(since, 0), (until, 1), (999, 0)]
        world.gauge(record, level, **HOST, device=f"card-{card}")
        world.gauge("device:accelerator_memory_total:bytes", 1, **HOST, device=f"card-{card}")
    cards = [{**HOST, "device": f"card-{card}", "severity": "warning"} for card in range(3)]
    host = {**HOST, "severity": "warning"}
    return Case(
        says=f"three cards are told until a fourth makes it an alert of the host, and after that: {alert}",
        world=world,
        rules=(alert,),
        given=(*(record for *_, record in ALERTS.values()), "device:accelerator_memory_total:bytes"),
        checks=(
            all_fire(alert, JOINS - 0.25, *cards),
            all_fire(alert, JOINS + waits - 0.25, *cards),
            all_fire(alert, JOINS + waits, host),
            all_fire(alert, LEAVES + waits - 0.25, host),
            all_fire(alert, LEAVES + waits, *cards),
            all_fire(alert, ENDS + waits - 0.25, *cards),
            all_fire(alert, ENDS + waits),
        ),
    )


CASES = tuple(map(joins, ALERTS))
