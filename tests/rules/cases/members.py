"""Pipelines whose members call requests invalid: how many of its failures a pipeline is charged for.

Every model has failures on two servers and in two versions, and what it told comes from two servers, so that
sums are sums. Numbers are of the whole model.
"""

from support.case import Case, reads
from support.simulate import World, but_at

FAILED = "replica_model_version_seen_by:triton_requests_bad:increase"
TOLD = "replica_model_version_outcome:tritonobs_requests_told:increase"
CALLS = "pipeline_stage_model:tritonobs_pipeline_calls:held"
CAUSED = "pipeline_model:tritonobs_requests_caused:ratio"
UNTOLD = "model:tritonobs_pipeline_requests_untold:increase"
REQUESTS = "model_version:triton_requests:increase"
BAD = "model_version:triton_requests_bad:increase"
BOTH = "model_part:tritonobs_pipeline_requests_unaccounted:increase"
ENDS = "model_outcome:tritonobs_pipeline_requests_told:increase"
NOW = 75
SERVERS_AND_VERSIONS = {("r", "1"): 0.5, ("s", "1"): 0.3, ("r", "2"): 0.2}
# Failures: two scrapes ago and before, one scrape ago, now.
FAILURES = {
    "half": (7, 20, 10),
    "half_a": (6, 8, 4),
    "half_b": (2, 2, 2),
    # Two pipelines that report invalid requests themselves call this member, too.
    "beside": (10, 10, 10),
    "told_long_ago": (3, 3, 3),
    "shared": (12, 9, 9),
    "believed": (3, 2, 1),
    "believed_too": (1, 1, 2),
    # A believed pipeline has more failures than this member.
    "less": (8, 8, 8),
    "less_than_believed": (1, 1, 1),
    "other": (2, 2, 2),
    "believed_more": (4, 4, 4),
    "more": (3, 3, 3),
    "fails_more": (9, 9, 9),
    "earlier": (6, 6, 6),
    "invalid_earlier": (2, 2, 2),
    "well": (5, 5, 5),
    # Members report late: the first invalid requests were charged a scrape ago.
    "first": (3, 8, 2),
    "first_member": (0, 0, 1),
    "first_member_too": (0, 0, 0.25),
    "first_of_more": (3, 5, 2),
    "first_all_known": (3, 5, 6),
    "first_of_all": (3, None, 2),
    "second": (3, 5, 2),
    "first_beside": (9, 9, 2),
    "first_told_long_ago": (0.25, 0.25, 0.25),
    "first_shared": (4, 4, 4),
    "first_believed": (1, 1, 1),
    "first_believed_too": (0.5, 0.5, 0.5),
    # A member tells now what it did a scrape ago.
    "late": (5, 5, 1),
    "later": (2, 2, 1),
    "half_written": (5, 5, 1),
}
# Calls by stage, and the share of what the member fails that the pipeline has caused.
PIPELINES = {
    "half": {"half_a": ((1,), 0.5), "half_b": ((1,), 1)},
    "beside": {"shared": ((1,), 0.5)},
    "told_long_ago": {"shared": ((1,), 0.2)},
    "believed": {"shared": ((1.5, 0.5), 0.2)},
    "believed_too": {"shared": ((1,), 0.1)},
    "less": {"less_than_believed": ((1,), 1), "other": ((1,), 1)},
    "believed_more": {"less_than_believed": ((1,), 1)},
    "more": {"fails_more": ((1,), 1)},
    "earlier": {"invalid_earlier": ((1,), 1)},
    "well": {"silent": ((1,), 1)},
    "first": {"first_member": ((1,), 0.5), "first_member_too": ((1,), 1)},
    "first_of_more": {"first_more": ((1,), 1)},
    "first_all_known": {"first_known": ((1,), 1)},
    "first_of_all": {"first_ever": ((1,), 1)},
    "second": {"told_twice": ((1,), 1)},
    "first_beside": {"first_shared": ((1, 1), 1)},
    "first_told_long_ago": {"first_shared": ((1,), 0.1)},
    "first_believed": {"first_shared": ((1, 1), 1)},
    "first_believed_too": {"first_shared": ((1,), 1)},
    "late": {"tells_late": ((1,), 1)},
    "later": {"tells_late": ((1,), 1)},
    "half_written": {"tells_late": ((1,), 1)},
}


