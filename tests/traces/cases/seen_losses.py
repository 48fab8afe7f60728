"""Traces that are lost, each loss just before it is told and as it is."""

from support.case import Case, fires, reads, silent
from support.simulate import World

LOST, INCOMPLETE = "TritonobsTracesLost", "TritonobsTracesIncomplete"
SHARE = "replica_model:tritonobs_requests_traced:ratio1h"
DUE_NOW, TRACED = (
    "replica_model:triton_requests_traceable:increase",
    "replica_model:tritonobs_requests_traced:increase",
)
DUE, HIGHEST = "replica_model:triton_requests_traceable:sum1h", "replica_model:tritonobs_trace_rate:max1h"
OWNER = "subject:tritonobs_owner:info"
RECEIVER = {"instance": "serve:9900"}

CASES = (
    Case(
        says="a body that the collector misses every four minutes is told after five minutes",
        world=World(minutes=10)
        .counter("tritonobs_trace_spans_total", 10, job="tritonobs-traces", **RECEIVER)
        .gauge(
            "tritonobs_trace_forwarded_total",
            [(1, 0), (5, 1), (9, 2), (99, 3)],
            job="tritonobs-traces",
            **RECEIVER,
            outcome="lost",
        ),
        rules=(LOST,),
        checks=(
            silent(LOST, 5.75),
            fires(LOST, 6, severity="warning", reason="collector", **RECEIVER),
            fires(LOST, 10, severity="warning", reason="collector", **RECEIVER),
        ),
    ),
    Case(
        says="traces that represent too few requests are told after ten minutes",
        world=World(minutes=16)
        .gauge(SHARE, [(5, 1), (99, 0.5)], model="nms", replica="r")
        .gauge(DUE, 1000, model="nms", replica="r")
        .gauge(HIGHEST, 1, model="nms", replica="r")
        .gauge(OWNER, 1, model="nms", team="vision"),
        rules=(INCOMPLETE,),
        given=(SHARE, DUE, HIGHEST, OWNER),
        checks=(
            silent(INCOMPLETE, 14.75),
            fires(INCOMPLETE, 15, severity="warning", model="nms", replica="r", team="vision"),
        ),
    ),
    Case(
        says="the share is 0 without a trace, and of traces that begin again it is theirs, without old ones",
        world=World(minutes=100)
        .gauge(DUE_NOW, [(70, 0), (70.25, 1), (999, 0)], model="single", replica="r")
        .gauge(DUE_NOW, [(70, 0), (70.25, 20), (999, 0)], model="again", replica="r")
        .gauge(TRACED, [(30, 9), (100, None), (999, 5)], model="again", replica="r"),
        rules=(SHARE,),
        given=(DUE_NOW, TRACED),
        checks=(
            reads(SHARE, 69.75),
            reads(
                SHARE,
                100,
                ({"model": "single", "replica": "r"}, 0),
                ({"model": "again", "replica": "r"}, 5 / 20),
            ),
        ),
    ),
)
