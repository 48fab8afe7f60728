"""How much traffic breathes, by what it was offered: how far it falls, beyond what it falls all the time."""

from support.case import Case, reads
from support.simulate import World

HELD = "subject:tritonobs_qps_limit:held"
OFFERED = "subject:triton_requests_offered"
NMS, OCR = {"model": "nms", "version": ""}, {"model": "ocr", "version": ""}
EACH = (("breath", "rate1m", 1.5), ("breath5m", "rate5m", 10))
"""Breath, the rate that it is of, and how many minutes apart two of them are."""


def steps(name, rate, apart):
    """How far it fell or grew since some minutes ago, where there is a limit."""
    world = World(minutes=40).gauge(f"{OFFERED}:{rate}", [(20, 5), (999, 8)], **NMS)
    world.gauge(f"{OFFERED}:{rate}", 3, **OCR).gauge(HELD, 9, **NMS)
    record = f"{OFFERED}:{name}_step"
    return Case(
        says=f"a step is what the rate grew by within {apart:g} minutes, where there is a limit: {record}",
        world=world,
        rules=(record,),
        given=(f"{OFFERED}:{rate}", HELD),
        checks=(
            reads(record, 19, ({"model": "nms"}, 0)),
            reads(record, 20 + apart - 0.5, ({"model": "nms"}, 3)),
            reads(record, 20 + max(apart, 2), ({"model": "nms"}, 0)),
        ),
    )


def breaths(name, before, after, *checks, minutes, says):
    """Steps of before and after three hours ago, and what they make."""
    record, step = f"{OFFERED}:{name}", f"{OFFERED}:{name}_step"
    world = World(minutes=minutes, scrape_seconds=120)
    return Case(
        says=f"{says}: {record}",
        world=world.gauge(step, before + after, **NMS),
        rules=(record,),
        given=(step,),
        checks=tuple(check(record) for check in checks),
    )


def falling(begin, end, by, always=0.0):
    """Four steps of ten that fall by so much, beside what all of them grow by."""
    return [
        (minute + 2, always - by if (minute // 2) % 10 < 4 else always) for minute in range(begin, end, 2)
    ]


CASES = tuple(
    case
    for name, rate, apart in EACH
    for case in (
        steps(name, rate, apart),
        breaths(
            name,
            falling(0, 780, 2.0),
            falling(780, 960, 1.0, 1.0),
            lambda record: reads(record, 778, ({"model": "nms"}, 2)),
            lambda record: reads(record, 958, ({"model": "nms"}, 2)),
            minutes=960,
            says="the worst fifth of half a day counts, where three hours were calmer",
        ),
        breaths(
            name,
            falling(0, 780, 1.0),
            falling(780, 960, 2.0, 1.0),
            lambda record: reads(record, 778, ({"model": "nms"}, 1)),
            lambda record: reads(record, 958, ({"model": "nms"}, 2)),
            minutes=960,
            says="three hours count, where half a day was calmer",
        ),
        breaths(
            name,
            falling(0, 900, 5.0, -2.0),
            falling(900, 1624, 1.0, 1.0),
            lambda record: reads(record, 800, ({"model": "nms"}, 5)),
            lambda record: reads(record, 1622, ({"model": "nms"}, 1)),
            minutes=1624,
            says="what was before half a day does not",
        ),
        *(
            breaths(
                name,
                [(1440, by)],
                [*falling(1440, 1980, 1.0), *falling(1980, 2160, 2.0, 1.0)],
                lambda record: reads(record, 2158, ({"model": "nms"}, 2)),
                minutes=2160,
                says=f"three hours are compared with half a day alone, not with a day of {by:+g} before",
            )
            for by in (5.0, -5.0)
        ),
    )
)
