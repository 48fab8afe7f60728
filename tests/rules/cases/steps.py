"""Two replicas with two workers, and a step: every record adds up, and forgets the time before its window."""

from support.case import Case, near
from support.simulate import World

NMS = {"model": "nms", "version": "1"}
STEP, SOON, LATER = 20, 21.5, 26.75


def level(before, after):
    """One value until the step, another from then on."""
    return [(STEP, before), (999, after)]


def fleet():
    """On each of two replicas 2 requests a second, then 6; everything else grows with them, or as told."""
    world = World(minutes=40)
    for pid, replica in enumerate(("a", "b")):
        own = {"job": "triton", "instance": f"{replica}:8002", "replica": replica, **NMS}
        worker = {**own, "worker": f"w-{pid}-a"}
        # Requests take twice as long from the step on, as seen by those that end after it.
        failures = {"BACKEND": level(1, 2), "REJECTED": level(0, 1)}
        world.triton(
            "nms", qps=level(2, 6), failures=failures, replica=replica, batch=2, items=3, pending=level(1, 4),
            seconds=level(0.1, 0.2), queue=level(0.01, 0.04), compute=level(0.05, 0.1),
        )  # fmt: skip
        world.worker("nms", replica=replica, pid=pid, outcomes={"ok": level(1, 3), "error": level(1, 3)})
        world.stage("nms", "total", replica=replica, pid=pid, qps=level(2, 6), times={0.2: 1})
        world.stage(
            "nms",
            "decode",
            replica=replica,
            pid=pid,
            qps=level(2, 6),
            times={0.02: level(1, 0), 0.1: level(0, 1)},
        )
        for name, before, after, labels in (
            ("nv_cache_num_hits_per_model", 1, 4, own),
            ("nv_cache_num_misses_per_model", 1, 2, own),
            ("tritonobs_stage_items_total", 4, 8, {**worker, "stage": "s", "kind": "tokens_out"}),
            ("tritonobs_stage_errors_total", 1, 3, {**worker, "stage": "s", "reason": "r"}),
            ("tritonobs_stage_size_sum", 4, 30, {**worker, "stage": "s", "kind": "mp"}),
            ("tritonobs_stage_size_count", 2, 3, {**worker, "stage": "s", "kind": "mp"}),
            ("vllm:prompt_tokens_total", 10, 50, {**own, "model": "vllm"}),
            ("vllm:generation_tokens_total", 10, 40, {**own, "model": "vllm"}),
            ("nv_llm_input_token_len_sum", 10, 30, {**own, "model": "trt"}),
            ("nv_llm_output_token_len_sum", 10, 20, {**own, "model": "trt"}),
        ):
            world.counter(name, level(before, after), **labels)
    return world


def told(name, value, minute=SOON, **labels):
    """The record with the labels of nms and these."""
    selected = ",".join(f'{label}="{text}"' for label, text in {**NMS, **labels}.items())
    return near(f"{name}{{{selected}}}", minute, {**NMS, **labels}, value, tolerance=0.02)


