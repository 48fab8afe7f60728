"""What comes and goes: it begins anew when its alert would, after its wait and the time that it is kept."""

from support.case import Case, absent, fires, reads, silent
from support.simulate import World

NMS = {"model": "nms", "version": "1"}
WORKER = {**NMS, "replica": "a", "model_instance": "nms_0_0"}
INPUT = {**NMS, "stage": "decode", "reason": "corrupt_image", "outcome": "invalid"}
OWNER = "subject:tritonobs_owner:info"
KEPT = "subject:tritonobs_limit_again:info"
EXCEEDED = "subject:tritonobs_limit_exceeded"
LIMIT = "subject:tritonobs_qps_limit:held"
PASSED_ON = "model:tritonobs_limit_passed_on:info"


def begins(record, labels, *, kept, short, counts=False):
    """Two minutes, twice within `kept` minutes, again after more than that, and once for `short` minutes.

    `counts` says that what is as short begins the alert, too.
    """
    name, _, operation = record.rpartition(":")
    first, soon, later = 12, 14 + kept, 16.75 + 2 * kept
    on = [(10, first), (first + kept, soon), (later, later + 2), (60, 60 + short)]
    levels = [level for start, end in on for level in ((start, None), (end, 1))]
    world = World(minutes=90).gauge(record, [*levels, (999, None)], **labels)
    anew = f"{name}_begins:info"
    return Case(
        says=f"{name} of {operation}",
        world=world,
        rules=(anew,),
        given=(record,),
        checks=(
            reads(f"count_over_time({anew}[10m])", 12, (labels, 1)),
            reads(f"count_over_time({anew}[1h])", later - 0.25, (labels, 1)),
            reads(f"count_over_time({anew}[1h])", later + 2, (labels, 2)),
            reads(f"count_over_time({anew}[90m])", 90, (labels, 2 + counts)),
        ),
    )


def overflows(says, *checks, at=(10, 40, 70), passed_on=None):
    """Overflows that begin at these minutes and last for two."""
    levels = [level for minute in at for level in ((minute, None), (minute + 2, 30))]
    world = (
        World(minutes=260).gauge(f"{EXCEEDED}:rate", [*levels, (999, None)], **NMS).gauge(LIMIT, 20, **NMS)
    )
    if passed_on:
        world.gauge(PASSED_ON, passed_on, model="nms")
    given = (f"{EXCEEDED}:rate", LIMIT, PASSED_ON)
    return Case(says=says, world=world, rules=(KEPT,), given=given, checks=checks)


def told(alert, record, labels, severity, *, until):
    """The alert about what began at minutes 10 and 40, and more than three hours later.

    It stays for an hour after minute 45, and until this minute.
    """
    levels = [level for minute in (10, 40, 232) for level in ((minute, None), (minute + 5, 1))]
    world = World(minutes=300).gauge(record, [*levels, (999, None)], **labels).gauge(OWNER, 1, **NMS)
    labels = {**labels, "severity": severity}
    return Case(
        says=f"{alert} stays when it came back, and not because of what was long ago",
        world=world,
        rules=(alert,),
        given=(record, OWNER),
        checks=(
            silent(alert, 39, since=22),
            fires(alert, 70, **labels),
            fires(alert, until, **labels),
            silent(alert, 230, since=112),
            fires(alert, 236, **labels),
            silent(alert, 300, since=244),
        ),
    )


CASES = (
    told("TritonModelUnloaded", "subject:tritonobs_model_unloaded:info", NMS, "critical", until=108),
    told("TritonWorkerDead", "model_instance:tritonobs_worker_dead:info", WORKER, "critical", until=108),
    told(
        "TritonInvalidInputSurge",
        "model_version_stage_reason:tritonobs_invalid_surge:rate",
        INPUT,
        "warning",
        until=105.5,
    ),
    begins("subject:tritonobs_model_unloaded:info", NMS, kept=4.75, short=0.75),
    begins("model_instance:tritonobs_worker_dead:info", WORKER, kept=4.75, short=0.25),
    begins("model_version_stage_reason:tritonobs_invalid_surge:rate", INPUT, kept=1, short=0.75),
    begins(f"{EXCEEDED}:rate", NMS, kept=0.75, short=0.25, counts=True),
    overflows(
        "the second overflow within three hours is one that comes back, for an hour after the last",
        absent(KEPT, 39),
        reads(KEPT, 41, (NMS, 30)),
        reads(KEPT, 69, (NMS, 30)),
        reads(KEPT, 131, (NMS, 30)),
        absent(KEPT, 133),
    ),
    overflows(
        "one of more than three hours ago is another story",
        absent(KEPT, 193),
        at=(10, 192),
    ),
    overflows(
        "what a pipeline passed on within the hour is none of its member's",
        absent(KEPT, 75),
        reads(KEPT, 105, (NMS, 30)),
        passed_on=[(39, None), (43, 1), (999, None)],
    ),
)
