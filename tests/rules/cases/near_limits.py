"""Limits that traffic is near: the only ones of which it is worked out what an excess means."""

from support.promtool import Case, reads
from support.simulate import World

NEAR, LIMIT = "subject:tritonobs_qps_limit:near", "subject:tritonobs_qps_limit:held"
OFFERED = "subject:triton_requests_offered:"
NOW, MINUTE, SCRAPE = (f"{OFFERED}{what}" for what in ("rate1m", "mean1m", "irate1m"))


def _world(*rates: tuple[str, float, dict[str, str]]) -> World:
    world = World(minutes=4)
    for name in ("detector", "reader"):
        for cluster in ("east", "west"):
            world = world.gauge(LIMIT, 10, model=name, cluster=cluster)
            world = world.gauge(LIMIT, 100, model=name, version="1", cluster=cluster)
    for series, value, labels in rates:
        world = world.gauge(series, value, **labels)
    return world


EAST, WEST = ({"model": "detector", "cluster": cluster} for cluster in ("east", "west"))
READER = {"model": "reader", "cluster": "east"}


CASES = (
    Case(
        says="a limit is near where one of three rates is above eight tenths of it, of that subject alone",
        world=_world(
            (NOW, 8.1, EAST),
            (MINUTE, 7, EAST),
            (SCRAPE, 7, EAST),
            (NOW, 8, WEST),
            (MINUTE, 8, WEST),
            (SCRAPE, 8, WEST),
            (NOW, 7, READER),
            (MINUTE, 7, READER),
            (SCRAPE, 8.1, READER),
            (MINUTE, 80.1, {**WEST, "version": "1"}),
            (MINUTE, 79, {**EAST, "version": "1"}),
        ),
        rules=(NEAR,),
        given=(LIMIT, NOW, MINUTE, SCRAPE),
        checks=(reads(NEAR, 3, (EAST, 10), (READER, 10), ({**WEST, "version": "1"}, 100)),),
    ),
    Case(
        says="a limit without traffic is not near",
        world=_world((NOW, 50, {"model": "other", "cluster": "east"})),
        rules=(NEAR,),
        given=(LIMIT, NOW, MINUTE, SCRAPE),
        checks=(reads(NEAR, 3),),
    ),
)
