"""Alerts by themselves, at the edges of what was recorded for them: windows, offsets, counts and waits."""

from support.case import Case, fires, silent
from support.simulate import World

NMS = {"model": "nms", "version": "1"}
SERVE = {"job": "tritonobs", "instance": "serve:9900"}
CARD = {"instance": "h", "device": "A", "vendor": "nvidia"}
SLO = {**NMS, "slo": "a"}
OWNER, TRAFFIC = "subject:tritonobs_owner:info", "model_version:triton_requests:rate5m"
GONE, MISSING, CACHE = "TritonErrorBudgetExhausted", "TritonSliMissing", "TritonCacheCollapse"
SATURATED, RELOADED, SLOW = "TritonSaturated", "TritonModelReloaded", "TritonReplicaSlow"
LEFT, SPENT = "slo:period_error_budget_remaining:ratio", "slo:sli_bad_requests:rarely_sampled"
BUDGET = "slo:error_budget:ratio"
OBJECTIVE, BAD = "slo:objective:ratio", "slo:sli_bad_requests:increase"
HITS = "model_version:triton_cache_hits_per_lookups:ratio5m"
BUSY, PENDING = "model_version:tritonobs_workers_busy:ratio5m", "model_version:triton_requests_pending:sum"
PEERS = "replica_model_version:triton_request_duration_seconds_per_peers:ratio5m"
DONE = "replica_model_version:triton_requests_succeeded:rate1m"
RULES, REFUSED = "TritonobsRulesFailing", "TritonLimitRefused"
REFUSED_COUNT = "tritonobs_limit_annotations_refused"
FROZEN, DEAD, BEATS = (
    "TritonCountersFrozen",
    "TritonWorkerDead",
    "model_instance:tritonobs_worker_alive:bool",
)
OUTCOMES, BATCH = "model_version_outcome:tritonobs_requests:rate1m", "TritonBatchInefficient"
TOGETHER = "model_version:triton_requests_per_executions:ratio5m"
QUEUED = "model_version:triton_queue_duration_seconds:rate1m"
SPIKE, BUSY_CARD = "TritonQpsSpike", "TritonAcceleratorSaturated"
DAY = 1440
HOUR = "slo:sli_error:ratio_rate1h"


def alone(says, alert, records, *checks, minutes, labels=None, scrape_seconds=15):
    """The alert on records of nms that are given, and on nothing else."""
    world = World(minutes=minutes, scrape_seconds=scrape_seconds).gauge(OWNER, 1, **NMS)
    for record, level in records.items():
        world.gauge(record, level, **(labels or NMS))
    return Case(says=says, world=world, rules=(alert,), given=(OWNER, *records), checks=checks)


def spent(says, bad, *checks, burning=((1e9, 0.0011),)):
    """A budget that is gone from minute 20 of the fourth day on, after so many bad requests by minute 40.

    `burning` is the share of bad requests in the last hour.
    """
    each = [(3 * DAY, 0), (4 * DAY, bad / 8)]
    left = [(3 * DAY + 20, 0.1), (4 * DAY, -0.1)]
    records = {LEFT: left, SPENT: each, BUDGET: 0.001, HOUR: list(burning)}
    return alone(says, GONE, records, *checks, minutes=3 * DAY + 40, labels=SLO, scrape_seconds=300)


def warning(alert, minute, **labels):
    """The alert fires as a warning about nms."""
    return fires(alert, minute, severity="warning", **NMS, **labels)


def hits(says, levels, *checks, requests=0.07, minutes=270):
    """A cache with this ratio of hits, of a model with so many requests a second."""
    return alone(says, CACHE, {HITS: levels, TRAFFIC: requests}, *checks, minutes=minutes)


def slow(says, *checks, since=5, done=0.07):
    """A replica three times as slow as its peers since a minute, with so many requests a second."""
    records = {PEERS: [(since, 1), (99, 3)], DONE: done}
    return alone(says, SLOW, records, *checks, minutes=45, labels={**NMS, "replica": "r"})


