"""Budgets of the whole request, queue included, from the requests that Triton traces."""

import math

from support.case import Case, fires, reads, silent
from support.simulate import World

FAST, MISSING = "TritonErrorBudgetBurnFast", "TritonSliMissing"
JOB = {"job": "tritonobs-traces", "instance": "serve:9900"}
SUBJECT = {"model": "nms", "version": "1"}
ERROR = "slo:sli_error:ratio_rate5m"
LATENCY = {
    **SUBJECT,
    "slo": "latency",
    "sloth_id": "nms-latency-v1",
    "sloth_service": "nms",
    "sloth_slo": "latency-v1",
}


def traced(times, *, minutes=120, weight=1, rejected=0, world=None):
    """A model without our stages: `times` are requests a second by the seconds they take."""
    world = world or World(minutes=minutes).triton("nms", qps=4)
    own = {**JOB, **SUBJECT, "replica": "triton-1"}
    for bound in (0.1, 0.5, 1.0, math.inf):
        level = _added([level for took, level in times.items() if took <= bound])
        le = "+Inf" if math.isinf(bound) else f"{bound}"
        world.counter("tritonobs_trace_duration_seconds_bucket", level, **own, phase="request", le=le)
    world.counter("tritonobs_trace_requests_total", _added(list(times.values())), **own, outcome="ok")
    world.counter("tritonobs_trace_requests_total", rejected, **own, outcome="rejected")
    world.gauge("tritonobs_trace_weight", weight, **own)
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
)
