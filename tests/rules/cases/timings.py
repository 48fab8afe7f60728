"""Requests that were timed, and those in time, since the evaluation before: by workers, engines, traces."""

from support.case import WRITTEN, Case, reads
from support.simulate import World

NEW, BOUND = "replica:triton_pages_new:count", "model_stage_le:tritonobs_latency_bound:info"
OURS = "tritonobs_stage_duration_seconds_bucket"
GREW = "worker_stage_le:tritonobs_stage_duration_seconds_bucket:increase"
KEPT = "worker_stage_le:tritonobs_stage_duration_seconds_bucket:last"
TIMED = "model_version_stage_le:tritonobs_requests_timed:increase"
IN_TIME = "model_version_stage_le:tritonobs_requests_in_time:increase"
SEEN, BAD = (
    "replica_model_version_seen_by:triton_requests_bad:increase",
    "model_version:triton_requests_bad:increase",
)
TRACED, ANSWERED, SPANS = (
    "tritonobs_trace_duration_seconds_bucket",
    "tritonobs_trace_requests_total",
    "tritonobs_trace_spans_total",
)
ENGINES = (
    ("vllm:time_to_first_token_seconds", "first_token"),
    ("vllm:inter_token_latency_seconds", "output_token"),
    ("vllm:time_per_output_token_seconds", "output_token"),
    ("vllm:e2e_request_latency_seconds", "total"),
)
# What a counter of all requests does, by what its model is called: what it reads when, and what came when.
COUNTERS = {
    "steps": ([(20, 4), (25, 10), (99, 11)], {20: 6, 25: 1}),
    "comes_late": ([(20, None), (99, 3)], {20: 3}),
    "away_for_minutes": ([(15, 4), (20, None), (99, 9)], {20: 5}),
    "goes": ([(19.5, 4), (99, None)], {}),
    "history": ([(20, None), (99, 7)], {}),
}
# Of series that may begin again, as those of a server or receiver.
BORN_AGAIN = {
    "resets": ([(20, 9), (99, 2)], {20: 2}),
    "away_for_long": ([(5, 4), (20, None), (99, 9)], {20: 5}),
}


def named(world, model, stage):
    """The bounds that a threshold of half a second and one of a second name."""
    for le in ("0.5", "1", "1.0", "+Inf"):
        world.gauge(BOUND, 1, model=model, stage=stage, le=le)


def came(record, minute, counters, *, second="1", late=0, **more):
    """What came within each bound at this minute, counter by counter; 0 where one read the same.

    `second` is how the bound of one second is written, and `late` how much later the record says so.
    """
    rows = []
    for model, (levels, steps) in counters.items():
        there = next(value for until, value in levels if minute < until) is not None
        if minute in steps or (there and (model != "history" or minute > 20)):
            own = {"model": model, "version": "1"} | {
                key: model if value is None else value for key, value in more.items()
            }
            rows += [({**own, "le": le}, steps.get(minute, 0)) for le in ("0.5", second, "+Inf")]
    return reads(record, minute + late, *rows)


def of_workers():
    """A stage as workers timed it, with a bound that nobody named; one of them is on a new server."""
    world = World(minutes=30).gauge(NEW, [(20, None), (20.25, 1), (99, None)], replica="history")
    for model, (levels, _) in COUNTERS.items():
        named(world, model, "decode")
        own = {"model": model, "version": "1", "replica": model, "worker": "w", "stage": "decode"}
        for le in ("0.25", "0.5", "1.0", "+Inf"):
            world.gauge(OURS, levels, **own, job="triton", le=le)
    counters = COUNTERS
    return Case(
        says="what a worker timed counts once, from 0 for one that is new on a server that is not",
        world=world,
        rules=(GREW, KEPT),
        given=(NEW, BOUND),
        checks=(
            reads(f'count by (model) ({KEPT}{{model="goes", bound=""}})', 19, ({"model": "goes"}, 3)),
            reads(f'{KEPT}{{model="goes", bound=""}}', 20),
            *(
                came(
                    f"{GREW} > 0",
                    minute,
                    {name: c for name, c in counters.items() if minute in c[1]},
                    second="1.0",
                    **labels,
                )
                for labels in ({"replica": None, "worker": "w", "stage": "decode"},)
                for minute in (19, 20, 20.25, 25, 25.25)
            ),
        ),
    )