def scrapes(earlier, before, now):
    """One level, and others at the last two scrapes."""
    return [(NOW - 0.25, earlier), (NOW, before), (999, now)]


# What was called invalid.
INVALID = {
    "half_a": scrapes(0.3, 0.1, 0.2),
    "half_b": scrapes(0.05, 0.05, 0.05),
    "shared": scrapes(5, 2, 1),
    "believed": scrapes(2, 0.5, 0.25),
    "believed_too": scrapes(1, 0.25, 0.25),
    "less_than_believed": scrapes(1, 1, 1),
    "fails_more": scrapes(1, 1, 1),
    "invalid_earlier": but_at(None, {NOW - 11: 4}),
    "silent": scrapes(1, 1, 1),
    "first_member": but_at(None, {NOW - 12: 1, NOW: 6}),
    "first_member_too": but_at(None, {NOW: 0.5}),
    "first_more": but_at(None, {NOW: 20}),
    "first_known": but_at(None, {NOW: 5.5}),
    "first_ever": but_at(None, {NOW: 6}),
    "told_twice": but_at(None, {NOW - 0.25: 6, NOW: 6}),
    "first_shared": but_at(None, {NOW: 10}),
    "first_believed": but_at(None, {NOW: 3}),
    "first_believed_too": but_at(None, {NOW: 1}),
    "tells_late": scrapes(1, 1, 4),
}
# Minutes until which pipelines told of what they call invalid themselves: believed within the hour.
TELLING = {
    "believed": NOW - 50,
    "believed_too": NOW,
    "told_long_ago": NOW - 70,
    "believed_more": NOW,
    "second": NOW - 70,
    "first_told_long_ago": NOW - 70,
    "first_believed": NOW,
    "first_believed_too": NOW,
}
CHARGED = {
    # Half of 4, all of 2, and one that no member accounts for.
    "half": 5,
    # Half of the 9 without the 2 and 2 of believed pipelines, and a fifth of it.
    "beside": 2.5,
    "told_long_ago": 1,
    "believed": 1,
    "believed_too": 2,
    "less": 2,
    "believed_more": 4,
    "more": 3,
    "earlier": 6,
    "well": 0,
    # Half of the one member and all of the other; 2 - 6.5 - 0.75 are too many, and 8 were charged before.
    "first": 0.75 - 5.25,
    # No more is returned than was charged.
    "first_of_more": -5,
    "first_all_known": 0,
    "first_of_all": 0,
    "second": 0,
    # 4 - 2 * 1 - 0.5 failures and 10 - 3 - 1 invalid requests are not of believed pipelines.
    "first_beside": 1.5 - (6 + 1.5 - 2),
    "first_told_long_ago": 0.15 - 0.25,
}
# A scrape ago: failures, and failures that no member accounts for; of these, what a member accounts for now.
AN_EVALUATION_AGO = {
    "half": (20, 20 - (0.1 + 0.05) - (4 + 2), 0),
    "beside": (10, 10 - 1.25 - 2, 0),
    "told_long_ago": (3, 3 - 1.25 - 0.8, 0),
    "late": (5, 5 - 1, 3),
    # No more than there was.
    "later": (2, 2 - 1, 1),
    # Not all records of this scrape are there.
    "half_written": (5, 5 - 1, 0),
}
# Each nine minutes a request with bad input that a member reports a scrape later; or two, and one failed.
SPARSE = {"sparse": 1, "sparse_and_failing": 2}


