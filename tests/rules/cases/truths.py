"""What records read is what happened: with twins, ensembles, restarts, rollouts, caches and replicas."""

from support.case import Case, absent, near, reads
from support.simulate import World

NMS = {"model": "nms", "version": "1"}
TRITON = {"job": "triton", "instance": "triton-1:8002", "replica": "triton-1", **NMS}
TRAFFIC = "model_version:triton_requests"
PIPE = {"job": "triton", "model": "pipe", "version": "3"}

CASES = (
    Case(
        says="two GPUs, a worker's series twice, are one model",
        world=World(minutes=30)
        .triton("nms", qps=0, pending=2)
        .triton("nms", qps=3, seconds=0.1, gpu_uuid="GPU-1")
        .triton("nms", qps=1, seconds=0.5, gpu_uuid="GPU-2"),
        rules=(
            f"{TRAFFIC}:rate5m",
            "model_version:triton_request_duration_seconds:mean5m",
            "model_version:triton_requests_pending:sum",
        ),
        checks=(
            reads(f"{TRAFFIC}:rate5m", 20, (NMS, 4)),
            near("model_version:triton_request_duration_seconds:mean5m", 20, NMS, 0.2, tolerance=1e-6),
            reads("model_version:triton_requests_pending:sum", 20, (NMS, 2)),
        ),
    ),
    Case(
        says="an ensemble in version 3 is counted once, under version 1 as Triton does",
        world=World(minutes=30)
        .info("pipe", "1", kind="ensemble")
        .triton("pipe", "1", qps=3, failures={"OTHER": 1, "CANCELED": 0.5})
        .counter("nv_inference_request_failure", 1, job="triton", model="pipe", version="3", reason="OTHER")
        .triton("plain", "1", qps=3, failures={"OTHER": 1}),
        rules=(f"{TRAFFIC}:rate5m", f"{TRAFFIC}_bad_per_requests:ratio_rate5m"),
        checks=(
            near(f'{TRAFFIC}:rate5m{{model="pipe"}}', 20, {"model": "pipe", "version": "1"}, 4.5),
            near(f'{TRAFFIC}:rate5m{{model="plain"}}', 20, {"model": "plain", "version": "1"}, 4),
            near(
                f'{TRAFFIC}_bad_per_requests:ratio_rate5m{{model="pipe"}}',
                20,
                {"model": "pipe", "version": "1"},
                1 / 4.5,
            ),
            near(
                f'{TRAFFIC}_bad_per_requests:ratio_rate5m{{model="plain"}}',
                20,
                {"model": "plain", "version": "1"},
                0.25,
            ),
        ),
    ),
    Case(
        says="failures of an ensemble add up over versions and replicas, those it tells twice halved",
        world=World(minutes=10)
        .info("pipe", "3", kind="ensemble")
        .triton("pipe", "1", qps=3, failures={"OTHER": 3, "REJECTED": 1})
        .triton("pipe", "1", replica="triton-2", qps=3, failures={"OTHER": 2, "REJECTED": 4})
        .counter("nv_inference_request_failure", 5, **PIPE, reason="OTHER")
        .counter("nv_inference_request_failure", 2, **PIPE, reason="REJECTED")
        .triton("plain", "2", qps=3, failures={"OTHER": 6, "REJECTED": 7}),
        rules=("model_version_reason:triton_requests_failed:rate1m",),
        checks=(
            reads(
                'model_version_reason:triton_requests_failed:rate1m{reason=~"OTHER|REJECTED"}',
                8,
                ({"model": "pipe", "version": "1", "reason": "OTHER"}, 5),
                ({"model": "pipe", "version": "1", "reason": "REJECTED"}, 7),
                ({"model": "plain", "version": "2", "reason": "OTHER"}, 6),
                ({"model": "plain", "version": "2", "reason": "REJECTED"}, 7),
            ),
        ),
    ),
    Case(
        says="error replies, exceptions, dead workers and expired requests are bad; cancelled ones are not",
        world=World(minutes=30)
        .triton("soft", qps=10)
        .worker("soft", outcomes={"ok": 8, "error": 1.5, "rejected": 0.5, "cancelled": 0.3})
        .triton("raises", qps=8, failures={"BACKEND": 2})
        .worker("raises", outcomes={"ok": 8, "error": 2})
        .triton("dead", qps=8, failures={"BACKEND": 2})
        .worker("dead", outcomes={"ok": 8})
        .triton("late", qps=8, failures={"REJECTED": 1, "OTHER": 1, "CANCELED": 0})
        .worker("late", outcomes={"ok": 8})
        .triton("left", qps=8, failures={"CANCELED": 2}),
        rules=(f"{TRAFFIC}_bad_per_requests:ratio_rate5m",),
        checks=tuple(
            reads(
                # Whole requests: in five minutes there is one more, or one less.
                f'round({TRAFFIC}_bad_per_requests:ratio_rate5m{{model="{model}"}}, 0.01)',
                20,
                ({"model": model, "version": "1"}, ratio),
            )
            for model, ratio in (("soft", 0.2), ("raises", 0.2), ("dead", 0.2), ("late", 0.2), ("left", 0))
        ),
    ),
    Case(
        says="a server before 24.07, without reasons, is understood",
        world=World(minutes=30)
        .counter("nv_inference_request_success", 8, **TRITON)
        .counter("nv_inference_request_failure", 2, **TRITON)
        .worker("nms", outcomes={"ok": 8, "error": 2}),
        rules=(f"{TRAFFIC}_bad_per_requests:ratio_rate5m", f"{TRAFFIC}:rate5m"),
        checks=(
            reads(f"{TRAFFIC}_bad_per_requests:ratio_rate5m", 20, (NMS, 0.2)),
            reads(f"{TRAFFIC}:rate5m", 20, (NMS, 10)),
        ),
    ),
    Case(
        says="a restart is no spike and no gap",
        world=World(minutes=40).triton("nms", qps=[(20, 10), (20.5, None), (99, 10)]),
        rules=(f"{TRAFFIC}:rate5m", f"{TRAFFIC}:rate1m"),
        checks=(
            near(f"max_over_time({TRAFFIC}:rate1m[20m])", 39, NMS, 10, tolerance=0.1),
            near(f"{TRAFFIC}:rate5m", 26, NMS, 10, tolerance=0.1),
        ),
    ),
    Case(
        says="an unloaded model has no traffic instead of none, whatever its failures left behind",
        world=World(minutes=40)
        .triton("nms", qps=[(20, 5), (99, None)], failures={"BACKEND": 1})
        .triton("nms", "2", qps=5),
        rules=("subject:triton_requests:rate5m", f"{TRAFFIC}_bad_per_requests:ratio_rate5m"),
        checks=(
            absent(f'{TRAFFIC}:rate5m{{version="1"}}', 22),
            absent('model_version_reason:triton_requests_failed:rate1m{version="1"}', 22),
            absent(f'{TRAFFIC}_bad_per_requests:ratio_rate5m{{version="1"}}', 22),
            reads('subject:triton_requests:rate5m{version=""}', 30, ({"model": "nms"}, 5), ({}, 5)),
        ),
    ),
    Case(
        says="a rollout from version 1 to 2 keeps the model's traffic",
        world=World(minutes=40)
        .triton("nms", "1", qps=[(20, 5), (99, None)])
        .triton("nms", "2", qps=[(20, None), (99, 5)]),
        rules=("subject:triton_requests:rate5m",),
        checks=(
            near(
                'max_over_time(subject:triton_requests:rate5m{model="nms",version=""}[20m])',
                39,
                {"model": "nms"},
                5,
                tolerance=0.1,
            ),
            near(
                'min_over_time(subject:triton_requests:rate5m{model="nms",version=""}[10m])',
                39,
                {"model": "nms"},
                5,
                tolerance=0.1,
            ),
        ),
    ),
    Case(
        says="what the cache answers was never computed",
        world=World(minutes=30)
        .triton("nms", qps=10, compute=0.02)
        .counter("nv_cache_num_hits_per_model", 8, **TRITON)
        .counter("nv_cache_num_misses_per_model", 2, **TRITON)
        .triton("other", qps=1, compute=0.02),
        rules=(
            "model_version:triton_compute_duration_seconds:mean5m",
            "model_version:triton_cache_hits_per_lookups:ratio5m",
        ),
        checks=(
            near(
                'model_version:triton_compute_duration_seconds:mean5m{model="nms"}',
                20,
                NMS,
                0.1,
                tolerance=0.001,
            ),
            near(
                'model_version:triton_compute_duration_seconds:mean5m{model="other"}',
                20,
                {"model": "other", "version": "1"},
                0.02,
                tolerance=0.001,
            ),
            reads("model_version:triton_cache_hits_per_lookups:ratio5m", 20, (NMS, 0.8)),
        ),
    ),
    Case(
        says="a cache that nobody asks has no hit ratio",
        world=World(minutes=30)
        .triton("nms", qps=0)
        .counter("nv_cache_num_hits_per_model", 0, **TRITON)
        .counter("nv_cache_num_misses_per_model", 0, **TRITON),
        rules=("model_version:triton_cache_hits_per_lookups:ratio5m",),
        checks=(absent("model_version:triton_cache_hits_per_lookups:ratio5m", 20),),
    ),
    Case(
        says="a replica is compared with its peers, weighted by their requests",
        world=World(minutes=30)
        .triton("nms", qps=1, seconds=0.4, replica="a")
        .triton("nms", qps=1, seconds=0.1, replica="b")
        .triton("nms", qps=3, seconds=0.2, replica="c"),
        rules=("replica_model_version:triton_request_duration_seconds_per_peers:ratio5m",),
        checks=(
            reads(
                "replica_model_version:triton_request_duration_seconds_per_peers:ratio5m",
                20,
                ({**NMS, "replica": "a"}, 2.2857),
                ({**NMS, "replica": "b"}, 0.4),
                ({**NMS, "replica": "c"}, 0.8),
            ),
            reads(
                "replica_model_version:triton_request_duration_seconds:mean5m",
                20,
                ({**NMS, "replica": "a"}, 0.4),
                ({**NMS, "replica": "b"}, 0.1),
                ({**NMS, "replica": "c"}, 0.2),
            ),
        ),
    ),
    Case(
        says="the worst heartbeat of a model is the age of its oldest living model instance",
        world=World(minutes=30)
        .triton("nms", qps=1)
        .worker("nms", slot="0")
        .worker("nms", slot="1", pid=101, alive=[(10, 1), (99, 0)]),
        rules=("model_version:tritonobs_heartbeat_age_seconds:max", "model_version:tritonobs_workers:count"),
        checks=(
            reads("model_version:tritonobs_heartbeat_age_seconds:max + 1e9", 20, (NMS, 615)),
            reads("model_version:tritonobs_workers:count", 8, (NMS, 2)),
            reads("model_version:tritonobs_workers:count", 20, (NMS, 1)),
        ),
    ),
    Case(
        says="what stages were given, made and got wrong is told by kind and reason",
        world=World(minutes=30)
        .triton("nms", qps=1)
        .counter("tritonobs_stage_items_total", 30, **TRITON, worker="a", stage="filter", kind="boxes_in")
        .counter("tritonobs_stage_items_total", 10, **TRITON, worker="b", stage="filter", kind="boxes_in")
        .counter("tritonobs_stage_size_sum", 24, **TRITON, worker="a", stage="decode", kind="megapixels")
        .counter("tritonobs_stage_size_count", 2, **TRITON, worker="a", stage="decode", kind="megapixels")
        .counter("tritonobs_stage_size_sum", 0, **TRITON, worker="a", stage="idle", kind="megapixels")
        .counter("tritonobs_stage_size_count", 0, **TRITON, worker="a", stage="idle", kind="megapixels")
        .counter("tritonobs_stage_errors_total", 2, **TRITON, worker="a", stage="decode", reason="too_large")
        .counter("tritonobs_stage_errors_total", 1, **TRITON, worker="b", stage="decode", reason="too_large"),
        rules=(
            "model_version_stage_kind:tritonobs_stage_items:rate1m",
            "model_version_stage_kind:tritonobs_stage_size:mean1m",
            "model_version_stage_reason:tritonobs_stage_errors:rate1m",
        ),
        checks=(
            reads(
                "model_version_stage_kind:tritonobs_stage_items:rate1m",
                20,
                ({**NMS, "stage": "filter", "kind": "boxes_in"}, 40),
            ),
            reads(
                "model_version_stage_kind:tritonobs_stage_size:mean1m",
                20,
                ({**NMS, "stage": "decode", "kind": "megapixels"}, 12),
            ),
            reads(
                "model_version_stage_reason:tritonobs_stage_errors:rate1m",
                20,
                ({**NMS, "stage": "decode", "reason": "too_large"}, 3),
            ),
        ),
    ),
    Case(
        says="names of models that are hostile are data",
        world=World(minutes=20)
        .triton('a"b\\c\nd{e}', qps=5)
        .triton("模型", qps=5)
        .gauge("tritonobs_qps_limit", 2, model='a"b\\c\nd{e}', version="1"),
        rules=("TritonQpsAboveLimit", "subject:triton_requests:rate5m"),
        checks=(
            reads("count(ALERTS)", 10, ({}, 1)),
            near(
                'subject:triton_requests:rate5m{model="模型",version="1"}',
                10,
                {"model": "模型", "version": "1"},
                5,
            ),
        ),
    ),
    Case(
        says="a fleet at rest alerts about nothing",
        world=World(minutes=60).triton("nms").worker("nms").info("nms").info("nms", "1").outage("triton-1"),
        rules=(
            "TritonQueueWaitHigh",
            "TritonSaturated",
            "TritonBatchInefficient",
            "TritonReplicaSlow",
            "TritonTrafficStopped",
        ),
        checks=(absent("count_over_time(ALERTS[1h])", 60),),
    ),
)
