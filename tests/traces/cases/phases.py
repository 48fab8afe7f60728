"""What Triton's traces tell of two servers: rates, samples, quantiles, and where a request's time is from."""

from support.case import Case, near, reads
from support.simulate import World
from tritonobs.plan.objectives import BOUNDS

STEP, SOON, LATER = 20, 21.5, 26.75
JOB = {"job": "tritonobs-traces", "instance": "serve:9900"}
BUCKETS, SAMPLES = "tritonobs_trace_duration_seconds_bucket", "tritonobs_trace_samples_total"
RATE = f"model_version_phase_le:{BUCKETS}:rate1m"
SEEN = "model_version:tritonobs_trace_samples:rate5m"
OF_TRACES, OF_STAGES = (
    "model_version_phase:tritonobs_trace_duration_seconds",
    "model_version_stage:tritonobs_stage_duration_seconds",
)
OF_REQUESTS = "model_version_phase:tritonobs_request_seconds"
NMS = {"model": "nms", "version": "1"}
# Of 100 requests 60 take 0.02 s, 37 take 0.2 s, three 1.9 s; their time in the queue is a tenth.
SHARES = {0.02: 0.6, 0.2: 0.37, 1.9: 0.03}
QUANTILES = {"p50": 0.02, "p95": 0.2, "p99": 1.9}


def step(before, after):
    """One value until the step, another from then on."""
    return [(STEP, before), (999, after)]


def received():
    """Two servers, of which a receiver tells what came; a third of it within half a second."""
    world = World(minutes=27)
    for replica, before, after in (("a", 3, 9), ("b", 6, 12)):
        own = {**JOB, **NMS, "replica": replica}
        for phase in ("request", "queue", "compute"):
            for le, share in (("0.5", 1 / 3), ("+Inf", 1)):
                world.counter(BUCKETS, step(before * share, after * share), **own, phase=phase, le=le)
        world.counter(SAMPLES, step(before, after), **own)
    return world


def spread():
    """Eight requests a second that take as told after the step; before it each took seven seconds."""
    world = World(minutes=27)
    for phase, part in (("request", 1), ("queue", 0.1)):
        for bound in BOUNDS:
            within = sum(share for took, share in SHARES.items() if took * part <= bound)
            level = step(8 * (bound >= 7), 8 * within)
            world.gauge(RATE, level, **NMS, phase=phase, le=f"{bound}")
        world.gauge(RATE, 8, **NMS, phase=phase, le="+Inf")
    return world.gauge(SEEN, 8, **NMS)


def sources(name):
    """Model a is traced and has stages, b has stages only, c is traced in its queue only and has stages."""
    world = World(minutes=2)
    for model, phases in (("a", {"request": 0.3, "queue": 0.1}), ("b", {}), ("c", {"queue": 0.2})):
        for phase, seconds in phases.items():
            world.gauge(f"{OF_TRACES}:{name}_5m", seconds, model=model, version="1", phase=phase)
        for stage, seconds in (("total", 0.5), ("decode", 0.7)):
            world.gauge(f"{OF_STAGES}:{name}_5m", seconds, model=model, version="1", stage=stage)
    return world


def few():
    """Models of which so many requests were traced in five minutes, each of which took 0.02 s."""
    world = World(minutes=6)
    for samples in (1, 19, 20, 99, 100):
        model = f"m{samples}"
        for le, rate in (("0.01", 0), ("0.02", samples / 300), ("+Inf", samples / 300)):
            world.gauge(RATE, rate, model=model, version="1", phase="request", le=le)
        world.gauge(SEEN, samples / 300, model=model, version="1")
    return world


CASES = (
    Case(
        says="a P99 is of a hundred traced requests or more, a P95 of twenty, a median of any",
        world=few(),
        rules=tuple(f"{OF_TRACES}:{name}_5m" for name in QUANTILES),
        given=(RATE, SEEN),
        checks=tuple(
            reads(
                f"count by (model) ({OF_TRACES}:{name}_5m)",
                5,
                *(({"model": f"m{samples}"}, 1) for samples in shown),
            )
            for name, shown in (("p50", (1, 19, 20, 99, 100)), ("p95", (20, 99, 100)), ("p99", (100,)))
        ),
    ),
    Case(
        says="traced requests of two servers add up by phase and bound, and are those of the last minute",
        world=received(),
        rules=(RATE,),
        checks=tuple(
            near(f'{RATE}{{phase="{phase}",le="{le}"}}', SOON, {**NMS, "phase": phase, "le": le}, rate)
            for phase in ("request", "queue")
            for le, rate in (("0.5", 7), ("+Inf", 21))
        ),
    ),
    Case(
        says="only requests and their time in the queue are kept of the phases",
        world=received(),
        rules=(RATE,),
        checks=(
            reads(f"count by (phase) ({RATE})", SOON, ({"phase": "request"}, 2), ({"phase": "queue"}, 2)),
        ),
    ),
    Case(
        says="traced samples of two servers add up, and are those of the last five minutes",
        world=received(),
        rules=(SEEN,),
        checks=(near(SEEN, LATER, NMS, 21),),
    ),
    Case(
        says="quantiles of traces are at most a twentieth from the truth, and of the last five minutes",
        world=spread(),
        rules=tuple(f"{OF_TRACES}:{name}_5m" for name in QUANTILES),
        given=(RATE, SEEN),
        checks=tuple(
            near(
                f'{OF_TRACES}:{name}_5m{{phase="{phase}"}}',
                LATER,
                {**NMS, "phase": phase},
                seconds * part,
                tolerance=0.05,
            )
            for name, seconds in QUANTILES.items()
            for phase, part in (("request", 1), ("queue", 0.1))
        ),
    ),
    *(
        Case(
            says=f"traces tell what a request takes; where none was traced its stages do: {name}",
            world=sources(name),
            rules=(f"{OF_REQUESTS}:{name}_5m",),
            given=(f"{OF_TRACES}:{name}_5m", f"{OF_STAGES}:{name}_5m"),
            checks=(
                reads(
                    f"{OF_REQUESTS}:{name}_5m",
                    1,
                    *(
                        ({"model": model, "version": "1", "phase": phase, "source": source}, seconds)
                        for model, phase, source, seconds in (
                            ("a", "request", "traces", 0.3),
                            ("a", "queue", "traces", 0.1),
                            ("b", "request", "stages_without_queue", 0.5),
                            ("c", "queue", "traces", 0.2),
                            ("c", "request", "stages_without_queue", 0.5),
                        )
                    ),
                ),
            ),
        )
        for name in QUANTILES
    ),
)
