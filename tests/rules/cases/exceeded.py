"""Rates that exceed a limit, or four fifths of it: at once where they are far above it, later the less.

Limits here are of 1, where chance decides, and of 100, where it does not. Rates that are not asked about are
a hair above the limit.
"""

from typing import NamedTuple

from support.case import Case, reads
from support.simulate import World

OFFERED, HELD = "subject:triton_requests_offered", "subject:tritonobs_qps_limit:held"
HOT, RATE, MINUTE = f"{OFFERED}:irate1m", f"{OFFERED}:rate1m", f"{OFFERED}:mean1m"
FIVE, QUARTER = f"{OFFERED}:rate5m", f"{OFFERED}:mean15m"
BREATH, BREATH5M = f"{OFFERED}:breath", f"{OFFERED}:breath5m"
WAITS, BURST = "subject:tritonobs_queue_waits:info", "subject:tritonobs_limit_burst:timestamp_seconds"
OF_MODEL, PASSED_ON = "model_version:tritonobs_limit_of_model:info", "model:tritonobs_limit_passed_on:info"
EXCEEDED, NEAR = "subject:tritonobs_limit_exceeded:rate", "subject:tritonobs_limit_near:rate"
GIVEN = (HELD, HOT, RATE, MINUTE, FIVE, QUARTER, BREATH, BREATH5M, WAITS, BURST, OF_MODEL, PASSED_ON)
# Limits of which a share is 1 and 100, by what compares traffic with that share.
SHARES = {EXCEEDED: 1, NEAR: 1.25}


class Edge(NamedTuple):
    """Rates of which the lower one does not exceed the limit, and the upper one does."""

    lower: float
    upper: float
    limit: float = 100
    breaths: tuple[float, float] | None = None
    waits: bool = False


def subject(world, model, limit, share, levels, **labels):
    """A model with a limit, and the rates of it that are given; the others are a hair above the limit.

    The limit is there for the last minute: before that there is nothing to evaluate.
    """
    rates = dict.fromkeys((HOT, RATE, MINUTE, FIVE, QUARTER), limit * 1.001) | levels
    for record, level in {HELD: [(world.minutes - 1, None), (999, limit * share)], **rates}.items():
        world.gauge(record, level, **labels, model=model, version="1")


def edges(window, carrier, rows, *, dips=False):
    """Of each row the upper rate alone is more than the limit allows in this window.

    `carrier` is the record that the window is of. One that `dips` is at the rate once, a minute ago.
    """
    for record, share in SHARES.items():
        world, expected = World(minutes=10), []
        for name, row in rows.items():
            for side, rate in (("lower", row.lower), ("upper", row.upper)):
                model = f"{name}-{side}"
                top = row.limit * (3 if row.limit == 1 else 1.3)
                levels = {carrier: [(9, top), (9.25, rate), (99, top)] if dips else rate}
                if row.breaths:
                    levels |= dict(zip((BREATH, BREATH5M), row.breaths, strict=True))
                levels |= {WAITS: 1} if row.waits else {}
                subject(world, model, row.limit, share, levels)
            expected.append({"model": f"{name}-upper", "version": "1"})
        yield Case(
            says=f"{window}: {record}",
            world=world,
            rules=(record,),
            given=GIVEN,
            checks=(reads(f"0 * {record} + 1", 10, *((labels, 1) for labels in expected)),),
        )


def lasting(says, models, *those, minutes=10):
    """Of the models, with what is offered to them by a limit of 100, those exceed it."""
    for record, share in SHARES.items():
        world = World(minutes=minutes)
        for model, levels in models.items():
            subject(world, model, 100, share, levels)
        yield Case(
            says=f"{says}: {record}",
            world=world,
            rules=(record,),
            given=GIVEN,
            checks=(
                reads(
                    f"0 * {record} + 1", minutes, *(({"model": model, "version": "1"}, 1) for model in those)
                ),
            ),
        )


def since(minute, rate):
    """At the limit until a minute, and then at a rate."""
    return [(minute, 100), (999, rate)]


def but(minute, rate):
    """At a rate, but for one scrape at the limit."""
    return [(minute, rate), (minute + 0.25, 100), (999, rate)]


def once(minute):
    """A burst that was seen at a minute."""
    return [(minute, None), (minute + 0.25, 1), (999, None)]