def fleet():
    """All of them side by side."""
    world = World(minutes=NOW)
    for model, levels in FAILURES.items():
        for (replica, version), part in SERVERS_AND_VERSIONS.items():
            own = {"model": model, "version": version, "replica": replica, "seen_by": "triton"}
            world.gauge(FAILED, scrapes(*(None if one is None else part * one for one in levels)), **own)
    for pipeline, members in PIPELINES.items():
        for version, part in (("1", 0.8), ("2", 0.2)):
            now = None if pipeline == "half_written" else 90 * part
            world.gauge(REQUESTS, scrapes(70 * part, 50 * part, now), model=pipeline, version=version)
        for member, (stages, share) in members.items():
            world.gauge(CAUSED, share, pipeline=pipeline, model=member)
            for stage, calls in enumerate(stages):
                world.gauge(CALLS, calls, pipeline=pipeline, stage=f"s{stage}", model=member)
    for replica, part in (("r", 0.6), ("s", 0.4)):
        for model, levels in INVALID.items():
            own = {"model": model, "version": "1", "replica": replica, "outcome": "invalid"}
            world.gauge(TOLD, [(at, None if one is None else part * one) for at, one in levels], **own)
        for model, until in TELLING.items():
            own = {"model": model, "version": "1", "replica": replica, "outcome": "seen"}
            world.gauge(TOLD, [(until, 1), (999, None)], **own)
    world.gauge(UNTOLD, 1, model="half")
    return world.gauge(UNTOLD, 100, model="half", part="late")


def charged():
    """Each version has its part."""
    for model, all_versions in CHARGED.items():
        for version, part in (("1", 0.8), ("2", 0.2)):
            yield {"model": model, "version": version}, round(part * all_versions, 4)


def told():
    """The outcomes of the pipelines; requests are the most of two scrapes."""
    for model, (failed, untold, later) in AN_EVALUATION_AGO.items():
        seen = 50 if model == "half_written" else 90
        for outcome, value in (("seen", seen), ("failed", failed), ("untold", untold - later)):
            yield {"model": model, "outcome": outcome}, round(value, 4)


def sparse():
    """Pipelines with a request each nine minutes."""
    world = World(minutes=NOW)
    for pipeline, failed in SPARSE.items():
        member, at = f"{pipeline}_member", range(5, NOW, 9)
        world.gauge(CALLS, 1, pipeline=pipeline, stage="s", model=member)
        world.gauge(CAUSED, 1, pipeline=pipeline, model=member)
        world.gauge(REQUESTS, but_at(0, dict.fromkeys(at, failed)), model=pipeline, version="1")
        own = {"model": pipeline, "version": "1", "replica": "r", "seen_by": "triton"}
        world.gauge(FAILED, but_at(None, dict.fromkeys(at, failed)), **own)
        own = {"model": member, "version": "1", "replica": "r", "outcome": "invalid"}
        world.gauge(TOLD, but_at(None, {minute + 0.25: 1 for minute in at}), **own)
    return world


CASES = (
    Case(
        says="a pipeline is charged for what its members fail, and for failures that no member accounts for",
        world=fleet(),
        rules=(BAD,),
        given=(FAILED, TOLD, CALLS, CAUSED, UNTOLD),
        checks=(reads(f'{BAD}{{model=~"{"|".join(CHARGED)}"}}', NOW, *charged()),),
    ),
    Case(
        says="failures of a pipeline that no member accounts for are told with its requests and failures",
        world=fleet(),
        rules=(BOTH, ENDS),
        given=(FAILED, TOLD, CALLS, CAUSED, REQUESTS),
        checks=(reads(f'{ENDS}{{model=~"earlier|{"|".join(AN_EVALUATION_AGO)}"}}', NOW, *told()),),
    ),
    Case(
        says="a pipeline of few requests is charged for what no member reports, not for late reports",
        world=sparse(),
        rules=(BOTH, ENDS, UNTOLD, BAD),
        given=(FAILED, TOLD, CALLS, CAUSED, REQUESTS),
        checks=(
            reads(
                f"sum by (model) (sum_over_time({BAD}[72m]))",
                NOW,
                ({"model": "sparse"}, 0),
                # The first time nothing is known to be invalid, and all is charged; then one is returned.
                ({"model": "sparse_and_failing"}, 8),
            ),
        ),
    ),
)
