"""What boards draw is what alerts judge: the panels' own queries, at the moment an alert fires."""

import re

from support.case import Case, fires, near, reads, silent
from support.simulate import World
from tritonobs.render.grafana import load_boards

ABOVE, SLOW = "TritonQpsAboveLimit", "TritonReplicaSlow"
MODEL = {"model": "detector", "version": "1"}
OFFERED = "subject:triton_requests_offered:rate1m"
LIMIT = "subject:tritonobs_qps_limit:held"
BOARDS = load_boards()


def drawn(board, title):
    """The first query of a panel, with all choices open."""
    (panel,) = [one for one in BOARDS[board]["panels"] if one["title"].startswith(title)]
    return re.sub(r'"\$\w+(\|?)"', r'".*\1"', panel["targets"][0]["expr"])


def burst():
    """Three requests a second, ten in one minute, three again; six are allowed."""
    world = World(minutes=16).triton("detector", qps=[(10, 3), (11.5, 12), (99, 3)])
    world.info("detector").info("detector", "1")
    return world.gauge("tritonobs_qps_limit", 6, **MODEL)


def slower(factor):
    """Two replicas of which both take ten times as long from minute 10 on, the second `factor` times that."""
    world = World(minutes=30).info("detector").info("detector", "1")
    world.triton("detector", qps=5, seconds=[(10, 0.05), (99, 0.5)])
    return world.triton(
        "detector", qps=5, seconds=[(10, 0.05 * factor), (99, 0.5 * factor)], replica="triton-2"
    )


USED = drawn("fleet", "Share of the limit")
SKEW = drawn("fleet", "Replica compared")
PEERS = "replica_model_version:triton_request_duration_seconds_per_peers:ratio5m"

CASES = (
    Case(
        says="a burst that pages is above the limit on the board at that moment",
        world=burst(),
        rules=(ABOVE, OFFERED, LIMIT, "model_version:triton_requests:rate1m"),
        checks=(
            fires(ABOVE, 11.5, severity="critical", **MODEL),
            reads(f"({USED}) > bool 1", 11.5, (MODEL, 1)),
            reads(f"({USED}) > bool 1", 9.5, (MODEL, 0)),
            reads(f"count({drawn('fleet', 'Requests per second and')} > 6)", 11.5, ({}, 1)),
        ),
    ),
    Case(
        says="replicas that slow down together stay beside each other at every moment",
        world=slower(1),
        rules=(SLOW, PEERS),
        checks=(
            *(
                near(f"{quantile}({SKEW})", 10 + step / 4, {}, 1, tolerance=1e-3)
                for step in range(16)
                for quantile in ("min", "max")
            ),
            silent(SLOW, 30),
        ),
    ),
    Case(
        says="a replica is drawn as slow as the alert says it is",
        world=slower(3),
        rules=(SLOW, PEERS),
        checks=(
            near(f"max({SKEW})", 25, {}, 3, tolerance=1e-3),
            reads(f'count(ALERTS{{alertname="{SLOW}",alertstate="firing"}})', 25, ({}, 1)),
        ),
    ),
)
