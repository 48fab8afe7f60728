"""Moments: a burst of what came lately or was above its limit before, and since when a worker is dead."""

from support.case import Case, absent, reads
from support.simulate import World

SPIKE, OWNER = "TritonQpsSpike", "subject:tritonobs_owner:info"
BETWEEN, MEAN = "subject:triton_requests_offered:irate1m", "subject:triton_requests_offered:mean1m"
BURST, HELD = "subject:tritonobs_limit_burst:timestamp_seconds", "subject:tritonobs_qps_limit:held"
EXCEEDED, SAME = "subject:tritonobs_limit_exceeded:rate", "model_version:tritonobs_limit_of_model:info"
DEAD = "model_instance:tritonobs_worker_dead:info"
LASTS = "model_instance:tritonobs_worker_dead_lasts:info"
WORKER = {"model": "nms", "version": "1", "replica": "a", "model_instance": "nms_0_0"}
AT = 7
# By model: since when its traffic is known, until when it was above its limit, and whether the burst is told.
BURSTS = {
    "had_traffic_before": (0, None, True),
    "came_with_its_burst": (AT, None, True),
    "above_long_before": (0, 1, True),
    "above_lately": (0, 4, False),
}


def bursts():
    """A burst of every model at minute 7, told a minute later."""
    world, told = World(minutes=AT + 1), []
    for model, (since, above, tells) in BURSTS.items():
        own = {"model": model}
        world.gauge(OWNER, 1, **own).gauge(HELD, 8, **own).gauge(MEAN, 4, **own)
        world.gauge(BETWEEN, [(since, None), (AT, 4), (AT + 0.25, 40), (99, 4)], **own)
        world.gauge(BURST, [(AT, None), (AT + 0.25, AT * 60), (99, None)], **own)
        if above:
            world.gauge(EXCEEDED, [(above, 9), (99, None)], **own)
        told += [(own, 1)] if tells else []
    asked = f'count by (model) (ALERTS{{alertname="{SPIKE}",alertstate="firing"}})'
    return Case(
        says="the first burst of new traffic is told, unless traffic was above its limit within five minutes",
        world=world,
        rules=(SPIKE,),
        given=(OWNER, HELD, MEAN, BETWEEN, BURST, EXCEEDED, SAME),
        checks=(reads(asked, AT + 0.75), reads(asked, AT + 1, *told)),
    )


def dead():
    """A worker that is dead at three evaluations."""
    world = World(minutes=12).gauge(DEAD, [(10, None), (10.75, 1), (99, None)], **WORKER)
    return Case(
        says="a worker counts as dead from the second evaluation on that says so, until it beats again",
        world=world,
        rules=(LASTS,),
        given=(DEAD,),
        checks=(
            absent(LASTS, 10),
            reads(LASTS, 10.25, (WORKER, 1)),
            reads(LASTS, 10.5, (WORKER, 1)),
            absent(LASTS, 10.75),
        ),
    )


CASES = (bursts(), dead())
