"""Requests that a latency SLO does not measure: those of an interval, less what was measured of the same."""

from support.case import Case, reads
from support.simulate import World, but_at

UNMEASURED, COUNTED = "slo:sli_unmeasured_requests:increase", "slo:tritonobs_counted:info"
TIMED = "model_version_stage_le:tritonobs_requests_timed:increase"
DONE, VALID = "model_version:triton_requests:increase", "slo:sli_valid_requests:increase"
SCRAPE, NOW = 0.25, 3
ASKED = NOW - SCRAPE
# By model: the stage of its SLO, what its versions 1 and 2 timed of it and were asked, and what of each the
# SLO measured.
MODELS = {
    # A stage, and the whole request.
    "stage": ("decode", (10, 7), (20, 20), (6, 2)),
    "whole": ("total", (10, 7), (20, 20), (6, 2)),
    "all_measured": ("decode", (10, 7), (20, 20), (10, 7)),
    # Where nothing times the whole request, all requests count; here only version 1 does so.
    "untimed": ("total", (None, None), (20, 30), (6, 2)),
    "timed_by_one": ("total", (10, None), (20, 30), (6, 2)),
    "unmeasured": ("total", (None, None), (20, 30), (0, 0)),
}
# Those that time the whole request from this interval on, or did until the one before.
CHANGES = {
    "begins_to_time": ([(ASKED, None), (99, 10)], 10),
    "ends_to_time": ([(ASKED, 10), (99, None)], 20),
}


def asked(value):
    """So many requests in the interval that is asked about, and others in those beside it."""
    return None if value is None else but_at(value + 50, {ASKED: value})


def unmeasured():
    """All models; an SLO of each version, and one of the model."""
    world, rows = World(minutes=NOW), []

    def subject(labels, stage, valid, expected):
        own = {**labels, "slo": "late"}
        world.gauge(COUNTED, 1, **own, stage=stage, le="0.5")
        world.gauge(VALID, but_at(0, {ASKED: valid}) if valid else None, **own)
        rows.extend([(own, expected - valid)] if expected > valid else [])

    for model, (stage, timed, done, valid) in MODELS.items():
        every = []
        for version, of_stage, of_all, measured in zip("12", timed, done, valid, strict=True):
            own = {"model": model, "version": version}
            world.gauge(DONE, asked(of_all), **own).gauge(
                TIMED, asked(of_stage), **own, stage=stage, le="+Inf"
            )
            world.gauge(TIMED, 1, **own, stage=stage, le="0.5")
            every.append(of_all if of_stage is None else of_stage)
            subject(own, stage, measured, every[-1])
        subject({"model": model}, stage, sum(valid), sum(every))
    for model, (timed, expected) in CHANGES.items():
        own = {"model": model, "version": "1"}
        world.gauge(DONE, asked(20), **own).gauge(TIMED, timed, **own, stage="total", le="+Inf")
        for labels in (own, {"model": model}):
            subject(labels, "total", 6, expected)
    return Case(
        says="what is not measured is told of the interval that was counted, by version and by model",
        world=world,
        rules=(UNMEASURED,),
        given=(COUNTED, TIMED, DONE, VALID),
        checks=(reads(UNMEASURED, NOW, *rows),),
    )


CASES = (unmeasured(),)