def of_engine(series, stage):
    """A stage as an engine timed it, two processes of it on one server."""
    world = World(minutes=30)
    counters = COUNTERS | BORN_AGAIN
    for model in (*counters, "two"):
        world.gauge("up", [(20, None), (99, 1)] if model == "history" else 1, replica=model, job="triton")
    for model, (levels, _) in counters.items():
        named(world, model, stage)
        own = {"model": model, "version": "1", "replica": model, "job": "triton"}
        for le in ("0.25", "0.5", "1.0", "+Inf"):
            world.gauge(f"{series}_bucket", levels, **own, le=le)
    named(world, "two", stage)
    for engine, more in (("0", 3), ("1", 5)):
        own = {"model": "two", "version": "1", "replica": "two", "job": "triton", "engine": engine}
        world.gauge(f"{series}_bucket", [(20, 4), (99, 4 + more)], **own, le="0.5")
    return Case(
        says=f"what an engine timed counts once, over all of its processes: {series}",
        world=world,
        rules=(GREW,),
        given=(BOUND,),
        checks=(
            *(
                came(
                    f'{GREW}{{model!="two"}}',
                    minute,
                    counters,
                    second="1.0",
                    late=WRITTEN,
                    replica=None,
                    stage=stage,
                )
                for minute in (19, 20, 20.75, 25, 25.25)
            ),
            reads(
                f'{GREW}{{model="two"}}',
                20 + WRITTEN,
                ({"model": "two", "version": "1", "replica": "two", "stage": stage, "le": "0.5"}, 8),
            ),
        ),
    )


def of_new_process(series, stage):
    """A process of an engine that begins a scrape after its page, while that is still recorded as new."""
    own = {"model": "nms", "version": "1", "replica": "r", "job": "triton"}
    world = World(minutes=30).gauge("up", [(20, None), (99, 1)], replica="r", job="triton")
    world.gauge(NEW, [(20.25, None), (20.5, 1), (99, None)], replica="r")
    named(world, "nms", stage)
    world.gauge(f"{series}_bucket", [(20.25, None), (99, 3)], **own, le="0.5")
    row = ({"model": "nms", "version": "1", "replica": "r", "stage": stage, "le": "0.5"}, 3)
    return Case(
        says="a new process of an engine counts from 0 on a page that was read before",
        world=world,
        rules=(GREW,),
        given=(BOUND, NEW),
        checks=(reads(GREW, 20 + WRITTEN), reads(GREW, 20.25 + WRITTEN, row)),
    )


def failed():
    """Two workers on one server and one on another, and one without the bound; some requests failed."""
    world = World(minutes=3)
    for replica, worker, within, every in (
        ("a", "one", 3, 5),
        ("a", "two", 6, 7),
        ("b", "three", 4, 4),
        ("b", "other_bounds", None, 9),
    ):
        own = {"model": "nms", "version": "1", "replica": replica, "worker": worker}
        for stage in ("total", "decode"):
            world.gauge(GREW, within, **own, stage=stage, le="0.5")
            world.gauge(GREW, every, **own, stage=stage, le="+Inf")
    own = {"model": "nms", "version": "1"}
    world.gauge(SEEN, 2, **own, replica="a", seen_by="triton").gauge(SEEN, 90, **own, seen_by="triton")
    world.gauge(SEEN, 1, **own, replica="b", seen_by="model")

    def rows(**values):
        return [
            ({**own, "stage": stage, "le": le}, value)
            for stage, pair in values.items()
            for le, value in zip(("0.5", "+Inf"), pair, strict=True)
        ]

    return Case(
        says="failed requests are of the whole, and never in time; what failed before the model counts, too",
        world=world,
        rules=(TIMED, IN_TIME),
        given=(GREW, SEEN, BAD, BOUND),
        checks=(
            reads(TIMED, 2, *rows(total=(5 + 7 + 4 + 2, 25 + 2), decode=(5 + 7 + 4, 25))),
            reads(IN_TIME, 2, *rows(total=(3 + 6 + 4 - 1, 25 - 1), decode=(3 + 6 + 4, 25))),
        ),
    )


