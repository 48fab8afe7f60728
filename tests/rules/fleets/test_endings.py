"""Alerts end with what they are about, and see what is new, against simulated fleets."""

from support.fleet_sim.curves import between
from support.fleet_sim.fleet import Fleet
from support.fleet_sim.world import live

WAIT, SLOW, SATURATED = "TritonQueueWaitHigh", "TritonStageSlow", "TritonSaturated"
SURGE, DEAD = "TritonErrorReasonSurge", "TritonWorkerDead"


def test_nothing_about_requests_fires_when_there_are_none(engine):
    """Requests wait and are slow until 1800 s, then nobody asks: it is over a minute and a half later."""
    fleet = Fleet(seconds=3600, seed=1)
    server = fleet.server()
    fleet.serve(server, qps=between(0, 1800, 3), capacity=3.2, slow=1, slow_seconds=0.4)
    fleet.promises_time("nms", "0.25")
    fleet.owns("nms", "1")

    world = live(engine, fleet, WAIT, SLOW)

    assert world.fired(WAIT, until=1800)
    assert world.fired(WAIT, since=1890) == world.fired(SLOW, since=1890) == []
