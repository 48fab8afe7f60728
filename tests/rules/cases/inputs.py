"""Bad input of a stage: told of who refused it, not of who passed it on, and not where it is usual."""

from support.case import Case, absent, all_fire, fires, reads, silent
from support.simulate import World

SURGE, REASON = "TritonInvalidInputSurge", "TritonErrorReasonSurge"
REFUSED = "model_version_stage_reason:tritonobs_stage_errors:rate5m"
USUAL = "model_version_stage_reason:tritonobs_stage_invalid:mean1d"
TRAFFIC, OWNER = "model_version:triton_requests:rate5m", "subject:tritonobs_owner:info"
CALLS = "pipeline_stage_model:tritonobs_pipeline_calls:held"
NMS = {"model": "nms", "version": "1"}
WHY = {"stage": "decode", "reason": "corrupt_image"}
INVALID = {**WHY, "outcome": "invalid"}
FIRING = {**NMS, **INVALID, "severity": "warning"}


def world(rate, *, usual=None, traffic=4.0, minutes=30):
    """What nms refuses a second, of what it gets."""
    made = World(minutes=minutes).gauge(OWNER, 1, **NMS).gauge(TRAFFIC, traffic, **NMS)
    made.gauge(REFUSED, rate, **NMS, **INVALID)
    return made if usual is None else made.gauge(USUAL, usual, **NMS, **INVALID)


def case(says, made, *checks, rules=(SURGE,)):
    """One alert of what was recorded."""
    return Case(
        says=says, world=made, rules=rules, given=(REFUSED, USUAL, TRAFFIC, OWNER, CALLS), checks=checks
    )


def pipeline(*, member):
    """A pipeline that counts what a member refused under the stage of its call, and refuses some itself."""
    made = World(minutes=30).gauge(CALLS, 1, pipeline="pipe", stage="nms", model="nms")
    for model in ("pipe", "nms"):
        made.gauge(OWNER, 1, model=model, version="1").gauge(TRAFFIC, 4, model=model, version="1")
    pipe = {"model": "pipe", "version": "1", "reason": "corrupt_image", "outcome": "invalid"}
    for stage in ("nms", "total", "parse"):
        made.gauge(REFUSED, 1, **pipe, stage=stage)
    return made.gauge(REFUSED, 1, **NMS, **INVALID) if member else made


PIPE = {
    "model": "pipe",
    "version": "1",
    "reason": "corrupt_image",
    "outcome": "invalid",
    "severity": "warning",
}

CHARGED = "subject_slo:tritonobs_slo_invalid_charged:last_hour"


def a_day():
    """What a stage refused a second, whoever's fault it was called: a day, and the hours around it.

    Nothing was refused in its first moment: that is part of a range in Prometheus 2 and not in 3.
    """
    made = World(minutes=1520, scrape_seconds=60)
    for outcome, rate in (("", 1.0), ("invalid", 2.0)):
        levels = [(59, 50.0), (60, 0.0), (780, rate), (1500, 0.0), (1516, 50.0)]
        made.gauge(REFUSED, levels, **NMS, **WHY, outcome=outcome)
    ocr = {"model": "ocr", "version": "1", "stage": "decode", "reason": "corrupt_image", "outcome": ""}
    return made.gauge(REFUSED, [(60, 0.0), (1520, 4.0)], **ocr)


CASES = (
    Case(
        says="what is usual is a mean of a day that ended five minutes ago, whoever's fault it was called",
        world=a_day(),
        rules=(USUAL,),
        given=(REFUSED,),
        checks=(
            reads(USUAL, 1504, ({**NMS, **INVALID}, 1.5), ({"model": "ocr", "version": "1", **INVALID}, 4)),
        ),
    ),
    Case(
        says="that an SLO charges the caller's fault is known for an hour, by the source that says so",
        world=World(minutes=100)
        .gauge("tritonobs_slo_invalid_charged", [(10, 1), (99, None)], **NMS, slo="a", instance="x")
        .gauge("tritonobs_slo_invalid_charged", [(10, 0), (99, None)], **NMS, slo="a", instance="y"),
        rules=(CHARGED,),
        checks=(reads(CHARGED, 68, ({**NMS, "slo": "a"}, 1)), absent(CHARGED, 80)),
    ),
    case(
        "a share of a model's requests is told until the input is good again",
        world([(10, 0), (20, 1), (99, 0)]),
        silent(SURGE, 10),
        fires(SURGE, 13, **FIRING),
        fires(SURGE, 20, **FIRING),
        all_fire(SURGE, 28),
    ),
    case("two in a hundred are told", world(0.08), fires(SURGE, 10, **FIRING)),
    case("fewer are an everyday mistake", world(0.079), silent(SURGE, 30)),
    case("so are fewer than five in five minutes", world(0.0166, traffic=0.02), silent(SURGE, 30)),
    case("five are not", world(0.0167, traffic=0.02), fires(SURGE, 10, **FIRING)),
    case("a third of the day's share and less is usual", world(1, usual=0.34), silent(SURGE, 30)),
    case("more than three times the day's share is not", world(1, usual=0.33), fires(SURGE, 10, **FIRING)),
    case(
        "the model's own errors are another alert",
        World(minutes=30)
        .gauge(OWNER, 1, **NMS)
        .gauge(TRAFFIC, 4, **NMS)
        .gauge(REFUSED, [(15, None), (99, 1)], **NMS, **WHY),
        silent(SURGE, 30),
        fires(REASON, 20, **NMS, **WHY, severity="warning"),
        rules=(SURGE, REASON),
    ),
    case(
        "bad input is no error of the model",
        world([(15, None), (99, 1)]),
        silent(REASON, 30),
        rules=(REASON,),
    ),
    case(
        "a pipeline that passes on what its member refused is not told again; what it refuses itself is",
        pipeline(member=True),
        all_fire(SURGE, 10, FIRING, {**PIPE, "stage": "parse"}),
    ),
    case(
        "a pipeline whose member tells nothing of it is",
        pipeline(member=False),
        all_fire(SURGE, 10, *({**PIPE, "stage": stage} for stage in ("nms", "total", "parse"))),
    ),
)
