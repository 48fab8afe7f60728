"""Reasons of errors against the hour before, from recorded rates: of stages, and of Triton's own failures."""

import math

from support.case import Case, fires, reads, silent
from support.simulate import World

SURGE = "TritonErrorReasonSurge"
NMS = {"model": "nms", "version": "1"}
OWNER, TRAFFIC = "subject:tritonobs_owner:info", "model_version:triton_requests:rate5m"
STAGES = "model_version_stage_reason:tritonobs_stage_errors:rate5m"
TRITONS = "model_version_reason:triton_requests_failed:rate1m"
MEAN = "model_version_reason:triton_requests_failed:mean5m"
BAD = "model_version:triton_requests_bad:increase"
GIVEN = (OWNER, TRAFFIC, STAGES, TRITONS, BAD)
KINDS = ((STAGES, {"stage": "decode", "reason": "r"}), (TRITONS, {"reason": "r"}))
FIRING = {**NMS, "severity": "warning"}


def surge(kind, says, rates, *checks, minutes, traffic=4, bad=1):
    """Errors of one kind at these rates, of a model with this traffic; the alert fires and is silent then."""
    record, labels = kind
    world = (
        World(minutes=minutes).gauge(OWNER, 1, **NMS).gauge(TRAFFIC, traffic, **NMS).gauge(BAD, bad, **NMS)
    )
    return Case(
        says=f"{says}: {record}",
        world=world.gauge(record, rates, **NMS, **labels),
        rules=(SURGE,),
        given=GIVEN,
        checks=tuple(
            fires(SURGE, check, **FIRING, **labels) if isinstance(check, float) else check for check in checks
        ),
    )


def told(kind, before, *rates):
    """Whether rates are a surge after an hour at another one, each as a model of its own."""
    record, labels = kind
    hour = f"{record.rsplit(':', 1)[0]}:mean1h"
    world = World(minutes=14)
    for model, (rate, _) in enumerate(rates):
        own = {"model": f"{model}", "version": "1"}
        world.gauge(OWNER, 1, **own).gauge(TRAFFIC, 4, **own).gauge(BAD, 1, **own)
        world.gauge(record, rate, **own, **labels).gauge(hour, before, **own, **labels)
    firing = f'ALERTS{{alertname="{SURGE}",alertstate="firing"}}'
    surging = [({"model": f"{model}"}, 1) for model, (_, surges) in enumerate(rates) if surges]
    return Case(
        says=f"after {before * 300:g} errors in five minutes as many more as chance makes are none: {record}",
        world=world,
        rules=(SURGE,),
        given=(*GIVEN, *(f"{one.rsplit(':', 1)[0]}:mean1h" for one, _ in KINDS)),
        checks=(reads(f"count by (model) ({firing})", 14, *surging),),
    )


def chance(errors):
    """A rate in a second: so many errors in five minutes, and four of their deviations and four more."""
    return (errors + 4 * math.sqrt(errors) + 4) / 300


BURNS = ("slo:error_budget_burn_fast:ratio", "slo:error_budget_burn_medium:ratio")
COUNTED = "slo:tritonobs_counted:info"


def paged(burn, *, slo, stage, says, check):
    """Errors while a page about this SLO fires, for the whole model; the SLO is about `stage`, "" is none."""
    record, labels = KINDS[0]
    of = {"model": "nms", "slo": slo}
    return Case(
        says=says,
        world=World(minutes=40)
        .gauge(OWNER, 1, **NMS)
        .gauge(TRAFFIC, 4, **NMS)
        .gauge(BAD, 1, **NMS)
        .gauge(record, [(30, None), (999, 0.1)], **NMS, **labels)
        .gauge(burn, [(32, None), (999, 20)], **of)
        .gauge(COUNTED, 1, **of, **({"stage": stage} if stage else {})),
        rules=(SURGE,),
        given=(*GIVEN, *BURNS, COUNTED),
        checks=(check,),
    )


