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

# --- records that messages quote ---
STAGE_SHARE: Final = "model_version_stage:tritonobs_stage_duration_seconds_per_total:ratio5m"

# --- alerts that other parts wait for ---
ALERT_QPS_ABOVE_LIMIT: Final = "TritonQpsAboveLimit"

# --- NVIDIA's dcgm-exporter, where it runs ---
DCGM_SM_CLOCK: Final = "DCGM_FI_DEV_SM_CLOCK"
DCGM_TEMPERATURE: Final = "DCGM_FI_DEV_GPU_TEMP"

# --- boards ---
BOARD_TAG: Final = "tritonobs"
BOARDS: Final = ("fleet", "model", "pipeline", "slo", "accelerators", "hosts", "delivery")


def board_uid(board: str) -> str:
    """The uid of a board in Grafana, as `rules/lib/boards.libsonnet` links to it."""
    return f"{BOARD_TAG}-{board}"
