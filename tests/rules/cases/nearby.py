"""Near a limit: what is said of it beside a page, and for how long the warning stays."""

from support.case import Case, all_fire, reads
from support.simulate import World

OFFERED, HELD = "subject:triton_requests_offered", "subject:tritonobs_qps_limit:held"
RATES = tuple(f"{OFFERED}:{rate}" for rate in ("irate1m", "rate1m", "mean1m", "rate5m", "mean15m"))
FIVE, FIVES = f"{OFFERED}:rate5m", f"{OFFERED}:mean5m"
BREATHS = (f"{OFFERED}:breath", f"{OFFERED}:breath5m")
WAITS, BURST = "subject:tritonobs_queue_waits:info", "subject:tritonobs_limit_burst:timestamp_seconds"
OF_MODEL, PASSED_ON = "model_version:tritonobs_limit_of_model:info", "model:tritonobs_limit_passed_on:info"
RECORD, ALERT = "subject:tritonobs_limit_near:rate", "TritonQpsNearLimit"
SINCE, SEEN = (
    "subject:tritonobs_limit_near:timestamp_seconds",
    "subject:tritonobs_limit_exceeded:timestamp_seconds",
)
KEPT, OWNER = "subject:tritonobs_limit_kept:info", "subject:tritonobs_owner:info"
PAGE = {"alertname": "TritonQpsAboveLimit", "severity": "critical", "team": "vision"}
FIRING, PENDING = {"alertstate": "firing"}, {"alertstate": "pending"}
NOW = 480
"""The minute at which the warning is asked about; scrapes are two minutes apart."""


def labelled(model):
    """The labels of a model's only version."""
    return {"model": model, "version": "1"}


def between(first, last, level=1.0):
    """A level from one minute to another."""
    return [(first, None), (last, level), (1e9, None)]


def nearness():
    """Models at nine tenths of their limits, of which some were paged for or are called by a pipeline."""
    models = ("calm", "paged-lately", "paged-before", "almost-paged", "called", "paged-in-west")
    world = World(minutes=80)
    for model in models:
        # Before its last minute there is nothing to evaluate.
        for record, level in {HELD: between(79, 99, 1000), **dict.fromkeys(RATES, 900)}.items():
            world.gauge(record, level, **labelled(model), cluster="east")
    for model, last, state, cluster in (
        ("paged-lately", 21, FIRING, "east"),
        ("paged-before", 19, FIRING, "east"),
        ("almost-paged", 75, PENDING, "east"),
        ("paged-in-west", 75, FIRING, "west"),
    ):
        world.gauge("ALERTS", between(10, last), **PAGE, **state, **labelled(model), cluster=cluster)
    world.gauge(PASSED_ON, 1, model="called", cluster="east")
    return world.gauge(PASSED_ON, 1, model="calm", cluster="west")


def warnings(says, models, *those, **common):
    """At minute 480 the alert fires for `those` of the models, and for no others.

    Unless the model or `common` says otherwise it was near its limit of 100 an hour ago, and is at 90 still.
    """
    usual = {HELD: 100, FIVE: 90, FIVES: 90, SINCE: between(400, 421, 420 * 60), OWNER: 1}
    world = World(minutes=NOW, scrape_seconds=120)
    for model, records in models.items():
        for name, level in {**usual, **common, **records}.items():
            labels = {**PAGE, **FIRING} if name == "ALERTS" else {}
            world.gauge(name, level, **labels, **labelled(model))
    return Case(
        says=says,
        world=world,
        rules=(ALERT,),
        given=(RECORD, SINCE, SEEN, KEPT, FIVE, FIVES, HELD, OWNER),
        checks=(all_fire(ALERT, NOW, *({**labelled(model), "severity": "warning"} for model in those)),),
    )


def now(levels, *checks):
    """A model that is near its limit at these levels, and nothing else is known."""
    return Case(
        says="a warning is sent after a minute, and stays for one",
        world=World(minutes=20)
        .gauge(RECORD, levels, **labelled("nms"))
        .gauge(OWNER, 1, **labelled("nms"), team="vision"),
        rules=(ALERT,),
        given=(RECORD, SINCE, SEEN, KEPT, FIVE, FIVES, HELD, OWNER),
        checks=checks,
    )


NMS = {**labelled("nms"), "team": "vision", "severity": "warning"}

CASES = (
    Case(
        says="for an hour after a page nothing is near a limit, nor what a pipeline at its own limit calls",
        world=nearness(),
        rules=(RECORD,),
        given=(*RATES, *BREATHS, HELD, WAITS, BURST, OF_MODEL, PASSED_ON),
        checks=(
            reads(
                RECORD,
                80,
                *(
                    ({**labelled(model), "cluster": "east"}, 900)
                    for model in ("calm", "paged-before", "almost-paged", "paged-in-west")
                ),
            ),
        ),
    ),
    now(
        [(10, None), (15, 90), (99, None)],
        all_fire(ALERT, 10.75),
        all_fire(ALERT, 11, NMS),
        all_fire(ALERT, 15.5, NMS),
        all_fire(ALERT, 16.5),
    ),
    warnings(
        "a warning stays for six hours, while five minutes of the last hour were at nine tenths of it",
        {
            "stays": {},
            "long-ago": {SINCE: between(60, 111, 110 * 60)},
            "not-so-long": {SINCE: between(60, 125, 124 * 60)},
            "never": {SINCE: None},
            "fell": {FIVES: 71},
            "fell-before": {FIVES: [(411, 90), (999, 71)]},
            "fell-lately": {FIVES: [(425, 90), (999, 71)]},
            "hardly-fell": {FIVES: 73},
            "gone": {FIVE: [(470, 90), (999, None)]},
        },
        *("stays", "not-so-long", "fell-lately", "hardly-fell"),
    ),
    warnings(
        "a warning ends when the limit is exceeded, and is said again when traffic comes near it after that",
        {
            "before": {SEEN: between(300, 381, 380 * 60)},
            "then": {SEEN: between(300, 421, 420 * 60)},
            "since": {SEEN: between(400, 431, 430 * 60)},
            "now": {SEEN: between(400, 431, 430 * 60), RECORD: 90},
        },
        *("before", "then", "now"),
    ),
    warnings(
        "a warning ends when an overflow goes on behind a full queue, for six hours",
        {"queue": {KEPT: between(200, 241)}, "queue-before": {KEPT: between(60, 111)}},
        "queue-before",
    ),
    warnings(
        "a warning ends for an hour with a page",
        {"paged": {"ALERTS": between(300, 431)}, "paged-before": {"ALERTS": between(300, 411)}},
        "paged-before",
    ),
    warnings(
        "what was near a limit or above it more than six hours ago is compared with nothing",
        {
            "exceeded": {SEEN: [(60, 99), (999, None)], SINCE: 5},
            "near": {SEEN: 7, SINCE: [(60, 9), (999, 5)]},
        },
        "exceeded",
    ),
)
