"""Sampling rates: which hold for five minutes, which requests they make due, and what an hour adds up.

Each cluster has one model on one server, whose rate one receiver of traces shows, or two do.
"""

from support.case import Case, reads
from support.simulate import World

RATE, SPANS = "tritonobs_trace_rate", "tritonobs_trace_spans_total"
STEADY = "replica_model:tritonobs_trace_rate:steady"
HIGHEST = "replica_model:tritonobs_trace_rate:max1h"
COUNTED = "replica_model:triton_requests:increase"
FAILED = "replica_model_version_reason:triton_requests_failed:increase"
DUE, DUE_OF_HOUR = (f"replica_model:triton_requests_traceable:{what}" for what in ("increase", "sum1h"))
TRACES = {"job": "tritonobs-traces"}
WHERE = {"model": "nms", "replica": "r"}
NOW, SCRAPE = 20, 0.25
LATELY, BEFORE, LONG_AGO = NOW - 4.5, NOW - 5.5, NOW - 10


def since(minute, value=1, before=None):
    """A value since a minute, and another one or none before."""
    return [(minute, before), (999, value)]


# By cluster: the rates that its receivers show, the spans of each, and the rate that held for five minutes.
RATES = {
    "always": ([7], 10, 7),
    "off": ([0], 10, None),
    "raised_lately": ([since(LATELY, 7, before=1)], 10, None),
    "raised_before": ([since(BEFORE, 7, before=1)], 10, 7),
    "raised_long_ago": ([since(LONG_AGO, 7, before=1)], 10, 7),
    "lowered_lately": ([since(LATELY, 1, before=7)], 10, None),
    "lowered_before": ([since(BEFORE, 1, before=7)], 10, 1),
    "lowered_long_ago": ([since(LONG_AGO, 1, before=7)], 10, 1),
    "known_lately": ([since(LATELY)], 10, None),
    "known_before": ([since(BEFORE)], 10, 1),
    "known_long_ago": ([since(LONG_AGO)], 10, 1),
    # Two receivers asked the server at different times.
    "agreed": ([7, 7], 10, 7),
    "different": ([1, 7], 10, None),
    "receiver_came_lately": ([1], since(LATELY), None),
    "receiver_came_before": ([1], since(BEFORE), 1),
    "receiver_came_long_ago": ([1], since(LONG_AGO), 1),
    "receiver_restarted_lately": ([1], since(LATELY, 2, before=9), None),
    "receiver_restarted_before": ([1], since(BEFORE, 2, before=9), 1),
}


def held():
    """The rates of every cluster."""
    world = World(minutes=NOW)
    for cluster, (rates, spans, _) in RATES.items():
        for number, rate in enumerate(rates):
            own = {**TRACES, "cluster": cluster, "instance": f"serve-{number}"}
            world.gauge(RATE, rate, **own, **WHERE).gauge(SPANS, spans, **own)
    rows = (
        ({**WHERE, "cluster": cluster}, rate) for cluster, (_, _, rate) in RATES.items() if rate is not None
    )
    return Case(
        says="a rate is steady that all receivers show for five minutes while none of them comes or restarts",
        world=world,
        rules=(STEADY,),
        checks=(reads(STEADY, NOW, *rows),),
    )


def moment(value, rest=0):
    """A value at one evaluation, half a minute ago."""
    return [(NOW - 2 * SCRAPE, rest), (NOW - SCRAPE, value), (999, rest)]


# By cluster: the requests completed, the failures by version and reason, the rate that is steady; and how
# many requests are due now, and were at the evaluation before.
REQUESTS = {
    "completed": (moment(20), {}, 1, 20, 0),
    "failed": (
        moment(20),
        {("1", "BACKEND"): 3, ("1", ""): 2, ("2", "BACKEND"): 4, ("2", "REJECTED"): 50},
        1,
        20 + 3 + 2 + 4,
        0,
    ),
    "failed_alone": (0, {("1", "BACKEND"): 3}, 1, 3, 0),
    "model_came": (since(NOW - 2 * SCRAPE, 20), {}, 1, 20, None),
    "unsteady": (moment(20), {}, None, None, None),
    "steady_then": (moment(20), {}, since(NOW - 2 * SCRAPE), 20, None),
    "steady_since": (moment(20), {}, since(NOW - SCRAPE), None, None),
    "steady_no_more": (moment(20), {}, [(NOW, 1), (999, None)], None, 0),
}


def due():
    """The requests of every cluster."""
    world = World(minutes=NOW)
    for cluster, (completed, failed, steady, _, _) in REQUESTS.items():
        own = {**WHERE, "cluster": cluster}
        world.gauge(COUNTED, completed, **own).gauge(STEADY, steady, **own)
        for (version, reason), value in failed.items():
            world.gauge(FAILED, moment(value, rest=None), **own, version=version, reason=reason)
    return Case(
        says="requests half a minute ago were due that succeeded or that the model failed, at a steady rate",
        world=world,
        rules=(DUE,),
        given=(COUNTED, FAILED, STEADY),
        checks=tuple(
            reads(
                DUE,
                minute,
                *(
                    ({**WHERE, "cluster": cluster}, values[place])
                    for cluster, values in REQUESTS.items()
                    if values[place] is not None
                ),
            )
            for minute, place in ((NOW, -2), (NOW - SCRAPE, -1))
        ),
    )


END = 90
# By cluster: the rates that receivers show, and the highest of the hour.
HIGH = {
    "in_the_hour": ([[(END - 55, 100), (999, 1)]], 100),
    "before_the_hour": ([[(END - 65, 100), (999, 1)]], 1),
    "of_two_receivers": ([5, 7], 7),
}


def hour():
    """Rates and requests within the hour and before it."""
    world = World(minutes=END)
    for cluster, (rates, _) in HIGH.items():
        for number, rate in enumerate(rates):
            world.gauge(RATE, rate, **TRACES, **WHERE, cluster=cluster, instance=f"serve-{number}")
    steps = ((END - 65, 0), (END - 65 + SCRAPE, 100), (END - 55, 0), (END - 55 + SCRAPE, 20), (999, 0))
    world.gauge(DUE, steps, **WHERE)
    return Case(
        says="an hour has the highest of its rates and all requests that were due in it, and none of before",
        world=world,
        rules=(HIGHEST, DUE_OF_HOUR),
        given=(DUE,),
        checks=(
            reads(HIGHEST, END, *(({**WHERE, "cluster": name}, rate) for name, (_, rate) in HIGH.items())),
            reads(DUE_OF_HOUR, END, (WHERE, 20)),
        ),
    )


CASES = (held(), due(), hour())