CASES = (
    *edges(
        "in a minute half again the limit exceeds it, or more than chance and breath explain",
        RATE,
        {
            "chance": Edge(1.85, 1.86, limit=1),
            "floor": Edge(149, 151),
            "calm": Edge(149, 151, breaths=(1, 1)),
            "breath": Edge(159, 161, breaths=(10, 10)),
            "most-breath": Edge(3.59, 3.65, limit=1, breaths=(0.5, 0)),
            "too-much-breath": Edge(3.7, 3.72, limit=1, breaths=(10, 10)),
            "queue": Edge(159, 161, breaths=(10, 10), waits=True),
        },
    ),
    *edges(
        "in two and a half minutes a tenth more exceeds a limit, or more than chance and breath explain",
        MINUTE,
        {
            "chance": Edge(1.385, 1.4, limit=1),
            "floor": Edge(109, 111),
            "calm": Edge(109, 111, breaths=(1, 1)),
            "breath": Edge(133, 135, breaths=(10, 10)),
            "most-breath": Edge(2.42, 2.43, limit=1, breaths=(0.25, 0.355)),
            "too-much-breath": Edge(2.43, 2.45, limit=1, breaths=(10, 10)),
            "queue": Edge(103.6, 103.8, breaths=(10, 10), waits=True),
        },
    ),
    *edges(
        "the least of them may be a fifth nearer to the limit",
        MINUTE,
        {
            "chance": Edge(1.31, 1.32, limit=1),
            "floor": Edge(107.9, 108.1),
            "calm": Edge(107.9, 108.1, breaths=(1, 1)),
            "breath": Edge(122, 122.2, breaths=(6, 10)),
            "most-breath": Edge(2.13, 2.145, limit=1, breaths=(0.25, 0.355)),
            "too-much-breath": Edge(2.14, 2.16, limit=1, breaths=(10, 10)),
            "queue": Edge(102.9, 103, breaths=(10, 10), waits=True),
        },
        dips=True,
    ),
    *edges(
        "in nine minutes a twentieth more exceeds a limit, or more than chance and breath explain",
        FIVE,
        {
            "chance": Edge(1.176, 1.18, limit=1),
            "floor": Edge(104.9, 105.1),
            "calm": Edge(104.9, 105.1, breaths=(50, 1)),
            "breath": Edge(124, 126, breaths=(0, 10)),
            "most-breath": Edge(1.762, 1.765, limit=1, breaths=(0, 0.22825)),
            "too-much-breath": Edge(1.766, 1.768, limit=1, breaths=(0, 10)),
            "queue": Edge(101.7, 101.8, breaths=(0, 10), waits=True),
        },
    ),
    *edges(
        "in a quarter of an hour a thirtieth more exceeds a limit, or more than chance and breath explain",
        QUARTER,
        {
            "chance": Edge(1.136, 1.138, limit=1),
            "floor": Edge(102.9, 103.1),
            "calm": Edge(102.9, 103.1, breaths=(50, 1)),
            "breath": Edge(112.9, 113.1, breaths=(0, 10)),
            "most-breath": Edge(1.533, 1.534, limit=1, breaths=(0, 0.244)),
            "more-breath": Edge(1.534, 1.6, limit=1, breaths=(0, 0.28)),
            "too-much-breath": Edge(1.534, 1.536, limit=1, breaths=(0, 10)),
            "queue": Edge(101.3, 101.4, breaths=(0, 10), waits=True),
        },
    ),
    *lasting(
        "what exceeds a limit in a minute did so at each of the last three scrapes",
        {
            "three": {RATE: 200, HOT: since(9.4, 200)},
            "two": {RATE: 200, HOT: since(9.6, 200)},
            "before": {RATE: 200, HOT: but(9.75, 200)},
            "over": {RATE: 200, HOT: but(10, 200)},
        },
        "three",
    ),
    *lasting(
        "what exceeds a limit in two and a half minutes did so then, and does so now",
        {
            "lately": {MINUTE: since(8.4, 120)},
            "later": {MINUTE: since(8.6, 120)},
            "over": {MINUTE: 120, RATE: 100},
        },
        "lately",
    ),
    *lasting(
        "what exceeds a limit in nine minutes did so for four of them, and does so now",
        {
            "lately": {FIVE: since(5.9, 110)},
            "later": {FIVE: since(6.1, 110)},
            "dipped": {FIVE: but(8, 110)},
            "over": {FIVE: 110, MINUTE: 100},
        },
        "lately",
    ),
    *lasting(
        "what exceeds a limit in a quarter of an hour does so now",
        {"now": {QUARTER: 104}, "over": {QUARTER: 104, MINUTE: 100}},
        "now",
    ),
    *lasting(
        "after bursts of more than ten minutes ago it takes a minute, not three scrapes",
        {
            "calm": {RATE: 200, HOT: since(29.4, 200)},
            "bursts": {RATE: 200, HOT: since(29.4, 200), BURST: once(10)},
            "bursts-and-more": {RATE: 200, HOT: since(28.9, 200), BURST: once(10)},
            "bursts-now": {RATE: 200, HOT: since(29.4, 200), BURST: once(25)},
        },
        *("calm", "bursts-and-more", "bursts-now"),
        minutes=30,
    ),
    *lasting(
        "bursts of more than three hours ago are forgotten",
        {
            "bursts": {RATE: 200, HOT: since(199.4, 200), BURST: once(15)},
            "bursts-before": {RATE: 200, HOT: since(199.4, 200), BURST: once(5)},
        },
        "bursts-before",
        minutes=200,
    ),
    *lasting(
        "what is so of the only version is said of its model",
        {"model": {RATE: 200}, "version": {RATE: 200, OF_MODEL: 1}},
        "model",
    ),
)
