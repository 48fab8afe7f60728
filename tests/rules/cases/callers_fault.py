"""What is the caller's fault is neither timed nor in time, by workers and by traces; what traces forget."""

from support.case import WRITTEN, Case, reads
from support.simulate import World

BOUND = "model_stage_le:tritonobs_latency_bound:info"
GREW = "worker_stage_le:tritonobs_stage_duration_seconds_bucket:increase"
TIMED = "model_version_stage_le:tritonobs_requests_timed:increase"
IN_TIME = "model_version_stage_le:tritonobs_requests_in_time:increase"
SEEN = "replica_model_version_seen_by:triton_requests_bad:increase"
BAD = "model_version:triton_requests_bad:increase"
TOLD = "replica_model_version_outcome:tritonobs_requests_told:increase"
DONE, CHARGED = "model_version:triton_requests:increase", "subject_slo:tritonobs_slo_invalid_charged:held"
COUNTED = "worker_stage_le:tritonobs_stage_duration_seconds_bucket:last"
VALID, OF_SLO = "slo:sli_valid_requests:increase", "slo:sli_bad_requests:increase"
GIVEN = (GREW, SEEN, BAD, TOLD, BOUND)
BUCKETS, ANSWERED = "tritonobs_trace_duration_seconds_bucket", "tritonobs_trace_requests_total"
SPANS = "tritonobs_trace_spans_total"
TRACES = {"job": "tritonobs-traces"}
# A counter, by what its model is called, and what came at minute 80. Its receiver has the name of the model.
COUNTERS = {
    "steps": ([(80, 40), (99, 100)], 60),
    "rests": (100, 0),
    "resets": ([(80, 90), (99, 20)], 20),
    "comes_late": ([(80, None), (99, 30)], 30),
    "away_for_minutes": ([(75, 40), (80, None), (99, 90)], 50),
    "away_for_hours": ([(5, 40), (80, None), (99, 90)], 90),
    "goes": ([(79.5, 40), (99, None)], None),
    "new": ([(80, None), (99, 70)], None),
    "new_again": ([(5, 40), (80, None), (99, 90)], None),
}
# Receivers that were not there all the time.
RECEIVERS = {
    "new": [(80, None), (99, 1)],
    "new_again": [(5, 1), (80, None), (99, 1)],
}


def of(model):
    """Labels of the only version of a model."""
    return {"model": model, "version": "1"}


def traces(*, failed):
    """Traced requests, all of which are in time.

    `failed` adds failures of every model: three that it told, two that Triton counted, of which four are bad
    and one was the caller's fault; and three requests more that it called invalid.
    """
    world = World(minutes=90)
    rows = [(model, model, levels, levels) for model, (levels, _) in COUNTERS.items()]
    # A counter that comes a scrape after its receiver.
    rows.append(("second", "new", *2 * ([(80.25, None), (99, 60)],)))
    # A receiver that knows no bound any more, and one that knows no requests any more.
    rows += [("no_bound", "steps", [(79.5, 40), (99, None)], [(80, 40), (99, 100)])]
    rows += [("no_request", "steps", [(80, 40), (99, 100)], [(79.5, 40), (99, None)])]
    # Two receivers of one model.
    rows += [("two", one, *2 * ([(80, 40), (99, value)],)) for one, value in (("steps", 50), ("rests", 60))]
    for model, instance, within, every in rows:
        own = {**TRACES, **of(model), "instance": instance}
        world.gauge(BUCKETS, within, **own, phase="request", le="0.5")
        for outcome in ("ok", "error"):
            world.gauge(ANSWERED, every, **own, outcome=outcome)
        world.gauge(BOUND, 1, model=model, stage="traces:request", le="0.5")
        if failed:
            for who, value in (("model", 3), ("triton", 2)):
                world.gauge(SEEN, value, **of(model), replica="r", seen_by=who)
            world.gauge(TOLD, 3, **of(model), replica="r", outcome="invalid")
            world.gauge(BAD, 4, **of(model))
    for instance in COUNTERS:
        world.gauge(SPANS, RECEIVERS.get(instance, 1), **TRACES, instance=instance)
    return world


def told(record, minute, less=0, **values):
    """What came at this minute, model by model, `less` those that do not count."""
    labels = {"stage": "traces:request", "le": "0.5"}
    return reads(
        record,
        minute + WRITTEN,
        *(({**of(model), **labels}, value - less) for model, value in values.items()),
    )