OF_EACH = tuple(
    case
    for kind in KINDS
    for case in (
        surge(
            kind,
            "six times the hour before is said after four minutes, until that hour is as bad, and longer",
            [(120, 1), (200, 0.05), (999, 0.3)],
            silent(SURGE, 203.5),
            206.75,
            216.0,
            silent(SURGE, 240, since=224),
            minutes=240,
        ),
        surge(
            kind,
            "six errors in five minutes are said, and not before there are as many",
            [(30, 0), (99, 0.02)],
            silent(SURGE, 33.5),
            39.75,
            minutes=40,
        ),
        surge(kind, "so are seven for a new reason", [(15, None), (99, 7 / 300)], 20.0, minutes=20),
        surge(kind, "four for it are not", [(15, None), (99, 4 / 300)], silent(SURGE, 30), minutes=30),
        surge(kind, "four are not", [(10, 0), (99, 0.015)], silent(SURGE, 30), minutes=30),
        surge(kind, "errors as frequent as ever are not", 0.1, silent(SURGE, 40), minutes=40),
        surge(
            kind,
            "a reason last seen two hours ago is new again, for five minutes",
            [(30, 0.1), (150, None), (999, 0.1)],
            silent(SURGE, 153.5),
            154.75,
            silent(SURGE, 180, since=162),
            minutes=180,
        ),
        surge(
            kind,
            "a new reason of a model of a quarter of an hour is said",
            [(35, None), (99, 0.1)],
            40.0,
            minutes=41,
            traffic=[(20, None), (99, 4)],
        ),
        surge(
            kind,
            "a new model has only new reasons",
            [(20, None), (99, 0.1)],
            silent(SURGE, 60),
            minutes=60,
            traffic=[(20, None), (99, 4)],
        ),
        told(kind, 0, (4.9 / 300, False), (5.1 / 300, True)),
        *(
            told(kind, errors / 300, (0.98 * threshold, False), (1.02 * threshold, True))
            for errors, threshold in ((1.5, chance(1.5)), (6, chance(6)), (30, 3 * 30 / 300))
        ),
    )
)
CASES = (
    *OF_EACH,
    surge(
        KINDS[0],
        "a mean of five minutes that falls is no surge when nothing fails any more",
        [(30, 0), (31, 0.1), (32, 0.09), (33, 0.07), (34, 0.05), (35, 0.03), (999, 0.02)],
        silent(SURGE, 40),
        minutes=40,
        bad=[(30, 0), (31, 1), (999, 0)],
    ),
    Case(
        says="what Triton counts as failed is told from five in five minutes on, and not of earlier ones",
        world=World(minutes=20)
        .gauge(TRITONS, 5.1 / 300, model="five", reason="r")
        .gauge(TRITONS, 4.9 / 300, model="four", reason="r")
        .gauge(TRITONS, [(12, 9), (99, 0)], model="earlier", reason="r"),
        rules=(MEAN,),
        given=(TRITONS,),
        checks=(reads(MEAN, 20, ({"model": "five", "reason": "r"}, 0.017)),),
    ),
    surge(
        KINDS[0],
        "it is one while something fails",
        [(30, 0), (31, 0.1), (32, 0.09), (33, 0.07), (34, 0.05), (35, 0.03), (999, 0.02)],
        35.75,
        minutes=40,
        bad=[(30, 0), (999, 1)],
    ),
    surge(
        KINDS[0],
        "so are errors of a stage whose requests end well",
        [(30, 0), (999, 0.1)],
        35.75,
        minutes=40,
        bad=0,
    ),
    *(
        paged(
            burn,
            slo="availability",
            stage="",
            says=f"a page about the same errors names the reason itself: {burn}",
            check=silent(SURGE, 40),
        )
        for burn in BURNS
    ),
    *(
        paged(
            burn,
            slo="latency",
            stage="total",
            says=f"a page about latency says nothing of errors: {burn}",
            check=fires(SURGE, 36.0, **FIRING, **KINDS[0][1]),
        )
        for burn in BURNS
    ),
)