RATES = (
    told("model_version:triton_requests_succeeded:rate1m", 12),
    told("replica_model_version:triton_requests_succeeded:rate1m", 6, replica="a"),
    told("model_version_reason:triton_requests_failed:rate1m", 4, reason="BACKEND"),
    told("model_version_outcome:tritonobs_requests:rate1m", 6, outcome="error"),
    told("model_version:triton_requests:rate1m", 18),
    # Of error replies and exceptions the more: 6, not 4; and the 2 that never reached the model.
    told("model_version:triton_requests_bad:increase", 8 * 15),
    told("model_version:triton_request_duration_seconds:rate1m", 2.4),
    told("replica_model_version:triton_request_duration_seconds:rate1m", 1.2, replica="b"),
    told("model_version:triton_queue_duration_seconds:rate1m", 0.48),
    told("model_version:triton_compute_duration_seconds:rate1m", 1.2),
    told("model_version:triton_requests_computed:rate1m", 4),
    told("model_version:triton_requests_timed:rate1m", 12),
    told("model_version:triton_inferences:rate1m", 36),
    told("model_version:triton_executions:rate1m", 6),
    told("model_version:triton_cache_hits:rate1m", 8),
    told("model_version:triton_cache_misses:rate1m", 4),
    told("model_version:triton_requests_pending:sum", 8),
    told("model_version_stage:tritonobs_stage_duration_seconds_sum:rate1m", 1.2, stage="decode"),
    told("model_version_stage:tritonobs_stage_duration_seconds_count:rate1m", 12, stage="decode"),
    told(
        "model_version_stage_le:tritonobs_stage_duration_seconds_bucket:rate1m", 12, stage="decode", le="0.1"
    ),
    told("model_version_stage_reason:tritonobs_stage_errors:rate1m", 6, stage="s", reason="r"),
    told("model_version_stage_kind:tritonobs_stage_items:rate1m", 16, stage="s", kind="tokens_out"),
    told("model_version_stage_kind:tritonobs_stage_size:mean1m", 10, stage="s", kind="mp"),
    told("model_version_kind:tritonobs_tokens:rate1m", 16, kind="tokens_out"),
    told("model_version_kind:tritonobs_tokens:rate1m", 100, model="vllm", kind="tokens_in"),
    told("model_version_kind:tritonobs_tokens:rate1m", 80, model="vllm", kind="tokens_out"),
    told("model_version_kind:tritonobs_tokens:rate1m", 60, model="trt", kind="tokens_in"),
    told("model_version_kind:tritonobs_tokens:rate1m", 40, model="trt", kind="tokens_out"),
    told("model_version:tritonobs_workers:count", 2),
)
BASES = (
    told("model_version:triton_requests:rate5m", 18, LATER),
    told("model_version:triton_requests_bad_per_requests:ratio_rate5m", 8 / 18, LATER),
    told("subject:triton_requests:rate5m", 18, LATER),
    told("model_version:triton_request_duration_seconds:mean5m", 0.2, LATER),
    told("model_version:triton_queue_duration_seconds:mean5m", 0.04, LATER),
    told("model_version:triton_compute_duration_seconds:mean5m", 1.2 / 4, LATER),
    told("replica_model_version:triton_request_duration_seconds:mean5m", 0.2, LATER, replica="a"),
    told("replica_model_version:triton_request_duration_seconds_per_peers:ratio5m", 1, LATER, replica="a"),
    told("model_version:triton_requests_in_flight:mean5m", 2.4, LATER),
    told("model_version:triton_batch_size:mean5m", 6, LATER),
    told("model_version:triton_requests_per_executions:ratio5m", 4 / 6, LATER),
    told("model_version:triton_cache_hits_per_lookups:ratio5m", 8 / 12, LATER),
    told("model_version:tritonobs_workers_busy:ratio5m", 1.2 / (4 / 6) / 2, LATER),
    told("model_version_stage:tritonobs_stage_duration_seconds:mean5m", 0.1, LATER, stage="decode"),
    told("model_version_stage:tritonobs_stage_duration_seconds:p50_5m", 0.0875, LATER, stage="decode"),
    told("model_version_stage:tritonobs_stage_duration_seconds:p95_5m", 0.09875, LATER, stage="decode"),
    told("model_version_stage:tritonobs_stage_duration_seconds:p99_5m", 0.09975, LATER, stage="decode"),
    told(
        "model_version_stage:tritonobs_stage_duration_seconds_per_total:ratio5m", 0.5, LATER, stage="decode"
    ),
)


def _rules(checks):
    return tuple(sorted({check.expr.split("{")[0].removeprefix("abs((") for check in checks}))


CASES = (
    Case(
        says="rates of two replicas add up and are over a minute",
        world=fleet(),
        rules=_rules(RATES),
        checks=RATES,
    ),
    Case(
        says="means, ratios and percentiles are over five minutes",
        world=fleet(),
        rules=_rules(BASES),
        checks=BASES,
    ),
)
