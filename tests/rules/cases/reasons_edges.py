"""Reasons of errors that surge: what falls, what callers, members or an end of traffic explain; until when.

Each model has errors of a stage, or failures that only Triton counts, from minute 10 on.
"""

from support.case import Case, reads
from support.simulate import World, but_at

SURGE = "TritonErrorReasonSurge"
OWNER, BAD = "subject:tritonobs_owner:info", "model_version:triton_requests_bad:increase"
PACE5, PACE1 = "model_version:triton_requests:rate5m", "model_version:triton_requests:rate1m"
STAGE, TRITON = (
    "model_version_stage_reason:tritonobs_stage_errors:rate5m",
    "model_version_reason:triton_requests_failed:mean5m",
)
LATELY, INVALID = (
    "model_version_reason:triton_requests_failed:rate1m",
    "model_version:triton_requests_invalid:increase5m",
)
CALLS = "pipeline_stage_model:tritonobs_pipeline_calls:held"
CAUSED = "pipeline_model:tritonobs_requests_caused:ratio"
HOURS = tuple(f"{record.rsplit(':', 1)[0]}:mean1h" for record in (STAGE, TRITON))
GIVEN = (OWNER, BAD, PACE5, PACE1, STAGE, TRITON, LATELY, INVALID, CALLS, CAUSED, *HOURS)
KINDS = {STAGE: {"stage": "decode", "reason": "r"}, TRITON: {"reason": "r"}}
BEGIN, NOW, END = 10, 14, 15.5
SURGES = [(BEGIN, None), (99, 0.1)]


def then(first, second):
    """Errors a second for two minutes, and afterwards."""
    return [(BEGIN, None), (BEGIN + 2, first), (99, second)]


# No request was bad and none failed within two minutes, unless said. By model: its errors, its bad requests,
# its failures by Triton's counters, and whether it is told.
FALLING = {
    "falls": (then(0.1, 0.074), 0, None, False),
    "falls_by_less_than_a_quarter": (then(0.1, 0.076), 0, None, True),
    "few_fall": (then(8 / 300, 5.1 / 300), 0, None, False),
    "falls_with_one_bad_request": (then(0.1, 0.07), but_at(0, {11.5: 1, 13.25: 1}), None, True),
    "falls_and_fails_a_little": (then(0.1, 0.07), 0, 0.05, True),
}
# By model: invalid requests within five minutes, bad ones at each scrape, whether what Triton counts is told.
LONG_BEFORE, LATELY_BAD = 4.75, 9.5
CALLERS = {
    "none_is_invalid": (None, 0, True),
    "one_is_invalid": (1, 0, False),
    "four_are_charged": (100, but_at(0, {LATELY_BAD: 4}), False),
    "five_are_charged": (100, but_at(0, {LATELY_BAD: 5}), True),
    "charged_before": (100, but_at(0, {LONG_BEFORE: 100}), False),
}
# By model: its requests a second within five minutes and in the last one, and whether it is told.
PACES = {
    "ended": (0.2, 0, False),
    "seldom_has_any": (0.05, 0, True),
    "goes_on": (1, 1, True),
}
# Bad requests of the models that pipelines call, by version.
MEMBERS = {
    "of_two_versions": {"1": 30, "2": 20},
    "fails": {"1": 32},
    "fails_less": {"1": 28},
    "steady": {"1": 1},
    "failed_before": {"1": but_at(1, {LONG_BEFORE: 10_000})},
}
# By pipeline: its bad requests by version, whom it calls, and whether it is told.
PIPELINES = {
    "as_its_members": ({"1": 100}, ("of_two_versions", "fails"), False),
    "more_than_its_members": ({"1": 100}, ("of_two_versions", "fails_less"), True),
    "both_versions_together": ({"1": 50, "2": 50}, ("fails", "fails_less"), True),
    "more_than_them_before": ({"1": but_at(1, {LONG_BEFORE: 10_000})}, ("steady",), False),
    "less_than_them_before": ({"1": 2}, ("failed_before",), True),
}


def surges(world, model, kind, *, rate=SURGES, bad=0, lately=None, pace=(4, 4)):
    """A model with an owner and traffic that has errors of this kind."""
    own = {"model": model, "version": "1"}
    world.gauge(OWNER, 1, **own).gauge(PACE5, pace[0], **own).gauge(PACE1, pace[1], **own)
    world.gauge(BAD, bad, **own).gauge(kind, rate, **own, **KINDS[kind])
    world.gauge(LATELY, lately, **own, reason="r")


def case(kind, says, world, told, *checks):
    """Exactly these models are told at minute 14, and none before."""
    return Case(
        says=f"{says}: {kind}",
        world=world,
        rules=(SURGE,),
        given=GIVEN,
        checks=(firing(NOW - 0.25), firing(NOW, *told), *checks),
    )


def firing(minute, *models):
    """Exactly these models are told at this minute."""
    asked = f'count by (model) (ALERTS{{alertname="{SURGE}",alertstate="firing"}})'
    return reads(asked, minute, *(({"model": model}, 1) for model in models))


def named(table):
    """The models of a table that are told."""
    return tuple(model for model, (*_, told) in table.items() if told)


def falling(kind):
    """Errors that fall, with and without a failure in the last two minutes."""
    world = World(minutes=END)
    for model, (rate, bad, lately, _) in FALLING.items():
        surges(world, model, kind, rate=rate, bad=bad, lately=lately)
    surges(world, "ends", kind, rate=[(BEGIN, None), (NOW + 0.25, 0.1), (99, None)])
    told = named(FALLING)
    return case(
        kind,
        "errors that fell by a quarter in two minutes, of which nothing fails any more, are over in a minute",
        world,
        (*told, "ends"),
        firing(NOW + 1, *told, "ends"),
        firing(NOW + 1.25, *told),
    )


def callers():
    """Failures in Triton's counters while callers send invalid requests."""
    world = World(minutes=NOW)
    for model, (invalid, bad, _) in CALLERS.items():
        surges(world, model, TRITON, bad=bad)
        world.gauge(INVALID, invalid, model=model, version="1")
    return case(
        TRITON,
        "failures beside invalid requests are the caller's fault, unless five were charged in five minutes",
        world,
        named(CALLERS),
    )


def paces(kind):
    """Errors of models whose traffic ended, or is rare."""
    world = World(minutes=NOW)
    for model, (five, one, _) in PACES.items():
        surges(world, model, kind, pace=(five, one))
    return case(
        kind,
        "a model that had a request in ten seconds, and none in the last minute, has no surge",
        world,
        named(PACES),
    )


def pipelines(kind):
    """Errors of pipelines whose members fail as often, or less."""
    world = World(minutes=NOW)
    for model, versions in MEMBERS.items():
        for version, bad in versions.items():
            world.gauge(BAD, bad, model=model, version=version)
    for pipeline, (versions, members, _) in PIPELINES.items():
        surges(world, pipeline, kind)
        for version, bad in versions.items():
            world.gauge(BAD, bad, model=pipeline, version=version)
        for model in members:
            world.gauge(CALLS, 1, pipeline=pipeline, stage="one", model=model)
            world.gauge(CAUSED, 1, pipeline=pipeline, model=model)
    return case(
        kind,
        "a pipeline whose members all together failed nearly as often in five minutes is not told",
        world,
        named(PIPELINES),
    )


CASES = (
    callers(),
    *(world(kind) for kind in KINDS for world in (falling, paces, pipelines)),
)