def written_twice():
    """A server of an older release and one of a newer one write a bound of one second each in its own way."""
    world = World(minutes=3).gauge(SEEN, 1, model="nms", version="1", replica="b", seen_by="model")
    for replica, second, within in (("a", "1", 3), ("b", "1.0", 4)):
        own = {"model": "nms", "version": "1", "replica": replica, "worker": "w", "stage": "total"}
        world.gauge(GREW, within, **own, le=second).gauge(GREW, 7, **own, le="+Inf")
    whole = {"model": "nms", "version": "1", "stage": "total"}
    return Case(
        says="a bound that is written in two ways is one",
        world=world,
        rules=(TIMED, IN_TIME),
        given=(GREW, SEEN, BAD, BOUND),
        checks=(
            reads(TIMED, 2, ({**whole, "le": "1"}, 14), ({**whole, "le": "+Inf"}, 14)),
            reads(IN_TIME, 2, ({**whole, "le": "1"}, 3 + 4 - 1), ({**whole, "le": "+Inf"}, 14 - 1)),
        ),
    )


def of_traces():
    """Whole requests as traces tell them: a receiver for each model, one of them new, two for one model."""
    world = World(minutes=30)
    counters = COUNTERS | {"resets": BORN_AGAIN["resets"]}
    rows = [(model, model, levels) for model, (levels, _) in counters.items()]
    rows += [("steps", "steps_too", [(20, 4), (99, 7)]), ("away", "away", BORN_AGAIN["away_for_long"][0])]
    rows += [("steps", "ended", COUNTERS["goes"][0]), ("second", "history", [(20.25, None), (99, 6)])]
    for model, instance, levels in rows:
        named(world, model, "traces:request")
        own = {"model": model, "version": "1", "job": "tritonobs-traces", "instance": instance}
        for le in ("0.25", "0.5", "1.0", "+Inf"):
            world.gauge(TRACED, levels, **own, phase="request", le=le)
            world.gauge(TRACED, levels, **own, phase="queue", le=le)
        for outcome in ("ok", "rejected"):
            world.gauge(ANSWERED, levels, **own, outcome=outcome)
    for instance in {instance for _, instance, _ in rows}:
        begun = {"history": [(20, None), (99, 1)], "away": [(5, 1), (20, None), (99, 1)]}
        begun["ended"] = [(19.5, 1), (99, None)]
        world.gauge(SPANS, begun.get(instance, 1), job="tritonobs-traces", instance=instance)
    world.gauge(BAD, [(25.25, 0), (25.5, 1), (99, 0)], model="steps", version="1")

    def told(factor, **values):
        return [
            ({"model": model, "version": "1", "stage": "traces:request", "le": le}, factor * value)
            for model, value in values.items()
            for le in ("0.5", "1")
        ]

    quiet = {"steps": 0, "away_for_minutes": 0, "comes_late": 0, "resets": 0, "history": 0, "away": 0}
    stepped = {"steps": 9, "comes_late": 3, "away_for_minutes": 5, "resets": 2, "away": 5}
    return Case(
        says="what traces tell counts once, over receivers and outcomes; what a new one holds is history",
        world=world,
        rules=(TIMED, IN_TIME),
        given=(GREW, SEEN, BAD, BOUND),
        checks=(
            *(
                reads(record, minute + WRITTEN, *told(factor, **values))
                for minute, values in (
                    (19, {"steps": 0, "resets": 0, "goes": 0}),
                    (20, stepped),
                    (20.25, quiet | {"second": 6}),
                    (20.75, quiet | {"second": 0}),
                )
                for record, factor in ((TIMED, 2), (IN_TIME, 1))
            ),
            reads(f'{TIMED}{{model="steps"}}', 25 + WRITTEN, *told(2, steps=1)),
            reads(f'{IN_TIME}{{model="steps"}}', 25 + WRITTEN, *told(1, steps=0)),
        ),
    )


CASES = (
    of_workers(),
    *(of_engine(series, stage) for series, stage in ENGINES),
    of_new_process(*ENGINES[-1]),
    failed(),
    written_twice(),
    of_traces(),
)
