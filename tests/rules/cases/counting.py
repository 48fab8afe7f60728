"""Requests and failures since the evaluation before, counter by counter: steps, gaps, new servers, resets."""

from support.case import Case, absent, reads
from support.simulate import World, of_model

READ, NEW = "target:triton_page_read:bool", "replica:triton_pages_new:count"
OWNER, KNOWN = "subject:tritonobs_owner:info", "subject:tritonobs_model_info:held"
LAST = "target:triton_requests:last"
FAILED = "replica_model_version_reason:triton_requests_failed:increase"
TOLD = "replica_model_version_outcome:tritonobs_requests_told:increase"
OWN_BAD = f'{TOLD}{{outcome="bad"}}'
SEEN = "replica_model_version_seen_by:triton_requests_bad:increase"
DONE = "model_version:triton_requests:increase"
SUCCESS, OUTCOMES = "nv_inference_request_success", "tritonobs_requests_total"
UNMEASURED, COUNTED = "slo:sli_unmeasured_requests:increase", "slo:tritonobs_counted:info"
TIMED, VALID = "model_version_stage_le:tritonobs_requests_timed:increase", "slo:sli_valid_requests:increase"
NMS, R = {"model": "nms", "version": "1"}, {"replica": "r"}
# What a counter does, by what its model is called: what it reads when, and what came when.
COUNTERS = {
    "steps": ([(20, 4), (25, 10), (99, 11)], {20: 6, 25: 1}),
    "resets": ([(20, 9), (99, 2)], {20: 2}),
    "comes_late": ([(20, None), (99, 3)], {20: 3}),
    "away_for_long": ([(5, 4), (20, None), (99, 9)], {20: 5}),
    "away_for_minutes": ([(15, 4), (20, None), (99, 9)], {20: 5}),
    "goes": ([(19.5, 4), (99, None)], {}),
    "history": ([(20, None), (99, 7)], {}),
}


def server(world):
    """The server of every counter is known but for one, whose page is new when its counter comes."""
    return world.gauge(NEW, [(20, None), (20.25, 1), (99, None)], replica="history")


def came(record, minute, *, zeros=False, **labels):
    """What came at this minute, counter by counter; those that read the same are told as 0, or not at all."""
    rows = []
    for model, (levels, steps) in COUNTERS.items():
        there = next(value for until, value in levels if minute < until) is not None
        known = model != "history" or minute > 20
        if minute in steps or (zeros and there and known):
            own = {key: value for key, value in of_model(model).items() if key in labels["by"]}
            rows.append(({**own, **labels.get("also", {})}, steps.get(minute, 0)))
    return reads(record, minute, *rows)


def failing(reason):
    """Failures of one reason, as read from every counter."""
    world = server(World(minutes=30))
    for model, (levels, _) in COUNTERS.items():
        world.gauge(LAST, levels, **of_model(model), reason=reason, job="triton")
        world.gauge(OWNER, 1, model=model, version="1").gauge(OWNER, 1, model=model)
    whole = {"by": ("model", "version", "replica"), "also": {"reason": reason}}
    return Case(
        says=f"failures are counted once, from 0 for a counter that is new on a server that is not: {reason}",
        world=world,
        rules=(FAILED,),
        given=(LAST, NEW, OWNER, KNOWN),
        checks=tuple(came(FAILED, minute, **whole) for minute in (19, 20, 20.25, 25, 25.25)),
    )


def ensemble():
    """Failures of an ensemble, which is counted under several versions, and twice where it fails itself."""
    world = World(minutes=12).gauge(KNOWN, 1, model="e", kind="ensemble").gauge(OWNER, 1, model="e")
    for version, more in (("1", 6), ("-1", 10)):
        for reason in ("OTHER", "BACKEND"):
            own = {"model": "e", "version": version, "replica": "r", "reason": reason}
            world.gauge(LAST, [(10, 4), (99, 4 + more)], **own)
    told = {"model": "e", "version": "1", "replica": "r"}
    return Case(
        says="an ensemble's failures are its own under one version, those of itself but once",
        world=world,
        rules=(FAILED,),
        given=(LAST, NEW, OWNER, KNOWN),
        checks=(reads(FAILED, 10, ({**told, "reason": "OTHER"}, 8), ({**told, "reason": "BACKEND"}, 16)),),
    )


