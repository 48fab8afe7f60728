"""Successes of each model and server since the evaluation before."""

from support.case import WRITTEN, Case, reads
from support.simulate import World

GREW = "replica_model:triton_requests:increase"
NOW, SCRAPE = 80, 0.25
ALWAYS, COMES = [(999, 1)], [(NOW, None), (999, 1)]
# By server: successes of each version of its model, when its page is read, and how many came at minute 80.
SERVERS = {
    "steps": ([[(NOW, 4), (999, 10)]], ALWAYS, 6),
    "two_versions": ([[(NOW, 4), (999, 10)], [(NOW, 5), (999, 8)]], ALWAYS, 6 + 3),
    "rests": ([7], ALWAYS, 0),
    "resets": ([[(NOW, 9), (999, 2)]], ALWAYS, 2),
    "model_comes": ([[(NOW, None), (999, 3)]], ALWAYS, 3),
    "away_for_minutes": ([[(NOW - 5, 4), (NOW, None), (999, 9)]], ALWAYS, 5),
    "away_for_more_than_an_hour": ([[(NOW - 65, 4), (NOW, None), (999, 9)]], ALWAYS, 9),
    "gone": ([[(NOW - 2 * SCRAPE, 4), (999, None)]], ALWAYS, None),
    "new_page": ([[(NOW, None), (999, 7)]], COMES, None),
}


def successes():
    """Every server, with one model."""
    world = World(minutes=NOW + 1)
    for replica, (versions, read, _) in SERVERS.items():
        own = {"model": "nms", "replica": replica}
        for version, counted in enumerate(versions, 1):
            world.gauge(
                "nv_inference_request_success",
                counted,
                **own,
                job="triton",
                instance=f"{replica}:8002",
                version=str(version),
            )
        world.gauge("up", read, job="triton", instance=f"{replica}:8002", replica=replica)
    rows = [
        ({"model": "nms", "replica": replica}, came)
        for replica, (_, _, came) in SERVERS.items()
        if came is not None
    ]
    quiet = [(labels, 0) for labels, _ in rows]
    return Case(
        says="successes count once, all of those of a new counter, but none of a page that was never read",
        world=world,
        rules=(GREW,),
        checks=(
            reads(GREW, NOW + WRITTEN, *rows),
            reads(GREW, NOW + SCRAPE + WRITTEN, *quiet, ({"model": "nms", "replica": "new_page"}, 0)),
        ),
    )


CASES = (successes(),)
