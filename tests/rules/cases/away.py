"""What counters of requests did while they could not be read: for a scrape, or for more than an hour."""

from support.case import Case, reads
from support.simulate import World, of_model

LAST, READ = "target:triton_requests:last", "target:triton_page_read:bool"
NEW = "replica:triton_pages_new:count"
OWNER, KNOWN = "subject:tritonobs_owner:info", "subject:tritonobs_model_info:held"
FAILED = "replica_model_version_reason:triton_requests_failed:increase"
TOLD = "replica_model_version_outcome:tritonobs_requests_told:increase"
DONE = "model_version:triton_requests:increase"
HITS = "nv_cache_num_hits_per_model"
NOW = 66


def long_away(before, after):
    """One value until more than an hour ago, and another one now."""
    return [(5, before), (NOW, None), (99, after)]


def paused(before, then, after):
    """One value, another one at one scrape, none at the next one, and one now."""
    return [(NOW - 0.5, before), (NOW - 0.25, then), (NOW, None), (99, after)]


def failing():
    """Failures of two reasons, on two servers whose page was not read at the scrape before this one."""
    world = World(minutes=NOW)
    came = {}
    for reason in ("OTHER", "BACKEND"):
        for model, levels, value in (
            # It started again an hour ago, when its page was read without a failure.
            ("restarted", long_away(4, 9), 9),
            ("paused", paused(4, 10, 15), 5),
        ):
            world.gauge(LAST, levels, **of_model(model), reason=reason)
            came[model, reason] = value
    for model in ("restarted", "paused"):
        world.gauge(READ, [(NOW - 0.25, 1), (NOW, None), (99, 1)], replica=model, job="triton")
    rows = [({**of_model(model), "reason": reason}, value) for (model, reason), value in came.items()]
    return Case(
        says="failures of a pause are those since its begin, and those of an hour ago are of another time",
        world=world,
        rules=(FAILED,),
        given=(LAST, NEW, OWNER, KNOWN, READ),
        checks=(reads(FAILED, NOW, *rows),),
    )


def succeeding():
    """Requests of a server that was known all the time, of whose model nothing was read for an hour."""
    world = World(minutes=NOW)
    world.gauge(LAST, long_away(4, 9), **of_model("away"), counted="success")
    world.gauge(LAST, paused(4, 10, 15), **of_model("paused"), counted="success")
    return Case(
        says="requests of a pause are those since its begin; after an hour, a counter is another one",
        world=world,
        rules=(DONE,),
        given=(LAST, NEW, FAILED),
        checks=(
            reads(
                DONE,
                NOW,
                *(({"model": m, "version": "1"}, value) for m, value in (("away", 9), ("paused", 5))),
            ),
        ),
    )


def telling():
    """Models that tell bad input: one was away, one paused, and three told the first of it just now."""
    world = World(minutes=NOW)
    soon = {"single": 0, "cached": 0, "cached_until_now": 0}
    counters = {
        "away": {
            "error": long_away(4, 9),
            "invalid": long_away(3, 6),
            "ok": long_away(2, 8),
            "success": long_away(4, 30),
            "telling": long_away(4, 30),
        },
        "paused": {
            "invalid": paused(2, 2, 3),
            "success": paused(4, 10, 15),
            "telling": paused(4, 10, 15),
        },
    } | {
        model: {
            "invalid": [(NOW, None), (99, 1)],
            "ok": [(NOW, 8), (99, 9)],
            "success": [(NOW, 10), (99, 13)],
            "telling": [(NOW, None), (99, 13)],
        }
        for model in soon
    }
    for model, levels in counters.items():
        for name, level in levels.items():
            label = "counted" if name in {"success", "telling"} else "outcome"
            world.gauge(LAST, level, **of_model(model), **{label: name})
    world.gauge(HITS, 1, **of_model("cached"), job="triton")
    world.gauge(HITS, [(NOW - 0.5, 7), (99, None)], **of_model("cached_until_now"), job="triton")

    def of(outcome, **values):
        return [({**of_model(model), "outcome": outcome}, value) for model, value in values.items()]

    return Case(
        says="a single bad input is told, and counts from 0 after an hour, or since the begin of a pause",
        world=world,
        rules=(TOLD,),
        given=(LAST, NEW, FAILED),
        checks=(
            reads(
                TOLD,
                NOW,
                *of("bad", away=9),
                *of("invalid", away=6, paused=1, single=1, cached=1, cached_until_now=1),
                *of("seen", away=30, paused=5, single=3, cached_until_now=3),
                *of(
                    "untold", away=30 - 9 - 6 - 8, paused=5 - 1, single=3 - 1 - 1, cached_until_now=3 - 1 - 1
                ),
            ),
        ),
    )


CASES = (failing(), succeeding(), telling())