def of_traces(*, failed):
    """What traces timed, with requests that failed or without."""
    came = {model: value for model, (_, value) in COUNTERS.items() if value is not None} | {"two": 30}
    quiet = dict.fromkeys((*came, "new", "new_again"), 0)
    # Of no model without a counter of its requests is known whether they were timed.
    at_all, no_more = ({"no_request": 60}, {"no_request": 0}) if failed else ({}, {})
    invalid, bad = (3 + (3 + 2) - 4, 4) if failed else (0, 0)
    return Case(
        says="what traces timed counts for an hour, without "
        + ("what is the caller's fault" if failed else "failures"),
        world=traces(failed=failed),
        rules=(TIMED, IN_TIME),
        given=GIVEN,
        checks=tuple(
            check
            for minute, values, more in (
                (80, came, at_all),
                (80.25, quiet | {"second": 60}, no_more),
                (80.5, quiet | {"second": 0}, no_more),
            )
            for check in (
                told(TIMED, minute, invalid, **{model: 2 * value for model, value in values.items()}),
                told(IN_TIME, minute, invalid + bad, **values, **more),
            )
        ),
    )


def of_workers():
    """A server with failures of both kinds and invalid requests, one with invalid ones, and a calm one."""
    world = World(minutes=3)
    for replica in ("both", "invalid", "calm"):
        for stage in ("total", "decode"):
            own = {**of("nms"), "replica": replica, "worker": "w", "stage": stage}
            world.gauge(GREW, 5, **own, le="0.5").gauge(GREW, 10, **own, le="+Inf")
    for who, value in (("model", 1), ("triton", 2)):
        world.gauge(SEEN, value, **of("nms"), replica="both", seen_by=who)
    for replica, value in (("both", 3), ("invalid", 4)):
        world.gauge(TOLD, value, **of("nms"), replica=replica, outcome="invalid")

    def rows(total, decode):
        return [
            ({**of("nms"), "stage": stage, "le": le}, value)
            for stage, values in (("total", total), ("decode", decode))
            for le, value in zip(("0.5", "+Inf"), values, strict=True)
        ]

    return Case(
        says="requests that a model called invalid are none that it timed, on the server where it did so",
        world=world,
        rules=(TIMED, IN_TIME),
        given=GIVEN,
        checks=(
            reads(TIMED, 2, *rows(2 * [30 + 2 - 3 - 4], 2 * [30])),
            reads(IN_TIME, 2, *rows([15 - 1 - 3 - 4, 30 - 1 - 3 - 4], [15, 30])),
        ),
    )


def of_availability():
    """Two versions with both kinds; SLOs of one and of the model, and one that charges for them."""
    world = World(minutes=3)
    for version, done, bad in (("1", 40, 2), ("2", 10, None)):
        world.gauge(DONE, done, model="nms", version=version).gauge(BAD, bad, model="nms", version=version)
    for version, replica, value in (("1", "r", 3), ("1", "s", 1), ("2", "r", 2)):
        world.gauge(TOLD, value, model="nms", version=version, replica=replica, outcome="invalid")
    for who, value in (("triton", 2), ("model", 1)):
        world.gauge(SEEN, value, **of("nms"), replica="r", seen_by=who)
    # Nothing is known of its requests.
    world.gauge(TOLD, 5, **of("gone"), replica="r", outcome="invalid")
    slos = ({**of("nms"), "slo": "a"}, {"model": "nms", "slo": "a"}, {"model": "nms", "slo": "strict"})
    for slo in (*slos, {**of("gone"), "slo": "a"}):
        world.gauge(COUNTED, 1, **slo, bound="counted")
    world.gauge(CHARGED, 1, model="nms", slo="strict")
    caused = 3 + 1 + (2 + 1) - 2, 2
    return Case(
        says="what is the caller's fault is no valid request, or a bad one where the SLO charges for it",
        world=world,
        rules=(VALID, OF_SLO),
        given=(DONE, *GIVEN, COUNTED, CHARGED, TIMED, IN_TIME),
        checks=(
            reads(VALID, 2, *zip(slos, (40 - caused[0], 50 - sum(caused), 50), strict=True)),
            reads(OF_SLO, 2, *zip(slos, (2, 2, 2 + sum(caused)), strict=True)),
        ),
    )


CASES = (
    of_availability(),
    of_workers(),
    of_traces(failed=False),
    of_traces(failed=True),
)
