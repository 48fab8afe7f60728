"""The receiver of traces: when it loses traces, and when it does not."""

from support.case import Case, fires, silent
from support.simulate import World

LOST = "TritonobsTracesLost"
TRACES = {"job": "tritonobs-traces", "instance": "serve:9900"}


def receiving(*, dropped=0, reason="full", lost=0):
    """A receiver that reads ten spans a second, with bodies or spans lost a second."""
    sim = World(minutes=30).counter("tritonobs_trace_spans_total", 10, **TRACES)
    sim.counter("tritonobs_trace_dropped_total", dropped, **TRACES, reason=reason)
    sim.counter("tritonobs_trace_forwarded_total", 1, **TRACES, outcome="sent")
    return sim.counter("tritonobs_trace_forwarded_total", lost, **TRACES, outcome="lost")


def lost(level, **labels):
    """A receiver that reads ten spans a second and loses bodies at a level."""
    world = World(minutes=40).counter("tritonobs_trace_spans_total", 10, **TRACES)
    return world.counter(
        "tritonobs_trace_dropped_total" if "reason" in labels else "tritonobs_trace_forwarded_total",
        level,
        **TRACES,
        **labels,
    )


CASES = (
    Case(
        says="a receiver that has no room for what comes loses traces",
        world=receiving(dropped=[(10, 0), (99, 0.1)]),
        rules=(LOST,),
        checks=(silent(LOST, 10), fires(LOST, 20, severity="warning", instance="serve:9900", reason="full")),
    ),
    Case(
        says="a body refused now and then is no loss to wake anyone for",
        world=receiving(dropped=0.01, reason="unreadable"),
        rules=(LOST,),
        checks=(silent(LOST, 20), silent(LOST, 30)),
    ),
    Case(
        says="spans without their request are a loss from a tenth on",
        world=receiving(dropped=2, reason="incomplete"),
        rules=(LOST,),
        checks=(fires(LOST, 20, severity="warning", instance="serve:9900", reason="incomplete"),),
    ),
    Case(
        says="fewer spans without their request are those of servers that were killed",
        world=receiving(dropped=0.5, reason="incomplete"),
        rules=(LOST,),
        checks=(silent(LOST, 20), silent(LOST, 30)),
    ),
    Case(
        says="what the collector misses is lost, too",
        world=receiving(lost=[(10, 0), (20, 0.1), (99, 0)]),
        rules=(LOST,),
        checks=(fires(LOST, 18, severity="warning", instance="serve:9900", reason="collector"),),
    ),
    Case(
        says="a receiver that loses eight bodies in five minutes is told after five, and not before",
        world=lost([(10, 0), (99, 8 / 300)], reason="full"),
        rules=(LOST,),
        checks=(silent(LOST, 15), fires(LOST, 22, severity="warning", instance="serve:9900", reason="full")),
    ),
    Case(
        says="one body that the collector missed is no loss to wake anyone for",
        world=lost([(10, 0), (10.25, 1 / 15), (99, 0)], outcome="lost"),
        rules=(LOST,),
        checks=(silent(LOST, 40),),
    ),
    Case(
        says="bodies that the collector misses again and again are told, whichever way it missed them, once",
        world=lost([(10, 0), (99, 1 / 60)], outcome="lost").counter(
            "tritonobs_trace_forwarded_total", [(10, 0), (99, 1 / 30)], **TRACES, outcome="refused"
        ),
        rules=(LOST,),
        checks=(
            silent(LOST, 15),
            fires(LOST, 18, severity="warning", instance="serve:9900", reason="collector"),
        ),
    ),
)
