"""Rows that differ from their neighbours in every label, and values from those a window earlier."""

from support.case import Case, absent, reads
from support.simulate import World

NMS, OCR = {"model": "nms", "version": "1"}, {"model": "ocr", "version": "1"}
LATE, NEW = {"model": "late", "version": "1"}, {"model": "nms", "version": "2"}
JOB = {"job": "triton", "instance": "triton-1:8002", "replica": "triton-1"}
USED = "model_version_stage:tritonobs_stage_latency_budget_used:ratio5m"
BEATS, WORKERS = "model_instance:tritonobs_worker_alive:bool", "model_version:tritonobs_workers:count"
AGE = "model_version:tritonobs_heartbeat_age_seconds:max"
COMPUTE = "model_version:triton_compute_duration_seconds:rate1m"
SPENT = "model_version_stage:tritonobs_stage_duration_seconds"
SIZE = "model_version_stage_kind:tritonobs_stage_size:mean1m"
BETWEEN_SCRAPES = "model_version:triton_requests_offered:irate1m"
CLIENTS, SUBJECT = "model:triton_requests_from_clients:rate1m", "subject:triton_requests:rate1m"

HELD = (
    "subject:tritonobs_model_info:held",
    "subject:tritonobs_qps_limit:held",
    "subject_kind:tritonobs_tokens_per_second_limit:held",
    "pipeline_stage_model:tritonobs_pipeline_calls:held",
    "subject_slo:tritonobs_latency_target_seconds:held",
    "slo:objective:ratio",
)


def until(minute, value):
    """A level up to a minute, nothing afterwards."""
    return [(minute, value), (999, None)]


def sources():
    """Two models by two sources that disagree, until both are gone; one is taken back before."""
    world = World(minutes=130, scrape_seconds=60)
    for end, subject, factor in ((10, NMS, 1), (10, OCR, 10), (3, LATE, 100)):
        world.gauge("tritonobs_model_info", until(end, 1), **subject, kind="model")
        for source, more in (("a", 0), ("b", 1)):
            value = factor + more
            world.gauge("tritonobs_qps_limit", until(end, value), **subject, source=source)
            world.gauge(
                "tritonobs_tokens_per_second_limit",
                until(end, value),
                **subject,
                kind="tokens_in",
                source=source,
            )
            world.gauge(
                "tritonobs_pipeline_calls",
                until(end, value),
                pipeline=subject["model"],
                stage="s",
                model="m",
                source=source,
            )
            world.gauge(
                "tritonobs_latency_target_seconds",
                until(end, value),
                **subject,
                slo="l",
                stage="total",
                le="1",
                source=source,
            )
            world.gauge(
                "tritonobs_slo_objective_ratio",
                until(end, value / 16),
                **subject,
                slo="l",
                source=source,
            )
    return world


def held(minute):
    """What the records of objectives hold at a minute: the larger of what the sources say."""
    rows = ((NMS, 2), (OCR, 11))
    info, limit, tokens, calls, target, objective = HELD
    sloth = {
        "nms": {"sloth_id": "nms-l-v1", "sloth_service": "nms", "sloth_slo": "l-v1"},
        "ocr": {"sloth_id": "ocr-l-v1", "sloth_service": "ocr", "sloth_slo": "l-v1"},
    }
    return (
        reads(info, minute, *(({**row, "kind": "model"}, 1) for row, _ in rows)),
        reads(limit, minute, *rows),
        reads(tokens, minute, *(({**row, "kind": "tokens_in"}, value) for row, value in rows)),
        reads(
            calls,
            minute,
            *(({"pipeline": row["model"], "stage": "s", "model": "m"}, value) for row, value in rows),
        ),
        reads(
            target,
            minute,
            *(({**row, "slo": "l", "stage": "total", "le": "1"}, value) for row, value in rows),
        ),
        reads(
            objective,
            minute,
            *(({**row, "slo": "l", **sloth[row["model"]]}, value / 16) for row, value in rows),
        ),
    )


def stepped(name, before, after, **labels):
    """A counter whose pace changes at minute 10."""
    return World(minutes=20).counter(name, [(10, before), (99, after)], **JOB, **labels)


def timed(times, **more):
    """A stage of 4 requests a second whose time changes at minute 10."""
    return World(minutes=25).triton("nms", qps=4).stage("nms", "total", qps=4, times=times, **more)


