"""Limits that traffic is near: the only ones of which it is worked out what an excess means."""

from support.case import Case, reads
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
RATES = f"{OFFERED}near_limit"
# Levels until so many minutes, and what is read of them at minute 20. Each window begins at its mean.
LEVELS = {
    NOW: 10,
    SCRAPE: [(18.95, 0.1), (19.3, 0.5), (19.4, 4), (19.6, 3), (19.8, 2), (99, 1)],
    MINUTE: [(18.4, 9), (18.6, 4), (19.1, 2), (99, 5)],
    f"{OFFERED}rate5m": [(10, 1), (15.9, 30), (16.1, 6), (17.1, 3), (99, 7)],
    f"{OFFERED}mean15m": 11,
    f"{OFFERED}breath": 12,
    f"{OFFERED}breath5m": 13,
    "subject:tritonobs_queue_waits:info": 14,
}
READ = {
    "short": 10,
    "hot": 1,
    "hot_before": 2,
    "hot_earlier": 3,
    "hot_lasting": 0.5,
    "minute": 5,
    "minute_before": 4,
    "minute_mean": 4,
    "minute_least": 2,
    "five_before": 6,
    "five_mean": 6,
    "five_least": 3,
    "quarter": 11,
    "breath": 12,
    "breath5m": 13,
    "waits": 14,
}


def compared():
    """Two clusters with the same traffic, of which one is near its limit."""
    world = World(minutes=20).gauge(NEAR, 8, **EAST)
    for record, level in LEVELS.items():
        for labels in (EAST, WEST):
            world.gauge(record, level, **labels)
    return Case(
        says="what is compared with a limit that is near is read of each window, of that subject alone",
        world=world,
        rules=(RATES,),
        given=(NEAR, *LEVELS),
        checks=(reads(RATES, 20, *(({**EAST, "rate": name}, value) for name, value in READ.items())),),
    )


CASES = (
    compared(),
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
