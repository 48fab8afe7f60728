"""SLOs and bounds that are in force: one row each, and for an hour those of before while nobody says any."""

from support.case import Case, reads
from support.simulate import World

BUCKET = "tritonobs_stage_duration_seconds_bucket"
LAST = f"worker_stage_le:{BUCKET}:last"
BOUND, KEPT_BOUND = (f"model_stage_le:tritonobs_latency_bound:{which}" for which in ("info", "kept"))
SLO, KEPT_SLO = (f"slo:tritonobs_counted:{which}" for which in ("info", "kept"))
BUDGET, OBJECTIVE = "cluster:slo_error_budget:min", "slo:objective:ratio"
TARGET = "subject_slo:tritonobs_latency_target_seconds:held"
CHARGED, CHARGED_BEFORE = (
    f"subject_slo:tritonobs_slo_invalid_charged:{which}" for which in ("held", "last_hour")
)
NMS, TOTAL = {"model": "nms", "version": "1"}, {"stage": "total", "le": "0.5"}
NOW = 66
# When bounds and SLOs were said last, by cluster: "said_anew" says another bound now, "ended" has none.
SAID = {
    "said_until_now": [(60, 1), (99, None)],
    "said_long_ago": [(5, 1), (99, None)],
    "said_anew": [(60, 1), (99, None)],
    "ended": [(60, 1), (99, None)],
}


def bounds():
    """Clusters whose bounds and SLOs are not said any more, and one that says others than it did."""
    world = World(minutes=NOW)
    for cluster, level in SAID.items():
        own = {"cluster": cluster, "model": "nms"}
        world.gauge(KEPT_BOUND, level, **own, **TOTAL)
        world.gauge(KEPT_SLO, level, **own, slo="a", **TOTAL)
        for le in ("0.1", "0.5"):
            world.gauge(BUCKET, 7, **own, job="triton", stage="total", le=le)
    anew = {"cluster": "said_anew", "model": "nms", "stage": "total", "le": "0.1"}
    world.gauge(BOUND, 1, **anew).gauge(SLO, 1, **anew, slo="b")
    for cluster in ("said_anew", "ended"):
        world.gauge(BUDGET, 0.01, cluster=cluster)
    before = {"cluster": "said_until_now", "model": "nms", **TOTAL}
    rows = [
        row
        for own, slo in ((before, "a"), (anew, "b"))
        for row in (
            ({**own, "job": "triton"}, 7),
            ({**own, "bound": "named"}, 1),
            ({**own, "bound": "counted", "slo": slo}, 1),
        )
    ]
    return Case(
        says="bounds and SLOs of the last hour are asked for where no budget is known, and those alone",
        world=world,
        rules=(LAST,),
        given=(BOUND, KEPT_BOUND, SLO, KEPT_SLO, BUDGET),
        checks=(reads(LAST, NOW, *rows),),
    )


CASES = (
    bounds(),
    Case(
        says="of thresholds that changed within the hour the last one is in force, once",
        world=World(minutes=NOW)
        .gauge(KEPT_SLO, [(40, 40 * 60), (99, None)], **NMS, slo="a", stage="total", le="1")
        .gauge(KEPT_SLO, [(45, None), (60, 60 * 60), (99, None)], **NMS, slo="a", **TOTAL)
        .gauge(KEPT_SLO, [(45, 45 * 60), (99, None)], **NMS, slo="b", stage="total", le="1"),
        rules=(LAST,),
        given=(BOUND, KEPT_BOUND, SLO, KEPT_SLO, BUDGET),
        checks=(
            reads(
                LAST,
                NOW,
                ({**NMS, **TOTAL, "slo": "a", "bound": "counted"}, 1),
                ({**NMS, "stage": "total", "le": "1", "slo": "b", "bound": "counted"}, 1),
            ),
        ),
    ),
    Case(
        says="when an SLO was in force last is kept",
        world=World(minutes=2).gauge(SLO, 1, **NMS, **TOTAL, slo="a"),
        rules=(KEPT_SLO,),
        given=(SLO,),
        checks=(reads(f"time() - {KEPT_SLO}", 1.75, ({**NMS, **TOTAL, "slo": "a"}, 0)),),
    ),
    Case(
        says="an SLO in force is one, with its stage and bound if it has them",
        world=World(minutes=2)
        .gauge(OBJECTIVE, 0.9, **NMS, slo="fast", sloth_id="nms-fast")
        .gauge(OBJECTIVE, 0.8, **NMS, slo="up", sloth_id="nms-up")
        .gauge(TARGET, 0.5, **NMS, **TOTAL, slo="fast"),
        rules=(SLO,),
        given=(OBJECTIVE, TARGET),
        checks=(
            reads(
                SLO,
                1,
                ({**NMS, **TOTAL, "slo": "fast", "sloth_id": "nms-fast"}, 1),
                ({**NMS, "slo": "up", "sloth_id": "nms-up"}, 1),
            ),
        ),
    ),
    Case(
        says="an SLO charges bad input if one source says so, or did within the hour where none is left",
        world=World(minutes=2)
        .gauge("tritonobs_slo_invalid_charged", 1, **NMS, slo="a", cluster="said", instance="x")
        .gauge("tritonobs_slo_invalid_charged", 0, **NMS, slo="a", cluster="said", instance="y")
        .gauge("tritonobs_model_info", 1, **NMS, cluster="said")
        .gauge(CHARGED_BEFORE, 1, **NMS, slo="a", cluster="source_is_gone")
        .gauge(CHARGED_BEFORE, 1, **NMS, slo="a", cluster="taken_back")
        .gauge("tritonobs_model_info", 1, **NMS, cluster="taken_back"),
        rules=(CHARGED,),
        given=(CHARGED_BEFORE,),
        checks=(
            reads(
                CHARGED,
                1,
                *(({**NMS, "slo": "a", "cluster": cluster}, 1) for cluster in ("said", "source_is_gone")),
            ),
        ),
    ),
)