def succeeding():
    """Requests that succeeded, as read from every counter."""
    world = server(World(minutes=30))
    for model, (levels, _) in COUNTERS.items():
        world.gauge(SUCCESS, levels, **of_model(model), job="triton")
    for replica, more in (("a", 3), ("b", 5)):
        world.gauge(SUCCESS, [(20, 4), (99, 4 + more)], **NMS, replica=replica, job="triton")
    world.gauge(FAILED, [(20, 0), (20.25, 2), (99, 0)], **NMS, replica="a", reason="OTHER")
    told = {"by": ("model", "version")}
    others = f'{DONE}{{model!="nms"}}'
    return Case(
        says="requests are counted once, over all servers and with those that failed",
        world=world,
        rules=(DONE,),
        given=(FAILED, NEW),
        checks=(
            *(came(others, minute, zeros=True, **told) for minute in (19, 20, 20.75, 25, 25.25)),
            reads(f'{DONE}{{model="nms"}}', 20, (NMS, 10)),
        ),
    )


def own_bad():
    """Errors that workers told, two outcomes and two workers on each of two servers, one of which is new."""
    world = World(minutes=30).gauge(NEW, [(20, None), (20.25, 1), (99, None)], replica="new")
    own = {**NMS, "job": "triton"}
    for replica in ("r", "new"):
        begin = [(20, None)] if replica == "new" else [(20, 4)]
        for worker in ("a", "b"):
            for outcome, more in (("error", 3), ("rejected", 5), ("ok", 100)):
                labels = {**own, "replica": replica, "worker": worker, "outcome": outcome}
                world.gauge(OUTCOMES, [*begin, (99, 4 + more)], **labels)
    world.gauge(OUTCOMES, [(2, 900), (99, None)], **own, replica="r", worker="gone", outcome="error")
    world.gauge(OUTCOMES, [(25, 6), (99, 7)], **own, replica="single", worker="a", outcome="error")
    return Case(
        says="errors that workers told add up; those of a worker long gone and of a new server are history",
        world=world,
        rules=(LAST, TOLD),
        given=(NEW,),
        checks=(
            absent(OWN_BAD, 19),
            reads(OWN_BAD, 20, ({**NMS, "replica": "r", "outcome": "bad"}, 16)),
            absent(OWN_BAD, 20.25),
            reads(OWN_BAD, 25, ({**NMS, "replica": "single", "outcome": "bad"}, 1)),
            absent(OWN_BAD, 25.25),
        ),
    )


