"""Queues of subjects with a limit: which are full, when one drained, and overflows that go on behind one."""

from support.case import Case, absent, reads
from support.simulate import World

HELD, PENDING, ANSWERED = (
    "subject:tritonobs_qps_limit:held",
    "subject:triton_requests_pending:sum",
    "subject:triton_requests:rate1m",
)
ANSWERED_SLOWLY, HOT = "subject:triton_requests:rate4m", "subject:triton_requests_offered:irate1m"
SEEN, BURST = (
    "subject:tritonobs_limit_exceeded:timestamp_seconds",
    "subject:tritonobs_limit_burst:timestamp_seconds",
)
DRAINED, WAITS = "subject:tritonobs_queue_drained:timestamp_seconds", "subject:tritonobs_queue_waits:info"
KEPT, OF_MODEL = "subject:tritonobs_limit_kept:info", "model_version:tritonobs_limit_of_model:info"
OF_VERSION = "model_version:triton_requests_pending:sum"
NOW, DAY = 30, 24 * 60

# Queues at minute 30, of models that answer ten a second.
FULL = {
    "few": 4,
    "rose": [(29.9, 0), (99, 20)],
    "fell": [(28.9, 0), (29.9, 20), (99, 12)],
    "rose-after-more": [(10, 100), (29.9, 0), (99, 20)],
    "fell-after-more": [(10, 100), (28.9, 0), (29.9, 20), (99, 12)],
    "three-quarters": [(25, 100), (99, 75)],
}
FREE = {
    "none": 0,
    "one": 1,
    "drains": [(25, 100), (99, 74)],
}


def labelled(model):
    """The labels of a model's only version."""
    return {"model": model, "version": "1"}


def each(says, record, models, *checks, minutes=NOW, scrape_seconds=15):
    """The record of models, of what is given of each of them."""
    world = World(minutes=minutes, scrape_seconds=scrape_seconds)
    for model, records in models.items():
        for name, level in records.items():
            world.gauge(name, level, **labelled(model))
    given = {HELD, SEEN, BURST, DRAINED, OF_MODEL, *(name for records in models.values() for name in records)}
    given -= {record}
    return Case(says=says, world=world, rules=(record,), given=tuple(sorted(given)), checks=checks)


def of(record, minute, **values):
    """The record has these values at this minute, by the model, and no others."""
    return reads(
        record, minute, *((labelled(model.replace("_", "-")), value) for model, value in values.items())
    )


def info(record, minute, *models):
    """The record is 1 for these models at this minute, and for no others."""
    return reads(record, minute, *((labelled(model), 1) for model in models))


def kept(says, models, *those, **common):
    """At minute 30 the overflows of `those` of the models go on, and of no others.

    Eight requests wait and ten a second are answered, unless the model or `common` says otherwise.
    """
    usual = {PENDING: 8, ANSWERED: 10, **common}
    return each(
        says, KEPT, {model: usual | records for model, records in models.items()}, info(KEPT, NOW, *those)
    )


LATELY = {ANSWERED: [(29, 1), (99, 10)], HELD: 12}
"""Ten a second are four fifths of this limit, for a minute."""

