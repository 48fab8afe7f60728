"""The page about a limit: of pipelines, not of their members; while it goes on; not of what counts twice."""

from support.case import Case, absent, all_fire, reads
from support.simulate import World

OFFERED, HELD = "subject:triton_requests_offered", "subject:tritonobs_qps_limit:held"
RATE, FIVE = f"{OFFERED}:rate1m", f"{OFFERED}:rate5m"
EXCEEDED, SEEN = "subject:tritonobs_limit_exceeded:rate", "subject:tritonobs_limit_exceeded:timestamp_seconds"
KEPT, AGAIN = "subject:tritonobs_limit_kept:info", "subject:tritonobs_limit_again:info"
CALLS, PASSED_ON = (
    "pipeline_stage_model:tritonobs_pipeline_calls:held",
    "model:tritonobs_limit_passed_on:info",
)
TWICE, OWNER, ALERT = "model:triton_scraped_twice:info", "subject:tritonobs_owner:info", "TritonQpsAboveLimit"
BEFORE = [(20, 1), (99, None)]


def members():
    """A member of each pipeline; some pipelines exceed their limits, or did so ten minutes ago."""
    world = World(minutes=30)
    for pipeline, record, level in (
        ("exceeds", SEEN, 1),
        ("waits", KEPT, 1),
        ("exceeded", SEEN, BEFORE),
        ("waited", KEPT, BEFORE),
        ("calm", HELD, 9),
    ):
        world.gauge(CALLS, 2, pipeline=pipeline, stage="a", model=f"member-{pipeline}")
        world.gauge(record, level, model=pipeline, version="1")
    return world


def paged():
    """Models with a limit of 10, and what is known of each."""
    world = World(minutes=2)
    for model, known in {
        "exceeds": {EXCEEDED: 12},
        "waits": {KEPT: 1},
        "comes-back": {AGAIN: 1},
        "calm": {},
        "called": {EXCEEDED: 12, PASSED_ON: 1},
        "counts-twice": {EXCEEDED: 20, FIVE: 20, TWICE: 1},
        "more-than-twice": {EXCEEDED: 21, FIVE: 21, TWICE: 1},
    }.items():
        for record, level in {HELD: 10, RATE: 9, FIVE: 9, OWNER: 1, **known}.items():
            version = {} if record in {PASSED_ON, TWICE} else {"version": "1"}
            world.gauge(record, level, model=model, **version)
    return world


def changed():
    """Models with a limit of 10 that got 20 twice; at minute 40 some limits change."""
    world = World(minutes=50)
    for model, after in (("stays", 10), ("little-raised", 19), ("raised", 40), ("removed", None)):
        twice = [(10, None), (12, 20), (30, None), (32, 20), (99, None)]
        world.gauge(EXCEEDED, twice, model=model).gauge(HELD, [(40, 10), (99, after)], model=model)
    return world


CASES = (
    Case(
        says="an overflow that came back is over when its limit is raised above it, or removed",
        world=changed(),
        rules=(AGAIN,),
        given=(EXCEEDED, HELD, PASSED_ON),
        checks=(
            reads(
                f"{AGAIN} * 0 + 1",
                39,
                *(({"model": model}, 1) for model in ("stays", "little-raised", "raised", "removed")),
            ),
            reads(f"{AGAIN} * 0 + 1", 41, *(({"model": model}, 1) for model in ("stays", "little-raised"))),
        ),
    ),
    Case(
        says="what a pipeline calls gets too much with it, for five minutes more",
        world=members(),
        rules=(PASSED_ON,),
        given=(CALLS, SEEN, KEPT, HELD),
        checks=(
            reads(
                PASSED_ON, 30, *(({"model": f"member-{pipeline}"}, 1) for pipeline in ("exceeds", "waits"))
            ),
        ),
    ),
    Case(
        says="an overflow is told while it goes on or comes back, not of members, nor of what counts twice",
        world=paged(),
        rules=(ALERT,),
        given=(EXCEEDED, KEPT, AGAIN, RATE, FIVE, HELD, TWICE, PASSED_ON, OWNER, SEEN),
        checks=(
            absent('ALERTS{alertstate="pending"}', 2),
            all_fire(
                ALERT,
                2,
                *(
                    {"model": model, "version": "1", "severity": "critical"}
                    for model in ("exceeds", "waits", "comes-back", "more-than-twice")
                ),
            ),
        ),
    ),
)