def bad_input():
    """Bad input that workers told, beside what Triton counted, with and without a cache.

    The outcomes are of two workers; Triton counted more requests than they told, and failures.
    """
    world = World(minutes=30).gauge(NEW, [(22, None), (22.25, 1), (99, None)], replica="new")
    for replica in ("r", "cached", "plain", "new"):
        own = {**NMS, "job": "triton", "replica": replica}
        # Each counter stands at 4, and has moved at 20.
        begin = [(22, None)] if replica == "new" else [(20, 4)]
        for worker in ("a", "b"):
            for outcome, more in (("ok", 20), ("error", 3), ("rejected", 1), ("invalid", 5)):
                if replica != "plain" or outcome != "invalid":
                    world.gauge(OUTCOMES, [*begin, (99, 4 + more)], **own, worker=worker, outcome=outcome)
        world.gauge(SUCCESS, [*begin, (99, 4 + 60)], **own)
        world.gauge(FAILED, [(20, 0), (20.25, 8), (99, 0)], **NMS, replica=replica, reason="BACKEND")
        world.gauge(FAILED, [(20, 0), (20.25, 90), (99, 0)], **NMS, replica=replica, reason="CANCELED")
    world.gauge("nv_cache_num_hits_per_model", 7, **NMS, job="triton", replica="cached")
    world.gauge("nv_cache_num_hits_per_model", 0, **NMS, job="triton", replica="r")
    # Its workers told the first bad input after five minutes without a page, and so did its Triton.
    gap = {**NMS, "job": "triton", "replica": "gap"}
    for labels, name, levels in (
        ({"worker": "a", "outcome": "invalid"}, OUTCOMES, [(10, 4), (15, None), (99, 6)]),
        ({"worker": "a", "outcome": "ok"}, OUTCOMES, [(10, 4), (15, None), (99, 7)]),
        ({}, SUCCESS, [(10, 4), (15, None), (99, 24)]),
    ):
        world.gauge(name, levels, **gap, **labels)
    # Its first bad input came at 12; what Triton had counted until then was before it.
    first = {**NMS, "job": "triton", "replica": "first"}
    world.gauge(OUTCOMES, [(12, None), (99, 2)], **first, worker="a", outcome="invalid")
    world.gauge(OUTCOMES, [(12, 10), (99, 11)], **first, worker="a", outcome="ok")
    world.gauge(SUCCESS, [(12, 10), (99, 15)], **first)

    def of(outcome, **values):
        return [({**NMS, "replica": replica, "outcome": outcome}, value) for replica, value in values.items()]

    def told(minute, *rows):
        return reads(f'{TOLD}{{outcome!="bad"}}', minute, *rows)

    still = {"r": 0, "first": 0, "gap": 0}
    return Case(
        says="bad input counts as told, and what Triton saw beside it is known where there is any",
        world=world,
        rules=(LAST, TOLD),
        given=(NEW, FAILED),
        checks=(
            told(9, *of("seen", r=0, gap=0), *of("untold", r=0, gap=0)),
            told(
                12,
                *of("invalid", first=2),
                *of("seen", r=0, first=5),
                *of("untold", r=0, first=2),
            ),
            told(
                15,
                *of("invalid", gap=2),
                *of("seen", r=0, first=0, gap=20),
                *of("untold", r=0, first=0, gap=15),
            ),
            told(
                20,
                *of("invalid", r=10, cached=10),
                *of("seen", **{**still, "r": 60 + 8}),
                *of("untold", **{**still, "r": 60 + 8 - 2 * (20 + 3 + 1 + 5)}),
            ),
            told(20.25, *of("seen", **still), *of("untold", **still)),
            told(22, *of("seen", **still, new=0), *of("untold", **still, new=0)),
            told(22.25, *of("seen", **still, new=0), *of("untold", **still, new=0)),
        ),
    )


def seen():
    """Failures by reason, and how many of them the model told itself."""
    world = World(minutes=3)
    for model, own, reasons in (
        ("both", 2, {"REJECTED": 3, "OTHER": 4, "BACKEND": 5, "": 1, "CANCELED": 90}),
        ("model_knows_all", 2, {"BACKEND": 2}),
        ("one_more", 2, {"BACKEND": 3}),
        ("triton", None, {"BACKEND": 5, "": 1}),
        ("clients", None, {"CANCELED": 90}),
    ):
        labels = {"model": model, "version": "1", "replica": "r"}
        if own is not None:
            world.gauge(TOLD, own, **labels, outcome="bad")
        for reason, value in reasons.items():
            world.gauge(FAILED, value, **labels, reason=reason)

    def by(who, **values):
        return [
            ({"model": model, "version": "1", "replica": "r", "seen_by": who}, value)
            for model, value in values.items()
        ]

    return Case(
        says="what the backend failed is told by the model as far as it knows, and by Triton beyond that",
        world=world,
        rules=(SEEN,),
        given=(TOLD, FAILED),
        checks=(
            reads(
                SEEN,
                2,
                *by("model", both=2, model_knows_all=2, one_more=2),
                *by("triton", both=11, one_more=1, triton=6),
            ),
        ),
    )


