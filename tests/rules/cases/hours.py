"""What is kept for an hour: what sources said last, and what the hour before was like."""

from support.case import Case, absent, fires, reads, silent
from support.simulate import World

NMS, OCR = {"model": "nms", "version": "1"}, {"model": "ocr", "version": "2"}
LOST, KNOWN = "TritonLimitSourceLost", "cluster:tritonobs_known:info"
STAGES = "model_version_stage_reason:tritonobs_stage_errors"
FAILED = "model_version_reason:triton_requests_failed"
BUDGET, LEAST = "slo:error_budget:ratio", "cluster:slo_error_budget:min"
KEPT = {
    "subject:tritonobs_model_info:last_hour": ("tritonobs_model_info", {"kind": "model"}),
    "subject:tritonobs_qps_limit:last_hour": ("tritonobs_qps_limit", {}),
    "subject_kind:tritonobs_tokens_per_second_limit:last_hour": (
        "tritonobs_tokens_per_second_limit",
        {"kind": "tokens_in"},
    ),
    "pipeline_stage_model:tritonobs_pipeline_calls:last_hour": (
        "tritonobs_pipeline_calls",
        {"pipeline": "inspect", "stage": "decode"},
    ),
    "subject_slo:tritonobs_latency_target_seconds:last_hour": (
        "tritonobs_latency_target_seconds",
        {"slo": "latency", "stage": "total", "le": "0.5"},
    ),
    "subject_slo:tritonobs_slo_objective:last_hour": ("tritonobs_slo_objective_ratio", {"slo": "latency"}),
}


def told():
    """Everything two sources say of two models up to minute 10: of nms 3 and 5, of ocr 8 and 7."""
    world = World(minutes=75, scrape_seconds=60)
    for series, labels in KEPT.values():
        for row, values in ((NMS, (3, 5)), (OCR, (8, 7))):
            for source, value in zip("ab", values, strict=True):
                level = 1 if series == "tritonobs_model_info" else value
                world.gauge(series, [(10, level), (99, None)], **row, **labels, source=source)
    return world


def kept(record, minute):
    """The larger of what the sources said; rows of the fleet file are 1, and a call has no version."""
    series, labels = KEPT[record]
    own = [(row if "calls" not in series else {"model": row["model"]}) | labels for row in (NMS, OCR)]
    values = (1, 1) if series == "tritonobs_model_info" else (5, 8)
    return reads(record, minute, *zip(own, values, strict=True))


CASES = (
    Case(
        says="the larger of what two sources said holds for an hour after both are gone, not for longer",
        world=told(),
        rules=tuple(KEPT),
        checks=(
            *(kept(record, minute) for record in KEPT for minute in (5, 68)),
            *(absent(record, 72) for record in KEPT),
        ),
    ),
    *(
        Case(
            says=f"the usual number of errors is that of the hour until ten minutes ago: {record}",
            world=World(minutes=130).gauge(
                f"{record}:{rate}", [(60, 8), (121, 2), (999, 50)], **NMS, **labels
            ),
            rules=(f"{record}:mean1h",),
            given=(f"{record}:{rate}",),
            checks=(reads(f"{record}:mean1h", 130, ({**NMS, **labels}, 2)),),
        )
        for record, rate, labels in (
            (STAGES, "rate5m", {"stage": "decode", "reason": "r"}),
            (FAILED, "rate1m", {"reason": "r"}),
        )
    ),
    Case(
        says="of a cluster the smallest error budget is told",
        world=World(minutes=1)
        .gauge(BUDGET, 0.1, cluster="a", **NMS)
        .gauge(BUDGET, 0.01, cluster="a", **OCR)
        .gauge(BUDGET, 0.05, cluster="b", **NMS),
        rules=(LEAST,),
        given=(BUDGET,),
        checks=(reads(LEAST, 1, ({"cluster": "a"}, 0.01), ({"cluster": "b"}, 0.05)),),
    ),
    Case(
        says="a cluster without limits is told in its fourth minute, until an hour after it is gone",
        world=World(minutes=80).gauge(KNOWN, [(5, None), (15, 1), (99, None)], cluster="a"),
        rules=(LOST,),
        given=(KNOWN,),
        checks=(
            silent(LOST, 8.25),
            fires(LOST, 8.5, cluster="a", severity="warning"),
            fires(LOST, 76, cluster="a", severity="warning"),
            silent(LOST, 80, since=77.5),
        ),
    ),
)
