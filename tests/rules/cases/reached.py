"""Servers that cannot be reached and come back: when that begins, when it ends, and who is not judged."""

from support.case import Case, absent, fires, reads, silent
from support.simulate import World

LOST, BACK = "replica:triton_unreachable:info", "replica:triton_returned:info"
DONE_EVER, RESTARTED = "nv_inference_request_success", "replica:triton_restarted:bool"
SLOW, RATIO = "TritonReplicaSlow", "replica_model_version:triton_request_duration_seconds_per_peers:ratio5m"
DONE, OWNER = "replica_model_version:triton_requests_succeeded:rate1m", "subject:tritonobs_owner:info"
BEATS = "model_instance:tritonobs_worker_alive:bool"
NMS = {"model": "nms", "version": "1"}
A, B, C = ({"replica": name} for name in "abc")


def target(world, replica, level):
    """The target of a server, which Prometheus always knows about."""
    return world.gauge("up", level, job="triton", instance=f"{replica}:8002", replica=replica)


def targets():
    """Of three servers one is away for three minutes, one for a single scrape in each minute, one never."""
    world = target(World(minutes=20), "a", [(5, 1), (8, 0), (99, 1)])
    target(world, "b", [(minute / 4, minute % 4 > 0) for minute in range(1, 99)])
    return target(world, "c", 1)


def counted():
    """Three servers that come back: a has 49 of 100 requests, of two models; b has 51, c has 3."""
    world, triton = World(minutes=20), {"job": "triton"}
    for model, before, after in (("nms", 60, 30), ("ocr", 40, 19)):
        level = [(5, before), (6, None), (99, after)]
        world.gauge(DONE_EVER, level, **triton, **A, model=model, version="1")
    world.gauge(DONE_EVER, [(5, 100), (6, None), (99, 51)], **triton, **B, **NMS)
    return world.gauge(DONE_EVER, [(5, 100), (12, None), (99, 3)], **triton, **C, **NMS)


CASES = (
    Case(
        says="a server is unreachable from lost scrapes to its second answer, then returned for 2 m",
        world=targets(),
        rules=(LOST, BACK),
        checks=(
            *(absent(LOST, minute) for minute in (4.75, 5, 5.25, 8.25, 12)),
            *(reads(LOST, minute, (A, 1)) for minute in (5.75, 6.75, 7.75, 8)),
            *(absent(BACK, minute) for minute in (5.25, 7.75, 10, 15)),
            *(reads(BACK, minute, (A, 1)) for minute in (8, 8.25, 9.5)),
        ),
    ),
    Case(
        says="a server that counts less than half of what it did has restarted, unless it was away for long",
        world=counted(),
        rules=(RESTARTED,),
        checks=(
            reads(RESTARTED, 4, (A, 0), (B, 0), (C, 0)),
            reads(RESTARTED, 6, (A, 1), (B, 0)),
            reads(RESTARTED, 6.25, (A, 0), (B, 0)),
            reads(RESTARTED, 12, (A, 0), (B, 0)),
            reads(RESTARTED, 12.25, (A, 0), (B, 0), (C, 0)),
        ),
    ),
    Case(
        says="a slow server without traffic is not slow any more",
        world=World(minutes=25)
        .gauge(OWNER, 1, **NMS, team="vision")
        .gauge(RATIO, 3, **NMS, **A)
        .gauge(DONE, [(15, 4), (99, 0)], **NMS, **A),
        rules=(SLOW,),
        given=(RATIO, DONE, OWNER),
        checks=(
            silent(SLOW, 9.75),
            fires(SLOW, 15.5, **NMS, **A, severity="warning", team="vision"),
            silent(SLOW, 25, since=16),
        ),
    ),
    Case(
        says="a worker is judged by three beats of the last minute, not by those before an outage",
        world=World(minutes=12)
        .triton("nms", replica="a", qps=1)
        .gauge(
            "tritonobs_heartbeat_timestamp_seconds",
            [(step / 4, None if 20 < step <= 24 else 15.0 * step) for step in range(1, 60)],
            **{"job": "triton", **A, **NMS, "worker": "nms_0_0-100-1a2b3c"},
        ),
        rules=(BEATS,),
        checks=(
            reads(BEATS, 4, ({**NMS, **A, "model_instance": "nms_0_0"}, 1)),
            absent(BEATS, 6.25),
            reads(BEATS, 6.5, ({**NMS, **A, "model_instance": "nms_0_0"}, 1)),
        ),
    ),
)
