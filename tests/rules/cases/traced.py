"""Requests that Triton traces: quantiles of any model, and budgets of the whole request, queue included."""

import math

from support.case import Case, absent, fires, reads, silent
from support.simulate import World
from tritonobs.plan.objectives import BOUNDS, middle

FAST, MISSING = "TritonErrorBudgetBurnFast", "TritonSliMissing"
JOB = {"job": "tritonobs-traces", "instance": "serve:9900"}
SUBJECT = {"model": "nms", "version": "1"}
P99 = "model_version_phase:tritonobs_request_seconds:p99_5m"
ERROR = "slo:sli_error:ratio_rate5m"
LATENCY = {
    **SUBJECT,
    "slo": "latency",
    "sloth_id": "nms-latency-v1",
    "sloth_service": "nms",
    "sloth_slo": "latency-v1",
}


def traced(
    times,
    *,
    minutes=120,
    weight=1,
    phase="request",
    bounds=(0.1, 0.5, 1.0),
    rejected=0,
    world=None,
    samples=4,
):
    """A model without our stages: `times` are requests a second by the seconds they take, from `samples`."""
    world = world or World(minutes=minutes).triton("nms", qps=4)
    own = {**JOB, **SUBJECT, "replica": "triton-1"}
    for bound in (*bounds, math.inf):
        level = _added([level for took, level in times.items() if took <= bound])
        le = "+Inf" if math.isinf(bound) else f"{bound}"
        world.counter("tritonobs_trace_duration_seconds_bucket", level, **own, phase=phase, le=le)
    world.counter("tritonobs_trace_requests_total", _added(list(times.values())), **own, outcome="ok")
    world.counter("tritonobs_trace_requests_total", rejected, **own, outcome="rejected")
    world.gauge("tritonobs_trace_weight", weight, **own)
    world.counter("tritonobs_trace_samples_total", samples, **own)
    return world.counter("tritonobs_trace_spans_total", 10, **JOB)


def promised(world, target=0.5, objective=0.99):
    """The same with a promise about the whole request."""
    row = {**SUBJECT, "slo": "latency"}
    world.gauge("tritonobs_slo_objective_ratio", objective, **row)
    return world.gauge(
        "tritonobs_latency_target_seconds", target, **row, stage="traces:request", le=f"{target:g}"
    )


def _added(levels):
    """The sum of levels, which step at the same minutes."""
    stepped = [level for level in levels if isinstance(level, list)]
    flat = sum(level for level in levels if not isinstance(level, list))
    if not stepped:
        return flat
    return [
        (steps[0][0], None if None in (values := [value for _, value in steps]) else flat + sum(values))
        for steps in zip(*stepped, strict=True)
    ]