CASES = (
    Case(
        says="a queue is of a version, of a model over its versions and of a cluster, where there is a limit",
        world=World(minutes=1)
        .gauge(OF_VERSION, 3, cluster="east", model="nms", version="1")
        .gauge(OF_VERSION, 4, cluster="east", model="nms", version="2")
        .gauge(OF_VERSION, 6, cluster="east", model="ocr", version="1")
        .gauge(OF_VERSION, 5, cluster="west", model="nms", version="1")
        .gauge(HELD, 9, cluster="east", model="nms", version="1")
        .gauge(HELD, 9, cluster="east", model="nms")
        .gauge(HELD, 9, cluster="west", model="nms")
        .gauge(HELD, 9, cluster="east"),
        rules=(PENDING,),
        given=(OF_VERSION, HELD),
        checks=(
            reads(
                PENDING,
                1,
                ({"cluster": "east", "model": "nms", "version": "1"}, 3),
                ({"cluster": "east", "model": "nms"}, 7),
                ({"cluster": "west", "model": "nms"}, 5),
                ({"cluster": "east"}, 13),
            ),
        ),
    ),
    each(
        "requests wait where two are there all the time, and more than come in a tenth of a second",
        WAITS,
        {
            "two": {PENDING: 2, ANSWERED: 19},
            "tenth": {PENDING: 2, ANSWERED: 20},
            "one": {PENDING: 1, ANSWERED: 1},
            "many": {PENDING: 50, ANSWERED: 499},
            "paused": {PENDING: [(29, 50), (29.25, 1), (99, 50)], ANSWERED: 10},
            "lately": {PENDING: [(28.75, 50), (29, 50), (99, 40)], ANSWERED: 10},
        },
        of(WAITS, NOW, two=2, many=50, lately=40),
    ),
    each(
        "a burst is half again a limit between two scrapes, and more than chance makes of a small one",
        BURST,
        {
            # Of a limit of 100 chance explains 111.9, of 1 it explains 2.432.
            "half-again": {HELD: 100, HOT: 151},
            "less": {HELD: 100, HOT: 149},
            "no-chance": {HELD: 1, HOT: 2.44},
            "chance": {HELD: 1, HOT: 2.42},
            "unlimited": {HOT: 500},
        },
        of(BURST, NOW, half_again=1800, no_chance=1800),
    ),
    each(
        "a queue is full while it is at three quarters of its most, now or in the last minute",
        DRAINED,
        {model: {PENDING: level, ANSWERED: 10, SEEN: 600} for model, level in {**FULL, **FREE}.items()},
        of(DRAINED, NOW, **dict.fromkeys(FREE, 1800)),
    ),
    each(
        "a queue that is worked off within a tenth of a second is not full",
        DRAINED,
        {
            "sooner": {PENDING: 8, ANSWERED: 80, SEEN: 600},
            "later": {PENDING: 8, ANSWERED: 79, SEEN: 600},
        },
        of(DRAINED, NOW, sooner=1800),
    ),
    each(
        "when a queue drained matters of overflows and bursts alone, for a day",
        DRAINED,
        {
            "overflow": {PENDING: 0, ANSWERED_SLOWLY: 10, SEEN: [(60, 5), (9e9, None)]},
            "burst": {PENDING: 0, ANSWERED_SLOWLY: 10, BURST: [(60, 5), (9e9, None)]},
            "neither": {PENDING: 0, ANSWERED_SLOWLY: 10},
        },
        of(DRAINED, DAY - 40, overflow=(DAY - 40) * 60, burst=(DAY - 40) * 60),
        absent(DRAINED, DAY + 90),
        minutes=DAY + 90,
        scrape_seconds=120,
    ),
    kept(
        "an overflow goes on while the queue behind it is full",
        {model: {PENDING: level} for model, level in {**FULL, **FREE}.items()},
        *FULL,
        **{SEEN: 600},
    ),
    kept(
        "a queue that is worked off within a tenth of a second keeps no overflow",
        {"sooner": {ANSWERED: 80}, "later": {ANSWERED: 79}},
        "later",
        **{SEEN: 600},
    ),
    kept(
        "a full queue alone is no overflow",
        {"small": {}, "limited": {HELD: 12.5}},
    ),
    kept(
        "an overflow ends when its queue drains, at the same moment or later",
        {
            "before": {DRAINED: 599},
            "then": {DRAINED: 600},
            "later": {DRAINED: 601},
            "never": {},
        },
        *("before", "never"),
        **{SEEN: 600},
    ),
    kept(
        "so does what a burst began",
        {
            "before": {DRAINED: 599},
            "then": {DRAINED: 600},
            "later": {DRAINED: 601},
            "never": {},
        },
        *("before", "never"),
        **{BURST: 600, **LATELY},
    ),
    kept(
        "a queue that a burst filled is an overflow after two minutes, at four fifths of the limit",
        {
            "early": {BURST: 1680},
            "late": {BURST: 1679},
            "calm": {BURST: 600, HELD: 12.5},
            "busy": {BURST: 600, HELD: 12.4},
        },
        *("late", "busy"),
        **LATELY,
    ),
    kept(
        "a queue that stands for five minutes at four fifths of the limit is an overflow without a burst",
        {
            "stands": {PENDING: [(24.9, 0), (99, 8)], ANSWERED: [(24.9, 1), (99, 10)]},
            "few": {PENDING: [(24.9, 0), (99, 4)]},
            "shorter": {PENDING: [(26, 0), (99, 8)]},
            "paused": {PENDING: [(28, 8), (28.25, 1), (99, 8)]},
            "quick": {PENDING: [(28, 8), (28.25, 2), (99, 8)], ANSWERED: 21, HELD: 25},
            "slow": {PENDING: [(28, 8), (28.25, 2), (99, 8)], ANSWERED: 19, HELD: 23},
            "calm": {HELD: 12.5},
            "calmer-before": {ANSWERED: [(26, 1), (99, 10)]},
            "calmer-once": {ANSWERED: [(27, 10), (27.25, 9.5), (99, 10)]},
        },
        *("stands", "few", "slow"),
        **{HELD: 12},
    ),
    kept(
        "an overflow of the only version is one of its model",
        {"version": {OF_MODEL: 1}, "model": {}},
        "model",
        **{SEEN: 600},
    ),
    each(
        "overflows, bursts and drained queues are forgotten after a day",
        KEPT,
        {
            f"{name}-{kind}": {
                PENDING: 8,
                # Shortly before each question fewer were answered: the queue does not count by itself.
                ANSWERED_SLOWLY: [(DAY - 43, 10), (DAY - 41, 1), (DAY + 87, 10), (DAY + 89, 1), (9e9, 10)],
                HELD: 12,
                **levels,
            }
            for name, event in (("overflow", SEEN), ("burst", BURST))
            for kind, levels in (
                ("old", {event: [(60, 5), (9e9, None)]}),
                ("drained", {event: 5, DRAINED: [(60, 6), (9e9, None)]}),
                ("twice", {event: [(60, 9), (9e9, 5)], DRAINED: 6}),
            )
        },
        info(KEPT, DAY - 40, "overflow-old", "overflow-twice", "burst-old", "burst-twice"),
        info(KEPT, DAY + 90, "overflow-drained", "burst-drained"),
        minutes=DAY + 90,
        scrape_seconds=120,
    ),
)
