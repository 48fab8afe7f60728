"""Every metric, record, label and alert name; nobody else spells one.

What `stage` emits it also names (the emitter owns its names); this module only re-exports them. Triton's own
names are those of its 24.10 metrics page (docs/user_guide/metrics.md of the server).
"""

from __future__ import annotations

from typing import Final

from tritonobs.stage import series

# --- labels ---
MODEL: Final = "model"
VERSION: Final = "version"
WORKER: Final = "worker"
STAGE: Final = "stage"
OUTCOME: Final = "outcome"
REASON: Final = "reason"
KIND: Final = "kind"
SLO: Final = "slo"
INSTANCE: Final = "instance"
LE: Final = "le"
PIPELINE: Final = "pipeline"
TEAM: Final = "team"
TIER: Final = "tier"
REPLICA: Final = "replica"
CLUSTER: Final = "cluster"

# --- objectives and limits, from the rules file or from `tritonobs serve` (design 2.2) ---
QPS_LIMIT: Final = "tritonobs_qps_limit"
SLO_OBJECTIVE: Final = "tritonobs_slo_objective_ratio"
LATENCY_TARGET: Final = "tritonobs_latency_target_seconds"
MODEL_INFO: Final = "tritonobs_model_info"
PIPELINE_CALLS: Final = "tritonobs_pipeline_calls"
TOKENS_LIMIT: Final = "tritonobs_tokens_per_second_limit"
ANNOTATION_PREFIX: Final = "tritonobs.dev/"
MAX_QPS_ANNOTATION: Final = "tritonobs.dev/max-qps"
MODEL_ANNOTATION: Final = "tritonobs.dev/model"
LIMIT_SOURCE_UP: Final = "tritonobs_limit_source_up"
LIMIT_ANNOTATIONS_REFUSED: Final = "tritonobs_limit_annotations_refused"

# --- serve: deliveries, the robots' budgets, the state of the fleet file ---
ROBOT: Final = "robot"
DELIVERY_CALLS: Final = "tritonobs_delivery_calls_total"
DELIVERY_ALERTS: Final = "tritonobs_delivery_alerts_total"
DELIVERY_MESSAGES: Final = "tritonobs_delivery_messages_total"
DELIVERY_ERRORS: Final = "tritonobs_delivery_errors_total"
DELIVERY_WAITING: Final = "tritonobs_delivery_waiting_calls"
DELIVERY_WAIT: Final = "tritonobs_delivery_wait_seconds"
DELIVERY_REFUSED: Final = "tritonobs_delivery_refused_total"
RELAYED_CALLS: Final = "tritonobs_relayed_calls_total"
ROBOT_MUTED: Final = "tritonobs_robot_muted"
ROBOT_MUTES: Final = "tritonobs_robot_mutes_total"
ROBOT_BUDGET: Final = "tritonobs_robot_budget_remaining"
CONFIG_GENERATION: Final = "tritonobs_config_generation"
CONFIG_VALID: Final = "tritonobs_config_valid"
CONFIG_LOADED: Final = "tritonobs_config_loaded_timestamp_seconds"
EVIDENCE_QUERIES: Final = "tritonobs_evidence_queries_total"
BUILD_INFO: Final = "tritonobs_build_info"

# --- from inside the models; `stage` owns them (design 2.1) ---
STAGE_DURATION: Final = series.STAGE_DURATION
STAGE_SIZE: Final = series.STAGE_SIZE
REQUESTS: Final = series.REQUESTS
STAGE_ERRORS: Final = series.STAGE_ERRORS
STAGE_ITEMS: Final = series.STAGE_ITEMS
HEARTBEAT: Final = series.HEARTBEAT
TOTAL_STAGE: Final = series.TOTAL
FLUSH_ERRORS: Final = series.FLUSH_ERRORS
FLUSH_DROPPED: Final = series.FLUSH_DROPPED

