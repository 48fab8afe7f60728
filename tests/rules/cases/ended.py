"""Alerts about how requests fare end with the requests; and how much may go unmeasured."""

from support.case import Case, reads
from support.simulate import World, but_at

OWNER = "subject:tritonobs_owner:info"
PACE5, PACE1 = "model_version:triton_requests:rate5m", "model_version:triton_requests:rate1m"
PENDING = "model_version:triton_requests_pending:sum"
TARGET = "subject_slo:tritonobs_latency_target_seconds:held"
HITS = "model_version:triton_cache_hits_per_lookups:ratio5m"
VALID, UNMEASURED = "slo:sli_valid_requests:increase", "slo:sli_unmeasured_requests:increase"
PROMISED, BAD = "slo:objective:ratio", "slo:sli_bad_requests:increase"
MISSING = "TritonSliMissing"
# What makes each alert fire, and how long it may take.
CAUSES = {
    "TritonQueueWaitHigh": ({"model_version:triton_queue_duration_seconds:mean5m": 1}, 7),
    "TritonSaturated": (
        {
            "model_version:tritonobs_workers_busy:ratio5m": 0.95,
            PENDING: [(step, step) for step in range(40)],
        },
        12,
    ),
    "TritonBatchInefficient": (
        {
            "model_version:triton_requests_per_executions:ratio5m": 1,
            "model_version:triton_queue_duration_seconds:rate1m": 2,
        },
        12,
    ),
    "TritonStageSlow": ({"model_version_stage:tritonobs_stage_duration_seconds:p95_5m": 2, TARGET: 1}, 7),
    "TritonCacheCollapse": ({HITS: [(20, 0.9), (99, 0.1)]}, 27),
}
# Requests a second in the last five minutes and in the last one, by what the model is called.
TRAFFIC = {
    "goes_on": (2, 1),
    "slows": (2, 0.01),
    "ended": (0.2, 0),
    "rarely_asked": (0.09, 0),
    "idle": (0.07, 0),
}


def told(alert, minute, *models):
    """The alert fires for exactly these models, once each."""
    firing = f'ALERTS{{alertname="{alert}",alertstate="firing"}}'
    return reads(f"count by (model) ({firing})", minute, *(({"model": model}, 1) for model in models))


def ends(alert, records, minutes):
    """Models of which all that the alert looks at is bad; requests come, ended, or come one by one."""
    world = World(minutes=minutes)
    for model, (five, one) in TRAFFIC.items():
        own = {"model": model, "version": "1"}
        world.gauge(OWNER, 1, **own).gauge(PACE5, five, **own).gauge(PACE1, one, **own)
        for record, level in records.items():
            labels = {"slo": "a", "stage": "s"} if record == TARGET else {}
            labels = {"stage": "s"} if "stage:" in record else labels
            world.gauge(record, level, **own, **labels)
    return Case(
        says=f"{alert} ends a minute after the last request, where more than one in ten seconds came",
        world=world,
        rules=(alert,),
        given=(OWNER, PACE5, PACE1, *records),
        checks=(told(alert, minutes, *(model for model in TRAFFIC if model != "ended")),),
    )


def measured():
    """SLOs of which so many of a hundred requests were not measured, now and before."""
    world = World(minutes=45)
    for model, level in (
        ("three", 3.0),
        ("more_than_one", 1.05),
        ("half", 0.5),
        ("before", [(25, 20.0), (99, 0.5)]),
        # As where whoever evaluates the rules was stopped and started.
        ("at_two_moments", but_at(0, {25: 99, 28: 99})),
        ("none", 0),
    ):
        own = {"model": model, "version": "1"}
        world.gauge(OWNER, 1, **own)
        world.gauge(VALID, 99, **own, slo="a").gauge(UNMEASURED, level, **own, slo="a")
    return world


CASES = (
    *(ends(alert, records, minutes) for alert, (records, minutes) in CAUSES.items()),
    Case(
        says="an SLI of which more than one request in a hundred was not measured for ten minutes is told",
        world=measured(),
        rules=(MISSING,),
        given=(OWNER, VALID, UNMEASURED, PROMISED, BAD, "subject:triton_requests:rate5m"),
        checks=(
            told(MISSING, 9.75),
            told(MISSING, 20, "three", "more_than_one", "before"),
            told(MISSING, 36, "three", "more_than_one"),
            told(MISSING, 45, "three", "more_than_one"),
        ),
    ),
)
