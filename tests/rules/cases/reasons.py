"""Errors of stages by reason: the first ones of a reason count, what a server had counted before does not."""

from support.case import Case, reads
from support.simulate import World

ERRORS = "tritonobs_stage_errors_total"
RATES = {
    "model_version_stage_reason:tritonobs_stage_errors:rate1m": 1,
    "model_version_stage_reason:tritonobs_stage_errors:rate5m": 5,
}
NMS = {"model": "nms", "version": "1", "stage": "decode"}


def row(reason):
    """The labels of a reason."""
    return {**NMS, "reason": reason}


def server(world, replica, up):
    """A server by what its scrapes say."""
    return world.gauge("up", up, job="triton", instance=f"{replica}:8002", replica=replica)


def counted(world, reason, level, *, replica="a", worker="w-1-a"):
    """What a worker has counted by the minute."""
    own = {"job": "triton", "instance": f"{replica}:8002", "replica": replica, "worker": worker}
    return world.gauge(ERRORS, level, **own, **row(reason))


def since(minute, value):
    """Nothing until a minute, and the same value from then on."""
    return [(minute, None), (999, value)]


def fleet(minutes):
    """Server a is there all the time, b since minute 20; c was down until then, and had errors before.

    What is young came to b two windows of so many minutes after b itself.
    """
    world = server(server(server(World(minutes=50), "a", 1), "b", since(20, 1)), "c", [(20, 0), (99, 1)])
    counted(world, "new", since(30, 50))
    counted(world, "new", since(30, 30), worker="w-2-b")
    counted(world, "new", since(30, 10), replica="c")
    counted(world, "old", since(20, 70), replica="b")
    counted(world, "old", since(20, 90), replica="c")
    counted(world, "young", since(20 + 2 * minutes, 30), replica="b")
    # Twelve a minute in the ten minutes before minute 30.
    return counted(world, "past", [(20 + step / 4, 3 * step) for step in range(1, 41)] + [(999, 120)])


CASES = tuple(
    Case(
        says=f"fifty errors of a new reason count from the first on, for {minutes} min; history does not",
        world=fleet(minutes),
        rules=(rate,),
        checks=(
            # What servers bring along when they come is no news.
            reads(f'{rate}{{reason="old"}}', 20.5, (row("old"), 0)),
            reads(f'{rate}{{reason="young"}}', 20.5 + 2 * minutes, (row("young"), 30 / (60 * minutes))),
            reads(f'{rate}{{reason="new"}}', 30.5, (row("new"), 90 / (60 * minutes))),
            reads(f'{rate}{{reason="new"}}', 30.25 + minutes, (row("new"), 0)),
            reads(f'round({rate}{{reason="past"}}, 0.01)', 29.75, (row("past"), 0.2)),
            reads(f'{rate}{{reason="past"}}', 30.25 + minutes, (row("past"), 0)),
        ),
    )
    for rate, minutes in RATES.items()
)