# --- Triton's own, durations in microseconds ---
TRITON_SUCCESS: Final = "nv_inference_request_success"
TRITON_FAILURE: Final = "nv_inference_request_failure"
TRITON_INFERENCES: Final = "nv_inference_count"
TRITON_EXECUTIONS: Final = "nv_inference_exec_count"
TRITON_PENDING: Final = "nv_inference_pending_request_count"
TRITON_REQUEST_US: Final = "nv_inference_request_duration_us"
TRITON_QUEUE_US: Final = "nv_inference_queue_duration_us"
TRITON_COMPUTE_INPUT_US: Final = "nv_inference_compute_input_duration_us"
TRITON_COMPUTE_INFER_US: Final = "nv_inference_compute_infer_duration_us"
TRITON_COMPUTE_OUTPUT_US: Final = "nv_inference_compute_output_duration_us"
TRITON_CACHE_HITS: Final = "nv_cache_num_hits_per_model"
TRITON_CACHE_MISSES: Final = "nv_cache_num_misses_per_model"
TRITON_GPU_UTILIZATION: Final = "nv_gpu_utilization"
TRITON_GPU_MEMORY_USED: Final = "nv_gpu_memory_used_bytes"
TRITON_GPU_MEMORY_TOTAL: Final = "nv_gpu_memory_total_bytes"
TRITON_CPU_UTILIZATION: Final = "nv_cpu_utilization"

# --- Prometheus' own ---
RULE_FAILURES: Final = "prometheus_rule_evaluation_failures_total"
RULE_GROUP: Final = "rule_group"

# --- records, `level:metric:operations`; a subject is a model version, a model, or the fleet ---
REQUESTS_RATE: Final = "model_version:triton_requests:rate5m"
ERROR_RATIO: Final = "model_version:triton_requests_bad_per_requests:ratio_rate5m"
REQUEST_MEAN: Final = "model_version:triton_request_duration_seconds:mean5m"
QUEUE_MEAN: Final = "model_version:triton_queue_duration_seconds:mean5m"
COMPUTE_MEAN: Final = "model_version:triton_compute_duration_seconds:mean5m"
SUBJECT_REQUESTS_RATE: Final = "subject:triton_requests:rate5m"
LIMIT_HELD: Final = "subject:tritonobs_qps_limit:held"
STAGE_P50: Final = "model_version_stage:tritonobs_stage_duration_seconds:p50_5m"
STAGE_P95: Final = "model_version_stage:tritonobs_stage_duration_seconds:p95_5m"
STAGE_P99: Final = "model_version_stage:tritonobs_stage_duration_seconds:p99_5m"
STAGE_MEAN: Final = "model_version_stage:tritonobs_stage_duration_seconds:mean5m"
STAGE_SHARE: Final = "model_version_stage:tritonobs_stage_duration_seconds_per_total:ratio5m"
BUDGET_REMAINING: Final = "slo:period_error_budget_remaining:ratio"

_RECORDS: Final = (
    *(REQUESTS_RATE, ERROR_RATIO, REQUEST_MEAN, QUEUE_MEAN, COMPUTE_MEAN, SUBJECT_REQUESTS_RATE, LIMIT_HELD),
    *(STAGE_P50, STAGE_P95, STAGE_P99, STAGE_MEAN, STAGE_SHARE, BUDGET_REMAINING),
    "subject:tritonobs_model_info:held",
    "subject_kind:tritonobs_tokens_per_second_limit:held",
    "pipeline_stage_model:tritonobs_pipeline_calls:held",
    "subject_slo:tritonobs_latency_target_seconds:held",
    "subject:tritonobs_owner:info",
    "model:triton_requests_from_clients:rate{short}",
    "subject:triton_requests:rate{short}",
    "model_version:triton_requests_succeeded:irate{short}",
    "model_version:triton_requests:rate{short}",
    "model_version:triton_requests:rate{medium}",
    "model_version:triton_requests_bad:rate{short}",
    "model_version:triton_requests_computed:rate{short}",
    "model_version:triton_requests_succeeded:rate{short}",
    "replica_model_version:triton_requests_succeeded:rate{short}",
    "model_version_reason:triton_requests_failed:rate{short}",
    "model_version_outcome:tritonobs_requests:rate{short}",
    "replica_model_version:triton_request_duration_seconds:rate{short}",
    "replica_model_version:triton_request_duration_seconds:mean5m",
    "replica_model_version:triton_request_duration_seconds_per_peers:ratio5m",
    *(
        f"model_version:triton_{part}_duration_seconds:rate{{short}}"
        for part in ("request", "queue", "compute")
    ),
    "model_version:triton_requests_in_flight:mean5m",
    "model_version:triton_requests_pending:sum",
    "model_version:triton_model_load_seconds:max",
    *(f"model_version:triton_{what}:rate{{short}}" for what in ("inferences", "executions")),
    *(f"model_version:triton_cache_{what}:rate{{short}}" for what in ("hits", "misses")),
    "model_version:triton_batch_size:mean5m",
    "model_version:triton_requests_per_executions:ratio5m",
    "model_version:triton_cache_hits_per_lookups:ratio5m",
    "model_instance:tritonobs_heartbeats:changes{medium}",
    "model_version:tritonobs_workers:count",
    "model_version:tritonobs_heartbeat_age_seconds:max",
    "model_version:tritonobs_workers_busy:ratio5m",
    "model_version_stage_le:tritonobs_stage_duration_seconds_bucket:rate{medium}",
    *(
        f"model_version_stage:tritonobs_stage_duration_seconds_{part}:rate{{medium}}"
        for part in ("sum", "count")
    ),
    "model_version_stage:tritonobs_stage_latency_budget_used:ratio5m",
    "model_version_stage_reason:tritonobs_stage_errors:rate{medium}",
    "model_version_stage_kind:tritonobs_stage_items:rate{medium}",
    "model_version_stage_kind:tritonobs_stage_size:mean{medium}",
    "model_version_kind:tritonobs_tokens:rate{medium}",
    *(f"device:accelerator_{what}" for what in ("utilization:ratio", "power:watts", "temperature:celsius")),
    *(f"device:accelerator_memory_{what}:bytes" for what in ("used", "total")),
    *(f"slo:sli_{what}_requests:rate5m{part}" for what in ("valid", "bad") for part in ("", "_sampled")),
    *(f"slo:sli_error:ratio_rate{w}" for w in ("5m", "30m", "1h", "2h", "6h", "1d", "3d", "{period}")),
    *(f"slo:{what}:ratio" for what in ("objective", "error_budget", "current_burn_rate", "period_burn_rate")),
    "slo:time_period:days",
    "slo:time_to_exhaustion:seconds",
)