def unmeasured():
    """SLOs about the time of requests, of versions and over them, of which some requests were not timed."""
    world = World(minutes=3)
    # The model, requests that were timed and all of them, version by version, and what counted for its SLO.
    for model, versions, valid in (
        ("timed", {"1": (7, 7)}, {"1": 7}),
        ("one_left", {"1": (7, 7)}, {"1": 6}),
        ("untimed", {"1": (None, 4)}, {"1": None}),
        ("over_all", {"1": (7, 7), "2": (None, 4), "3": (5, 5)}, {"": 7}),
    ):
        for version, (timed, requests) in versions.items():
            own = {"model": model, "version": version}
            world.gauge(DONE, requests, **own)
            world.gauge(TIMED, timed, **own, stage="total", le="+Inf")
            world.gauge(TIMED, timed, **own, stage="total", le="0.5")
        for version, value in valid.items():
            own = {"model": model, "version": version, "slo": "a"}
            world.gauge(COUNTED, 1, **own, stage="total", le="0.5").gauge(VALID, value, **own)
            world.gauge(COUNTED, 1, **own | {"slo": "up"}).gauge(VALID, 90, **own | {"slo": "up"})
    return Case(
        says="requests that no bound timed are unmeasured, of each version and over all; others are not",
        world=world,
        rules=(UNMEASURED,),
        given=(COUNTED, TIMED, DONE, VALID),
        checks=(
            reads(
                UNMEASURED,
                2,
                ({"model": "one_left", "version": "1", "slo": "a"}, 1),
                ({"model": "untimed", "version": "1", "slo": "a"}, 4),
                ({"model": "over_all", "slo": "a"}, 9),
            ),
        ),
    )


def read_of(model, successes, *, told=0):
    """What is kept of a model: its successes, a second time where it tells of bad input, and that."""
    own = {"job": "triton", **of_model(model)}
    kept = () if successes is None else ("success", "telling") if told else ("success",)
    rows = [({**own, "counted": counted}, successes) for counted in kept]
    return [*rows, ({**own, "outcome": "invalid"}, told)] if told else rows


CASES = (
    Case(
        says="a page is read while it answers, and new once, unless it was read in the hour before",
        world=World(minutes=95)
        .gauge("up", [(5, 0), (10, 1), (15, 0), (20, 1), (85, 0), (99, 1)], job="triton", **R)
        .gauge("up", 1, job="other", replica="o"),
        rules=(READ, NEW),
        checks=(
            absent(READ, 4),
            reads(NEW, 5, (R, 1)),
            absent(NEW, 5.5),
            reads(READ, 9, ({"job": "triton", **R}, 1)),
            absent(READ, 10.5),
            absent(NEW, 15),
            reads(NEW, 85, (R, 1)),
        ),
    ),
    Case(
        says="a counter of failures or errors is read from its first, and no more when it is gone",
        world=World(minutes=12)
        .gauge("nv_inference_request_failure", [(5, 0), (10, 1), (99, None)], job="triton", **NMS, **R)
        .gauge("nv_inference_request_failure", 3, job="other", **NMS)
        .gauge(OUTCOMES, [(5, 0), (10, 2), (99, None)], job="triton", **NMS, **R, outcome="rejected")
        .gauge(OUTCOMES, 3, job="other", **NMS, **R, outcome="cancelled"),
        rules=(LAST,),
        checks=(
            absent(LAST, 4),
            reads(
                LAST,
                6,
                ({"job": "triton", **NMS, **R}, 1),
                ({"job": "triton", **NMS, **R, "outcome": "rejected"}, 2),
            ),
            absent(LAST, 10.5),
        ),
    ),
    Case(
        says="successes are read while they are there, again beside one bad input, and one reply is a number",
        world=World(minutes=12)
        .gauge(SUCCESS, [(10, 7), (99, None)], job="triton", **of_model("goes"))
        .gauge(OUTCOMES, 1, job="triton", **of_model("goes"), outcome="invalid")
        .gauge(SUCCESS, 8, job="triton", **of_model("stays"))
        .gauge(OUTCOMES, [(10, 1), (99, None)], job="triton", **of_model("stays"), outcome="invalid")
        .gauge(SUCCESS, 9, job="triton", **of_model("tells_none"))
        .gauge(OUTCOMES, 0, job="triton", **of_model("tells_none"), outcome="invalid"),
        rules=(LAST,),
        checks=(
            reads(
                LAST, 9, *read_of("goes", 7, told=1), *read_of("stays", 8, told=1), *read_of("tells_none", 9)
            ),
            reads(
                LAST, 10.5, *read_of("goes", None, told=1), *read_of("stays", 8), *read_of("tells_none", 9)
            ),
        ),
    ),
    failing("OTHER"),
    failing("BACKEND"),
    ensemble(),
    succeeding(),
    own_bad(),
    bad_input(),
    seen(),
    unmeasured(),
)
