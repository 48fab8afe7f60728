"""Latency thresholds whose bounds are named and taken back: each request counts once."""

from support.case import Case, absent, reads
from support.simulate import World

VALID, BAD = "slo:sli_valid_requests:increase", "slo:sli_bad_requests:increase"
GREW = "worker_stage_le:tritonobs_stage_duration_seconds_bucket:increase"
# Two a second, looked at every 15 s.
OFTEN = 30
NMS = {"model": "nms", "slo": "latency"}


def served(*workers, slow=0.25):
    """Two requests a second, of which the slow share takes 0.2 s and the others 0.05 s."""
    world = World(minutes=60).info("nms", "1").triton("nms", qps=2)
    for pid, level in workers or [(100, 2)]:
        world.stage("nms", "total", qps=level, times={0.2: slow, 0.05: 1 - slow}, pid=pid)
    return world


def short_lived(world):
    """Another worker, seen for a minute: of its 40 requests 30 took no longer than 0.1 s."""
    own = {"job": "triton", "instance": "triton-1:8002", "replica": "triton-1", "model": "nms"}
    own |= {"version": "1", "stage": "total", "worker": "nms_0_1-101-1a2b3c"}
    for le, done in (("0.1", 30), ("+Inf", 40)):
        steps = [(30, None), (31, done), (99, None)]
        world.gauge("tritonobs_stage_duration_seconds_bucket", steps, **own, le=le)
    return world


def promised(world, *away, **bounds):
    """A threshold for each bound, for the steps in which it is named; the server is away in these minutes."""
    world.gauge("tritonobs_slo_objective_ratio", 0.9, **NMS)
    for name, named in bounds.items():
        le = name.removeprefix("le_").replace("_", ".")
        world.gauge("tritonobs_latency_target_seconds", named, **NMS, stage="total", le=le)
    return world.outage("triton-1", *away)


CASES = (
    Case(
        says="what came before a threshold was named is not charged",
        world=promised(served(), le_0_1=[(30, None), (99, 0.1)]),
        rules=(VALID, BAD, GREW),
        checks=(
            absent(f'max_over_time({VALID}{{slo="latency"}}[60m]) > {OFTEN} + 0.1', 60),
            reads(f"sum(avg_over_time({BAD}[20m]))", 60, ({}, OFTEN / 4)),
            # Until then it promises answers. Only the evaluation in which it is named knows nothing.
            reads(f"sum(sum_over_time({VALID}[61m]))", 60, ({}, 60 * 60 * 2 - OFTEN)),
        ),
    ),
    Case(
        says="what a worker did that began a moment before a threshold was named is not charged",
        world=promised(
            served((100, [(30, 2), (99, None)]), (101, [(30, None), (99, 2)])),
            le_0_1=[(30.25, None), (99, 0.1)],
        ),
        rules=(VALID, BAD, GREW),
        checks=(reads(f"sum(sum_over_time({VALID}[61m]))", 60, ({}, 60 * 60 * 2 - OFTEN)),),
    ),
    Case(
        says="a server that was away for a quarter of an hour is charged for what it did meanwhile",
        world=promised(served(), (20, 35), le_0_1=[(99, 0.1)]),
        rules=(VALID, BAD, GREW),
        checks=(
            reads(f"sum(sum_over_time({VALID}[61m]))", 60, ({}, 60 * 60 * 2)),
            reads(f"sum(sum_over_time({BAD}[61m]))", 60, ({}, 60 * 60 * 2 / 4)),
        ),
    ),
    Case(
        says="where every request is slow, every request is bad",
        world=promised(served(slow=1), le_0_1=[(99, 0.1)]),
        rules=(VALID, BAD, GREW),
        checks=(
            reads(f"sum(avg_over_time({VALID}[20m]))", 60, ({}, OFTEN)),
            reads(f"sum(avg_over_time({BAD}[20m]))", 60, ({}, OFTEN)),
        ),
    ),
    Case(
        says="a threshold that comes back is not charged for the minutes without it",
        world=promised(
            served(),
            le_0_1=[(30, 0.1), (34, None), (99, 0.1)],
            le_0_5=[(30, None), (34, 0.5), (99, None)],
        ),
        rules=(VALID, BAD, GREW),
        checks=(
            absent(f"max_over_time({VALID}[60m]) > {OFTEN} + 0.1", 60),
            absent(f"max_over_time({BAD}[60m]) > {OFTEN / 4} + 0.1", 60),
            absent(f"min_over_time({BAD}[60m]) < -0.1", 60),
            reads(f"sum(avg_over_time({BAD}[20m]))", 60, ({}, OFTEN / 4)),
        ),
    ),
    Case(
        says="what a worker did before its first scrape is charged",
        world=promised(short_lived(served()), le_0_1=[(99, 0.1)]),
        rules=(VALID, BAD, GREW),
        checks=(
            reads(f"sum(sum_over_time({VALID}[61m]))", 60, ({}, 60 * 60 * 2 + 40)),
            reads(f"sum(sum_over_time({BAD}[61m]))", 60, ({}, 60 * 60 * 2 / 4 + 10)),
        ),
    ),
    Case(
        says="workers that live for a minute are charged for all that they did",
        world=promised(
            served(
                (100, [(30, 2), (99, None)]),
                (101, [(30, None), (31, 2), (99, None)]),
                (102, [(31, None), (99, 2)]),
            ),
            le_0_1=[(99, 0.1)],
        ),
        rules=(VALID, BAD, GREW),
        checks=(
            # A worker shows 0 one scrape after the last of the one before: twice, 30 requests are in none.
            reads(f"sum(sum_over_time({VALID}[61m]))", 60, ({}, 60 * 60 * 2 - 2 * 30)),
            reads(f"sum(sum_over_time({BAD}[61m]))", 60, ({}, (60 * 60 * 2 - 2 * 30) / 4)),
        ),
    ),
)