def record_names(*, short: str, medium: str, period: str) -> frozenset[str]:
    """Every record of the mixin for these windows, each written as a Prometheus duration."""
    return frozenset(name.format(short=short, medium=medium, period=period) for name in _RECORDS)


# --- alerts ---
BURN_TIER: Final = "burn_tier"
ALERT_QPS_ABOVE_LIMIT: Final = "TritonQpsAboveLimit"
ALERTS: Final = (
    *(ALERT_QPS_ABOVE_LIMIT, "TritonQpsNearLimit", "TritonQpsSpike", "TritonQpsWillExceedLimit"),
    *("TritonLimitSourceLost", "TritonLimitRefused", "TritonTokensAboveLimit", "TritonTokensNearLimit"),
    *(
        "TritonServerDown",
        "TritonModelUnloaded",
        "TritonWorkerDead",
        "TritonTrafficStopped",
        "TritonTrafficDrop",
    ),
    *(f"TritonErrorBudgetBurn{tier}" for tier in ("Fast", "Medium", "Slow", "Long")),
    *("TritonErrorBudgetExhausted", "TritonSliMissing", "TritonQueueWaitHigh", "TritonSaturated"),
    *("TritonBatchInefficient", "TritonStageSlow", "TritonErrorReasonSurge", "TritonCacheCollapse"),
    *("TritonModelReloaded", "TritonMetricsEmpty", "TritonCountersFrozen", "TritonStageMetricsFailing"),
    *("TritonRestartLoop", "TritonReplicaSlow", "TritonHostMemoryPressure"),
    *("TritonAcceleratorMemoryPressure", "TritonAcceleratorSaturated", "Watchdog", "TritonobsServeDown"),
    *(
        "TritonobsFleetFileInvalid",
        "TritonobsDeliveryFailing",
        "TritonobsRobotMuted",
        "TritonobsRulesFailing",
    ),
)

# --- NVIDIA's dcgm-exporter, where it runs ---
DCGM_SM_CLOCK: Final = "DCGM_FI_DEV_SM_CLOCK"
DCGM_TEMPERATURE: Final = "DCGM_FI_DEV_GPU_TEMP"

# --- boards ---
BOARD_TAG: Final = "tritonobs"
BOARDS: Final = ("fleet", "model", "pipeline", "slo", "accelerators", "hosts", "delivery")


def board_uid(board: str) -> str:
    """The uid of a board in Grafana, as `rules/lib/boards.libsonnet` links to it."""
    return f"{BOARD_TAG}-{board}"