CASES = (
    Case(
        says="objectives are those of each subject, while their source lives, an hour longer, and no more",
        world=sources(),
        rules=HELD,
        checks=(
            *held(6),
            *held(66),
            *(absent(record, 100) for record in HELD),
        ),
    ),
    Case(
        says="failures of an ensemble and of others are those of the last minute",
        world=World(minutes=20)
        .info("e", kind="ensemble")
        .triton("e", qps=4, failures={"OTHER": [(10, 0), (99, 8)], "BACKEND": [(10, 0), (99, 4)]}),
        rules=("model_version_reason:triton_requests_failed:rate1m",),
        checks=(
            reads(
                "model_version_reason:triton_requests_failed:rate1m",
                12,
                ({"model": "e", "version": "1", "reason": "OTHER"}, 4),
                ({"model": "e", "version": "1", "reason": "BACKEND"}, 4),
                ({"model": "e", "version": "1", "reason": "CANCELED"}, 0),
                ({"model": "e", "version": "1", "reason": "REJECTED"}, 0),
            ),
        ),
    ),
    Case(
        says="failures of an old and a new server add up; without failure series there are none",
        world=World(minutes=10)
        .triton("nms", qps=4, failures={"BACKEND": 2})
        .counter("nv_inference_request_failure", 1, **{**JOB, "replica": "old"}, **NMS)
        .counter("nv_inference_request_success", 4, **JOB, **OCR),
        rules=("model_version:triton_requests_bad:increase",),
        checks=(reads("model_version:triton_requests_bad:increase / 15", 8, (NMS, 3), (OCR, 0)),),
    ),
    Case(
        says="what clients ask is what all versions get less what all calls of pipelines cause",
        world=World(minutes=10)
        .triton("p", "1", qps=1)
        .triton("p", "2", qps=2)
        .triton("nms", "1", qps=20)
        .triton("nms", "2", qps=16)
        .triton("alone", "1", qps=3)
        .triton("alone", "2", qps=4)
        .gauge("tritonobs_pipeline_calls", 2, pipeline="p", stage="a", model="nms")
        .gauge("tritonobs_pipeline_calls", 3, pipeline="p", stage="b", model="nms"),
        rules=(CLIENTS, SUBJECT),
        checks=(
            reads(CLIENTS, 8, ({"model": "p"}, 3), ({"model": "nms"}, 21), ({"model": "alone"}, 7)),
            reads(f'{SUBJECT}{{model=""}}', 8, ({}, 31)),
        ),
    ),
    Case(
        says="bursts add up over replicas, and need two scrapes within the window",
        world=World(minutes=15)
        .triton("nms", "1", qps=4)
        .triton("nms", "1", replica="triton-2", qps=8)
        .triton("nms", "2", replica="triton-2", qps=2)
        .outage("triton-1", (10, 12))
        .outage("triton-2", (10, 12)),
        rules=(BETWEEN_SCRAPES,),
        checks=(reads(BETWEEN_SCRAPES, 8, (NMS, 12), (NEW, 2)), absent(BETWEEN_SCRAPES, 12)),
    ),
    Case(
        says="what came between the first two pages after a lost one is no burst, nor is what a load counts",
        world=World(minutes=15)
        .triton("nms", "1", qps=4, pending=[(10, 0), (12, None), (99, 3)])
        .triton("loaded", "1", qps=[(10, 4), (12, None), (99, 4)], pending=[(10, 0), (12, None), (99, 3)])
        .outage("triton-1", (6, 6.25)),
        rules=(BETWEEN_SCRAPES,),
        checks=(
            *(absent(BETWEEN_SCRAPES, minute) for minute in (6, 6.5)),
            *(
                reads(f'{BETWEEN_SCRAPES}{{model="nms"}}', minute, (NMS, 4))
                for minute in (6.25, 6.75, 7.5, 12)
            ),
            absent(f'{BETWEEN_SCRAPES}{{model="loaded"}}', 12),
        ),
    ),
    Case(
        says="whatever has traffic or an objective has one owner row of 1",
        world=World(minutes=10)
        .triton("nms", qps=4)
        .gauge("tritonobs_slo_objective_ratio", 0.9, **OCR, slo="a")
        .gauge("tritonobs_slo_objective_ratio", 0.8, **OCR, slo="b")
        .gauge("tritonobs_slo_objective_ratio", 0.8, **LATE, slo="b"),
        rules=("subject:tritonobs_owner:info",),
        checks=(
            reads(
                "subject:tritonobs_owner:info",
                8,
                ({}, 1),
                ({"model": "nms"}, 1),
                (NMS, 1),
                (OCR, 1),
                (LATE, 1),
            ),
        ),
    ),
    Case(
        says="input and output count for compute, as they were in the last minute",
        world=stepped("nv_inference_compute_input_duration_us", 0, 4e5, **NMS)
        .counter("nv_inference_compute_output_duration_us", [(10, 0), (99, 2e5)], **JOB, **NMS)
        .counter("nv_inference_compute_infer_duration_us", 1e5, **JOB, **NMS),
        rules=(COMPUTE,),
        checks=(reads(COMPUTE, 9, (NMS, 0.1)), reads(COMPUTE, 12, (NMS, 0.7))),
    ),
    Case(
        says="the load time is that of the slowest replica, also below a second",
        world=World(minutes=6)
        .gauge("nv_model_load_duration_secs", 0.25, **JOB, **NMS)
        .gauge("nv_model_load_duration_secs", 0.5, **{**JOB, "replica": "triton-2"}, **NMS)
        .gauge("nv_model_load_duration_secs", 0, **JOB, **OCR),
        rules=("model_version:triton_model_load_seconds:max",),
        checks=(reads("model_version:triton_model_load_seconds:max", 5, (NMS, 0.5)),),
    ),
    Case(
        says="the hit ratio is told for few lookups, too",
        world=World(minutes=10)
        .counter("nv_cache_num_hits_per_model", 1 / 15, **JOB, **NMS)
        .counter("nv_cache_num_misses_per_model", 3 / 15, **JOB, **NMS),
        rules=("model_version:triton_cache_hits_per_lookups:ratio5m",),
        checks=(reads("model_version:triton_cache_hits_per_lookups:ratio5m", 8, (NMS, 0.25)),),
    ),
    Case(
        says="a model instance lives while any of its workers beats, within the last minute, even once",
        world=World(minutes=20)
        .triton("nms", qps=1)
        .worker("nms", pid=100, alive=[(5, 1), (99, 0)])
        .worker("nms", pid=200, alive=[(10, 1), (99, 0)]),
        rules=(BEATS, WORKERS, AGE),
        checks=(
            reads(f"{BEATS} > bool 0", 8, ({**NMS, "replica": "triton-1", "model_instance": "nms_0_0"}, 1)),
            reads(f"{AGE} + 1e9", 8, (NMS, 0)),
            reads(BEATS, 10.5, ({**NMS, "replica": "triton-1", "model_instance": "nms_0_0"}, 1)),
            reads(WORKERS, 10.5, (NMS, 1)),
            reads(BEATS, 12, ({**NMS, "replica": "triton-1", "model_instance": "nms_0_0"}, 0)),
            absent(WORKERS, 12),
        ),
    ),
    Case(
        says="percentiles are those of the last five minutes",
        world=timed({0.02: [(10, 1), (99, 0)], 2: [(10, 0), (99, 1)]}),
        rules=tuple(f"{SPENT}:{name}_5m" for name in ("p50", "p95", "p99")),
        checks=tuple(
            reads(
                f"{SPENT}:{name}_5m > bool 0.9",
                minute,
                ({**NMS, "stage": "total"}, value),
            )
            for name in ("p50", "p95", "p99")
            for minute, value in ((9, 0), (17, 1))
        ),
    ),
    Case(
        says="the budget that stages eat is the tightest target's",
        world=timed({0.25: 1})
        .gauge("tritonobs_latency_target_seconds", 0.5, **NMS, slo="a", stage="total", le="0.5")
        .gauge("tritonobs_latency_target_seconds", 1, **NMS, slo="b", stage="total", le="1")
        .stage("nms", "decode", qps=4, times={0.1: 1}),
        rules=(USED,),
        checks=(reads(USED, 10, ({**NMS, "stage": "decode"}, 0.2)),),
    ),
    Case(
        says="what was slow before the last five minutes is forgotten",
        world=timed({0.02: [(10, 0), (99, 1)], 2: [(10, 1), (99, 0)]}),
        rules=tuple(f"{SPENT}:{name}_5m" for name in ("p95", "p99")),
        checks=tuple(
            reads(
                f"{SPENT}:{name}_5m > bool 0.9",
                minute,
                ({**NMS, "stage": "total"}, value),
            )
            for name in ("p95", "p99")
            for minute, value in ((9, 1), (17, 0))
        ),
    ),
    Case(
        says="the mean size is told for few requests, too",
        world=World(minutes=10)
        .counter("tritonobs_stage_size_sum", 12 / 15, **JOB, **NMS, worker="a", stage="d", kind="mp")
        .counter("tritonobs_stage_size_count", 3 / 15, **JOB, **NMS, worker="a", stage="d", kind="mp"),
        rules=(SIZE,),
        checks=(reads(SIZE, 8, ({**NMS, "stage": "d", "kind": "mp"}, 4)),),
    ),
    Case(
        says="of two stages that count tokens the larger count is true",
        world=World(minutes=10)
        .counter("tritonobs_stage_items_total", 8, **JOB, **NMS, worker="a", stage="a", kind="tokens_in")
        .counter("tritonobs_stage_items_total", 4, **JOB, **NMS, worker="a", stage="b", kind="tokens_in"),
        rules=("model_version_kind:tritonobs_tokens:rate1m",),
        checks=(reads("model_version_kind:tritonobs_tokens:rate1m", 8, ({**NMS, "kind": "tokens_in"}, 8)),),
    ),
)
