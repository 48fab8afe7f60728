"""Errors that are a stage's own: the caller's until a rollout, or of a pipeline that answers all the same."""

from support.case import Case, all_fire, silent
from support.simulate import World

SURGE = "TritonErrorReasonSurge"
OWNER, TRAFFIC = "subject:tritonobs_owner:info", "model_version:triton_requests:rate5m"
ERRORS, BAD = (
    "model_version_stage_reason:tritonobs_stage_errors:rate5m",
    "model_version:triton_requests_bad:increase",
)
CALLS = "pipeline_stage_model:tritonobs_pipeline_calls:held"
STAGE = {"stage": "decode", "reason": "damaged"}
ROLLOUT, OFTEN = 80, 0.1


def model(world, name, errors, *, bad=0, **labels):
    """A model with traffic, and the errors of one of its stages."""
    own = {"model": name, "version": "1"}
    world.gauge(OWNER, 1, **own).gauge(TRAFFIC, 4, **own).gauge(BAD, bad, **own)
    world.gauge(ERRORS, errors, **own, **STAGE, **labels)


def rollout():
    """What callers did wrong before is an error now; of another model it always was."""
    world = World(minutes=ROLLOUT + 5)
    model(world, "charged", [(ROLLOUT, OFTEN), (999, 0)], outcome="invalid")
    model(world, "charged", [(ROLLOUT, None), (999, OFTEN)])
    model(world, "always", OFTEN)
    return world


def pipelines():
    """Pipelines whose stages fail without a failed request, of which one calls a model that fails."""
    world = World(minutes=30)
    for name, member in (("answers", "calm"), ("hides", "fails")):
        model(world, name, [(20, None), (999, OFTEN)])
        world.gauge(CALLS, 1, pipeline=name, stage="decode", model=member)
    model(world, "calm", None)
    model(world, "fails", None, bad=1)
    return world


def told(name):
    """The labels of an alert about a model."""
    return {"model": name, "version": "1", **STAGE, "severity": "warning"}


CASES = (
    Case(
        says="errors that were the caller's fault before a rollout are new",
        world=rollout(),
        rules=(SURGE,),
        given=(OWNER, TRAFFIC, ERRORS, BAD),
        checks=(silent(SURGE, ROLLOUT + 3.75), all_fire(SURGE, ROLLOUT + 4, told("charged"))),
    ),
    Case(
        says="errors of a pipeline that answers all the same are its own, unless a member fails",
        world=pipelines(),
        rules=(SURGE,),
        given=(OWNER, TRAFFIC, ERRORS, BAD, CALLS),
        checks=(all_fire(SURGE, 25, told("answers")),),
    ),
)
