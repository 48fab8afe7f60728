"""Quantiles of any model from the requests that Triton traces, and of its stages where it is not traced."""

from support.case import Case, absent, reads
from support.simulate import World
from tritonobs.plan.objectives import BOUNDS, middle

SUBJECT = {"model": "nms", "version": "1"}
P99 = "model_version_phase:tritonobs_request_seconds:p99_5m"


def staged():
    """A model that times its stages."""
    return World(minutes=30).triton("nms", qps=4).stage("nms", "total", qps=4, times={0.1: 1.0})


def traced(times, *, samples=4, world=None):
    """A model without our stages: `times` are requests a second by the seconds they take, from `samples`."""
    world = world or World(minutes=30).triton("nms", qps=4)
    own = {"job": "tritonobs-traces", "instance": "serve:9900", **SUBJECT, "replica": "triton-1"}
    for le, bound in (*((f"{bound}", bound) for bound in BOUNDS), ("+Inf", float("inf"))):
        within = sum(level for took, level in times.items() if took <= bound)
        world.counter("tritonobs_trace_duration_seconds_bucket", within, **own, phase="request", le=le)
    return world.counter("tritonobs_trace_samples_total", samples, **own)


CASES = (
    Case(
        says="a quantile is the middle of its bucket, with a source",
        world=traced({0.02: 95, 1.9: 5}),
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
        world=traced({0.02: 95, 1.9: 5}, samples=40 / 300),
        rules=(P99, P99.replace("p99", "p95"), P99.replace("p99", "p50")),
        checks=(
            absent(P99, 30),
            reads(f'count({P99.replace("p99", "p95")}{{source="traces"}})', 30, ({}, 1)),
            reads(f'count({P99.replace("p99", "p50")}{{source="traces"}})', 30, ({}, 1)),
        ),
    ),
    Case(
        says="a P95 of ten samples is none, and their P50 is",
        world=traced({0.02: 95, 1.9: 5}, samples=10 / 300),
        rules=(P99.replace("p99", "p95"), P99.replace("p99", "p50")),
        checks=(
            absent(P99.replace("p99", "p95"), 30),
            reads(f'count({P99.replace("p99", "p50")}{{source="traces"}})', 30, ({}, 1)),
        ),
    ),
    Case(
        says="without traces the stages speak, and it is said that they know no queue",
        world=staged(),
        rules=(P99,),
        checks=(reads(P99, 30, ({**SUBJECT, "phase": "request", "source": "stages_without_queue"}, 0.0998)),),
    ),
    Case(
        says="traces go before the stages",
        world=traced(
            {0.2: 4},
            world=staged(),
        ),
        rules=(P99,),
        checks=(
            reads(P99, 30, ({**SUBJECT, "phase": "request", "source": "traces"}, round(middle(0.2), 4))),
        ),
    ),
)