CASES = (
    spent(
        "a budget that nine bad requests used up is said after ten minutes",
        12,
        silent(GONE, 3 * DAY + 25),
        warning(GONE, 3 * DAY + 40, slo="a"),
    ),
    spent("four bad requests use up no budget", 4, silent(GONE, 3 * DAY + 40)),
    spent(
        "a budget that ran out on bad requests of long ago is not said: the SLO has only come of age",
        12,
        silent(GONE, 3 * DAY + 40),
        burning=((3 * DAY + 15, 1), (1e9, 0.001)),
    ),
    spent(
        "one that was spent stays so when nothing is bad any more",
        12,
        warning(GONE, 3 * DAY + 40, slo="a"),
        burning=((3 * DAY + 25, 1), (1e9, 0)),
    ),
    alone(
        "bad requests from before the period used up nothing of its budget",
        GONE,
        {LEFT: -0.1, SPENT: [(40 * DAY, 1), (1e9, 0)]},
        silent(GONE, 80 * DAY, since=72 * DAY),
        minutes=80 * DAY,
        labels=SLO,
        scrape_seconds=6 * 3600,
    ),
    alone(
        "an SLI that is missing is said after ten minutes",
        MISSING,
        {OBJECTIVE: 0.9, BAD: [(10, 0.1), (99, None)], "subject:triton_requests:rate5m": 1},
        silent(MISSING, 24.5),
        warning(MISSING, 26, slo="a"),
        minutes=27,
        labels=SLO,
    ),
    hits(
        "a cache at a third of the hour before has collapsed, after five minutes, while that hour was better",
        [(120, 0.9), (200, 0.3), (999, 0.1)],
        silent(CACHE, 204.5, since=180),
        warning(CACHE, 206),
        warning(CACHE, 239),
        silent(CACHE, 270, since=242),
    ),
    hits(
        "a cache of little use in the last hour cannot collapse, whatever it was before",
        [(120, 0.9), (200, 0.15), (999, 0.01)],
        silent(CACHE, 240, since=190),
        minutes=240,
    ),
    hits(
        "18 requests in five minutes say nothing about a cache",
        [(30, 0.9), (999, 0.1)],
        silent(CACHE, 60),
        requests=0.06,
        minutes=60,
    ),
    alone(
        "a queue that grows is one that is longer than five minutes ago, whatever it was before",
        SATURATED,
        {BUSY: 0.95, PENDING: [(20, 100), *((20 + step, 1 + step / 2) for step in range(1, 21))]},
        silent(SATURATED, 33),
        warning(SATURATED, 37),
        warning(SATURATED, 40),
        minutes=40,
    ),
    Case(
        says="a reload by its load time is said for five minutes",
        world=World(minutes=35)
        .triton("nms", qps=1)
        .gauge("nv_model_load_duration_secs", [(20, 1.5), (99, 1.7)], job="triton", replica="r", **NMS),
        rules=(RELOADED,),
        checks=(
            fires(RELOADED, 25, severity="info", replica="r", **NMS),
            silent(RELOADED, 35, since=26.5),
        ),
    ),
    Case(
        says="a model loaded two minutes ago can be reloaded",
        world=World(minutes=13)
        .triton("nms", qps=[(10, None), (99, 2)])
        .worker("nms", alive=[(10, None), (12, 1), (99, None)])
        .worker("nms", alive=[(12, None), (99, 1)], pid=200),
        rules=(RELOADED,),
        checks=(silent(RELOADED, 11.75), fires(RELOADED, 12.25, severity="info", replica="triton-1", **NMS)),
    ),
    slow(
        "21 requests in five minutes show a slow replica after ten",
        silent(SLOW, 14.5),
        warning(SLOW, 16, replica="r"),
    ),
    slow("18 do not", silent(SLOW, 45), done=0.06),
    slow(
        "requests of a quarter of an hour ago do not",
        silent(SLOW, 45),
        since=18,
        done=[(20, 1), (99, 0.01)],
    ),
    Case(
        says="rules that fail are said after a minute",
        world=World(minutes=6).counter(
            "prometheus_rule_evaluation_failures_total",
            [(5, 0), (99, 1)],
            instance="p",
            rule_group="/r.yml;tritonobs.slo",
        ),
        rules=(RULES,),
        checks=(silent(RULES, 6),),
    ),
    Case(
        says="a single annotation that is not valid is said",
        world=World(minutes=11).gauge(REFUSED_COUNT, [(5, 0), (99, 1)], **SERVE),
        rules=(REFUSED,),
        checks=(fires(REFUSED, 11, severity="warning", **SERVE),),
    ),
    Case(
        says="a request every two seconds that Triton does not count shows frozen counters",
        world=World(minutes=15).triton("nms", qps=0).worker("nms", outcomes={"ok": 0.5}),
        rules=(FROZEN,),
        checks=(warning(FROZEN, 15),),
    ),
    alone(
        "counters are not frozen any more five minutes after the model's last own answer",
        FROZEN,
        {OUTCOMES: [(20, 2), (99, 0)], TRAFFIC: 0},
        warning(FROZEN, 15),
        silent(FROZEN, 40, since=26),
        minutes=40,
    ),
    alone(
        "single executions matter no longer five minutes after the last request waited",
        BATCH,
        {QUEUED: [(25, 5), (99, 0)], TOGETHER: 1},
        fires(BATCH, 20, severity="info", **NMS),
        silent(BATCH, 50, since=31),
        minutes=50,
    ),
    alone(
        "a worker that is late for one scrape is not dead",
        DEAD,
        {BEATS: [(5, 1), (5.25, 0), (99, 1)]},
        silent(DEAD, 10),
        minutes=10,
    ),
    alone(
        "a burst of eight requests above a limit is no spike",
        SPIKE,
        {
            "subject:triton_requests_offered:irate1m": [(5, 0), (5.25, 1), (99, 0)],
            "subject:triton_requests_offered:rate1m": 0.1,
            "subject:tritonobs_qps_limit:held": 0.5,
        },
        silent(SPIKE, 10),
        minutes=10,
    ),
    alone(
        "a card is busy after five minutes of a quarter of an hour of work",
        BUSY_CARD,
        {"device:accelerator_utilization:ratio": 1},
        silent(BUSY_CARD, 4.5),
        fires(BUSY_CARD, 6, severity="info", **CARD),
        minutes=6,
        labels=CARD,
    ),
)
