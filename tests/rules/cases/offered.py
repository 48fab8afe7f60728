"""What is offered: what ends and what the queues grow by, added over servers, versions and models."""

from support.case import Case, absent, reads
from support.simulate import World

OFFERED, OF_VERSION = "subject:triton_requests_offered", "model_version:triton_requests_offered"
REQUESTS, SUBJECT = "model_version:triton_requests:rate1m", "subject:triton_requests:rate1m"
OF_REPLICA = "replica_model_version:triton_requests_succeeded:rate1m"
FAILED, HELD = "model_version_reason:triton_requests_failed:rate1m", "subject:tritonobs_qps_limit:held"
CALLS = "tritonobs_pipeline_calls"
P, NMS = {"model": "p", "version": "1"}, {"model": "nms", "version": "1"}
NEW = {"model": "nms", "version": "2"}


def queue(start, per_second):
    """A queue that is empty up to a minute and then grows."""
    return [(start, 0), *((start + step / 4, 15 * per_second * step) for step in range(1, 80))]


def fleet():
    """Two versions on two servers; a pipeline causes 8 of their 20 requests; queues grow from minute 6 on."""
    world = World(minutes=10).triton("p", qps=4)
    world.triton("nms", qps=3, pending=queue(6, 1)).triton("nms", qps=2, gpu_uuid="GPU-1")
    world.triton("nms", qps=7, replica="triton-2", pending=queue(6, 2))
    world.triton("nms", "2", qps=8, replica="triton-2", pending=queue(6, 3))
    for limited in (P, NMS, NEW, {"model": "nms"}, {}):
        world.gauge("tritonobs_qps_limit", 50, **limited)
    return world.gauge(CALLS, 2, pipeline="p", stage="a", model="nms")


CASES = (
    Case(
        says="a growing queue is what came and has not ended; of the fleet, too",
        world=fleet(),
        rules=(
            *(OF_REPLICA, SUBJECT),
            *(f"{record}:{rate}" for record in (OF_VERSION, OFFERED) for rate in ("rate1m", "irate1m")),
        ),
        checks=(
            reads(
                OF_REPLICA,
                8,
                ({**P, "replica": "triton-1"}, 4),
                ({**NMS, "replica": "triton-1"}, 5),
                ({**NMS, "replica": "triton-2"}, 7),
                ({**NEW, "replica": "triton-2"}, 8),
            ),
            reads(
                SUBJECT, 8, (P, 4), (NMS, 12), (NEW, 8), ({"model": "p"}, 4), ({"model": "nms"}, 20), ({}, 16)
            ),
            reads(f"{OF_VERSION}:rate1m", 5.75, (P, 4), (NMS, 12), (NEW, 8)),
            reads(f"{OF_VERSION}:rate1m", 8, (P, 4), (NMS, 12 + 1 + 2), (NEW, 8 + 3)),
            reads(f"{OF_VERSION}:irate1m", 8, (P, 4), (NMS, 15), (NEW, 11)),
            reads(
                f"{OFFERED}:rate1m",
                8,
                *((P, 4), (NMS, 15), (NEW, 11)),
                *(({"model": "p"}, 4), ({"model": "nms"}, 26), ({}, 16 + 1 + 2 + 3)),
            ),
            # The model p has no limit, only its version.
            reads(
                f"{OFFERED}:irate1m",
                8,
                *((P, 4), (NMS, 15), (NEW, 11), ({"model": "nms"}, 26), ({}, 4 + 26)),
            ),
        ),
    ),
    Case(
        says="failures count from the first, also fewer than one a second",
        world=World(minutes=8)
        .triton("nms", qps=4, failures={"OTHER": 0.2, "BACKEND": 0.6})
        .triton("nms", replica="triton-2", qps=4, failures={"OTHER": 0.4}),
        rules=(FAILED, REQUESTS),
        checks=(
            reads(
                FAILED,
                8,
                ({**NMS, "reason": "OTHER"}, 0.6),
                ({**NMS, "reason": "BACKEND"}, 0.6),
                ({**NMS, "reason": "CANCELED"}, 0),
                ({**NMS, "reason": "REJECTED"}, 0),
            ),
            reads(REQUESTS, 8, (NMS, 9.2)),
        ),
    ),
    Case(
        says="what was offered in five minutes is forgotten after six, in one minute after two",
        world=World(minutes=20)
        .gauge(f"{OFFERED}:rate1m", [(10, 40), (99, 4)], **NMS)
        .gauge(f"{OFFERED}:rate1m", 4, **NEW)
        .gauge(HELD, 8, **NMS),
        rules=(f"{OFFERED}:rate5m", f"{OFFERED}:mean1m"),
        given=(f"{OFFERED}:rate1m", HELD),
        checks=(
            reads(f"{OFFERED}:rate5m", 16, (NMS, 4), (NEW, 4)),
            reads(f"{OFFERED}:mean1m", 9, (NMS, 40)),
            reads(f"{OFFERED}:mean1m", 12, (NMS, 4)),
        ),
    ),
    Case(
        says="a quarter of an hour is three times five minutes, where there is a limit",
        world=World(minutes=50)
        .gauge(f"{OFFERED}:rate5m", [(33, 100), (38, 12), (43, 6), (99, 3)], **NMS)
        .gauge(f"{OFFERED}:rate5m", 3, **NEW)
        .gauge(HELD, 8, **NMS),
        rules=(f"{OFFERED}:mean5m", f"{OFFERED}:mean15m"),
        given=(f"{OFFERED}:rate5m", HELD),
        checks=(
            reads(f"{OFFERED}:mean15m", 45, (NMS, 7)),
            reads(f"{OFFERED}:mean5m", 45, (NMS, 3)),
            absent(f"{OFFERED}:mean15m", 5),
        ),
    ),
)