CASES = (
    Case(
        says="slow requests of a model without stages burn its budget",
        world=promised(traced({0.1: [(60, 4), (999, 3)], 0.9: [(60, 0), (999, 1)]})),
        rules=(FAST,),
        checks=(silent(FAST, 60), fires(FAST, 110, severity="critical", burn_tier="fast", **LATENCY)),
    ),
    Case(
        says="slow requests within the objective do not",
        world=promised(traced({0.1: 3.98, 0.9: 0.02})),
        rules=(FAST, MISSING),
        checks=(silent(FAST, 120), silent(MISSING, 120)),
    ),
    Case(
        says="three slow samples never page, though each stands for hundreds of requests",
        # Half of the requests are slow for three minutes: three samples of 240 requests.
        world=promised(
            traced({0.1: [(60, 4), (63, 0), (999, 4)], 0.9: [(60, 0), (63, 4), (999, 0)]}, weight=240),
            objective=0.999,
        ),
        rules=(FAST,),
        checks=(silent(FAST, 120),),
    ),
    Case(
        says="the same slow requests do page where each of twenty was seen",
        world=promised(
            traced({0.1: [(60, 4), (63, 0), (999, 4)], 0.9: [(60, 0), (63, 4), (999, 0)]}, weight=36),
            objective=0.999,
        ),
        rules=(FAST,),
        checks=(fires(FAST, 64, severity="critical", burn_tier="fast", **LATENCY),),
    ),
    Case(
        says="what a full queue refused is not in time",
        world=promised(traced({0.1: 3}, rejected=1)),
        rules=(ERROR,),
        checks=(reads(ERROR, 60, ({**LATENCY, "sloth_window": "5m"}, 0.25)),),
    ),
    Case(
        says="what failed in Triton's counters is not in time, quick as it was",
        world=promised(
            traced(
                {0.1: 4},
                world=World(minutes=60).triton("nms", qps=3, failures={"OTHER": 1}),
            )
        ),
        rules=(ERROR,),
        checks=(reads(ERROR, 60, ({**LATENCY, "sloth_window": "5m"}, 0.25)),),
    ),
    Case(
        says="a promise about traces that nobody sends is said",
        world=promised(World(minutes=60).triton("nms", qps=4)),
        rules=(MISSING,),
        checks=(fires(MISSING, 60, severity="warning", **LATENCY),),
    ),
    Case(
        says="a target of a whole second finds its bound",
        world=promised(traced({0.9: 3, 1.5: 1}), target=1),
        rules=(ERROR, MISSING),
        checks=(reads(ERROR, 60, ({**LATENCY, "sloth_window": "5m"}, 0.25)), silent(MISSING, 60)),
    ),
    Case(
        says="a receiver that starts again has lost nothing but what came meanwhile",
        world=promised(traced({0.1: [(30, 4), (40, None), (999, 4)]})),
        rules=(ERROR,),
        checks=(reads(ERROR, 60, ({**LATENCY, "sloth_window": "5m"}, 0)),),
    ),
    Case(
        says="a quantile is the middle of its bucket, with a source",
        world=traced({0.02: 95, 1.9: 5}, minutes=30, bounds=BOUNDS),
        rules=(P99, P99.replace("p99", "p50")),
        checks=(
            reads(P99, 30, ({**SUBJECT, "phase": "request", "source": "traces"}, round(middle(1.9), 4))),
            reads(
                P99.replace("p99", "p50"),
                30,
                ({**SUBJECT, "phase": "request", "source": "traces"}, round(middle(0.02), 4)),
            ),
        ),
    ),
    Case(
        says="a P99 of forty samples is none, and their P95 and P50 are",
        world=traced({0.02: 95, 1.9: 5}, minutes=30, bounds=BOUNDS, weight=750, samples=40 / 300),
        rules=(P99, P99.replace("p99", "p95"), P99.replace("p99", "p50")),
        checks=(
            absent(P99, 30),
            reads(f'count({P99.replace("p99", "p95")}{{source="traces"}})', 30, ({}, 1)),
            reads(f'count({P99.replace("p99", "p50")}{{source="traces"}})', 30, ({}, 1)),
        ),
    ),
    Case(
        says="a P95 of ten samples is none, and their P50 is",
        world=traced({0.02: 95, 1.9: 5}, minutes=30, bounds=BOUNDS, weight=3000, samples=10 / 300),
        rules=(P99.replace("p99", "p95"), P99.replace("p99", "p50")),
        checks=(
            absent(P99.replace("p99", "p95"), 30),
            reads(f'count({P99.replace("p99", "p50")}{{source="traces"}})', 30, ({}, 1)),
        ),
    ),
    Case(
        says="without traces the stages speak, and it is said that they know no queue",
        world=World(minutes=30).triton("nms", qps=4).stage("nms", "total", qps=4, times={0.1: 1.0}),
        rules=(P99,),
        checks=(reads(P99, 30, ({**SUBJECT, "phase": "request", "source": "stages_without_queue"}, 0.0998)),),
    ),
    Case(
        says="traces go before the stages",
        world=traced(
            {0.2: 4},
            bounds=BOUNDS,
            world=World(minutes=30).triton("nms", qps=4).stage("nms", "total", qps=4, times={0.1: 1.0}),
        ),
        rules=(P99,),
        checks=(
            reads(P99, 30, ({**SUBJECT, "phase": "request", "source": "traces"}, round(middle(0.2), 4))),
        ),
    ),
)
