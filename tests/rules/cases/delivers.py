"""Of several tritonobs serve of a cluster: which one delivers, and which ones answer."""

from support.case import Case, fires, reads, silent
from support.simulate import World

NOBODY, DOWN = "TritonobsNobodyDelivers", "TritonobsServeDown"
FIRST = {"job": "tritonobs", "instance": "10.0.0.1:9900"}
SECOND = {"job": "tritonobs", "instance": "10.0.0.2:9900"}


def two(first, second, series="tritonobs_delivers"):
    """Two tritonobs serve of one cluster."""
    return World(minutes=20).gauge(series, first, **FIRST).gauge(series, second, **SECOND)


CASES = (
    Case(
        says="where nobody holds the Lease nobody delivers",
        world=two([(5, 1), (99, 0)], 0),
        rules=(NOBODY,),
        checks=(silent(NOBODY, 5), fires(NOBODY, 8, severity="critical")),
    ),
    Case(
        says="one that delivers is enough, also while it changes",
        world=two([(5, 1), (99, 0)], [(5.5, 0), (99, 1)]),
        rules=(NOBODY,),
        checks=(silent(NOBODY, 4), silent(NOBODY, 6), silent(NOBODY, 15)),
    ),
    Case(
        says="of two daemons one that answers is enough",
        world=two([(5, 1), (99, 0)], 1, "up"),
        rules=(DOWN,),
        checks=(silent(DOWN, 10), silent(DOWN, 20)),
    ),
    Case(
        says="of two daemons none answers: each is down",
        world=two(0, 0, "up"),
        rules=(DOWN,),
        checks=(reads(f'count(ALERTS{{alertname="{DOWN}", alertstate="firing"}})', 10, ({}, 2)),),
    ),
)
