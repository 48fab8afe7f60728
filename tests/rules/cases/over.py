"""What is over is forgotten when its window is; versions and targets that count only together."""

from support.case import Case, fires, reads, silent
from support.simulate import World

NMS = {"model": "nms", "version": "1"}
JOB = {"job": "triton", "replica": "triton-1", "model": "llm"}
SLOW, TOKENS_NEAR = "TritonStageSlow", "TritonTokensNearLimit"
TARGET, OBJECTIVE = "tritonobs_latency_target_seconds", "tritonobs_slo_objective_ratio"
SLO = {**NMS, "slo": "latency"}
SLOTH = {**SLO, "sloth_id": "nms-latency-v1", "sloth_service": "nms", "sloth_slo": "latency-v1"}


CASES = (
    Case(
        says="of two targets for the whole request a stage has its share of the tighter one",
        world=World(minutes=30)
        .triton("nms", qps=4)
        .stage("nms", "decode", qps=4, times={0.2: 1})
        .stage("nms", "total", qps=4, times={0.2: 1})
        .gauge(TARGET, 0.1, **NMS, slo="a", stage="total", le="0.1")
        .gauge(TARGET, 1, **NMS, slo="b", stage="total", le="1"),
        rules=(SLOW,),
        checks=(silent(SLOW, 4), fires(SLOW, 15, severity="warning", stage="decode", **NMS)),
    ),
    Case(
        says="requests count for an SLO of latency, and against it, as they come",
        world=World(minutes=40)
        .triton("nms", qps=4)
        .stage("nms", "total", qps=[(20, 4), (99, 0)], times={0.1: 0.75, 1.0: 0.25})
        .gauge(OBJECTIVE, 0.99, **SLO)
        .gauge(TARGET, 0.5, **SLO, stage="total", le="0.5"),
        rules=("slo:sli_valid_requests:increase", "slo:sli_bad_requests:increase"),
        checks=tuple(
            reads(f"slo:sli_{which}_requests:increase / 15", minute, (SLOTH, value))
            for which, rate in (("valid", 4), ("bad", 1))
            for minute, value in ((15, rate), (28, 0))
        ),
    ),
    Case(
        says="versions that are near a model's limit of tokens only together",
        world=World(minutes=20)
        .triton("llm", "1", qps=1)
        .triton("llm", "2", qps=1)
        .counter("tritonobs_stage_items_total", 50, **JOB, version="1", stage="g", kind="tokens_out")
        .counter("tritonobs_stage_items_total", 40, **JOB, version="2", stage="g", kind="tokens_out")
        .gauge("tritonobs_tokens_per_second_limit", 100, model="llm", kind="tokens_out"),
        rules=(TOKENS_NEAR,),
        checks=(fires(TOKENS_NEAR, 10, severity="warning", model="llm", kind="tokens_out"),),
    ),
)
