"""What is over is forgotten when its window is; versions and targets that count only together."""

from tritonobs.testing.promtool import Case, fires, reads, silent
from tritonobs.testing.simulate import World

NMS = {"model": "nms", "version": "1"}
JOB = {"job": "triton", "replica": "triton-1", "model": "llm"}
FROZEN, BATCH, SLOW = "TritonCountersFrozen", "TritonBatchInefficient", "TritonStageSlow"
TOKENS_NEAR = "TritonTokensNearLimit"
OUTCOMES, TRAFFIC = "model_version_outcome:tritonobs_requests:rate1m", "model_version:triton_requests:rate5m"
TOGETHER = "model_version:triton_requests_per_executions:ratio5m"
QUEUED = "model_version:triton_queue_duration_seconds:rate1m"
OWNER = "subject:tritonobs_owner:info"
TARGET, OBJECTIVE = "tritonobs_latency_target_seconds", "tritonobs_slo_objective_ratio"
SLO = {**NMS, "slo": "latency"}
SLOTH = {**SLO, "sloth_id": "nms-latency-v1", "sloth_service": "nms", "sloth_slo": "latency-v1"}


CASES = (
    Case(
        says="counters are not frozen any more five minutes after the model's last own answer",
        world=World(minutes=40)
        .gauge(OWNER, 1, **NMS)
        .gauge(OUTCOMES, [(20, 2), (99, 0)], **NMS, outcome="ok")
        .gauge(TRAFFIC, 0, **NMS),
        rules=(FROZEN,),
        given=(OWNER, OUTCOMES, TRAFFIC),
        checks=(fires(FROZEN, 15, severity="warning", **NMS), silent(FROZEN, 40, since=26)),
    ),
    Case(
        says="single executions matter no longer five minutes after the last request waited",
        world=World(minutes=50)
        .gauge(OWNER, 1, **NMS)
        .gauge(QUEUED, [(25, 5), (99, 0)], **NMS)
        .gauge(TOGETHER, 1, **NMS),
        rules=(BATCH,),
        given=(OWNER, QUEUED, TOGETHER),
        checks=(fires(BATCH, 20, severity="info", **NMS), silent(BATCH, 50, since=31)),
    ),
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
        says="requests count for an SLO of latency, and against it, for five minutes and a rate's window",
        world=World(minutes=40)
        .triton("nms", qps=4)
        .stage("nms", "total", qps=[(20, 4), (99, 0)], times={0.1: 0.75, 1.0: 0.25})
        .gauge(OBJECTIVE, 0.99, **SLO)
        .gauge(TARGET, 0.5, **SLO, stage="total", le="0.5"),
        rules=("slo:sli_valid_requests:rate5m", "slo:sli_bad_requests:rate5m"),
        checks=tuple(
            reads(f"slo:sli_{which}_requests:rate5m", minute, (SLOTH, value))
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
