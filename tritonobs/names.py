"""Every metric, record, label and alert name, spelled here only.

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
POD: Final = "pod"
CLUSTER: Final = "cluster"

# --- objectives and limits, from the rules file or from `tritonobs serve` ---
QPS_LIMIT: Final = "tritonobs_qps_limit"
SLO_OBJECTIVE: Final = "tritonobs_slo_objective_ratio"
SLO_INVALID_CHARGED: Final = "tritonobs_slo_invalid_charged"
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
ROBOT_INFO: Final = "tritonobs_robot_info"
ROBOT_MUTED: Final = "tritonobs_robot_muted"
ROBOT_MUTES: Final = "tritonobs_robot_mutes_total"
ROBOT_BUDGET: Final = "tritonobs_robot_budget_remaining"
CONFIG_GENERATION: Final = "tritonobs_config_generation"
CONFIG_VALID: Final = "tritonobs_config_valid"
CONFIG_LOADED: Final = "tritonobs_config_loaded_timestamp_seconds"
INCIDENTS: Final = "tritonobs_incidents"
INCIDENT_SINCE: Final = "tritonobs_incident_since_timestamp_seconds"
INCIDENT_ALERT_SINCE: Final = "tritonobs_incident_alert_since_timestamp_seconds"
EVIDENCE_QUERIES: Final = "tritonobs_evidence_queries_total"
BUILD_INFO: Final = "tritonobs_build_info"
LEADER: Final = "tritonobs_delivers"
TASK: Final = "task"
TASK_UP: Final = "tritonobs_task_up"
TASK_FAILURES: Final = "tritonobs_task_failures_total"
UNSHOWN_ALERTS: Final = "tritonobs_delivery_unshown_alerts_total"
CONNECTIONS_DROPPED: Final = "tritonobs_connections_dropped_total"
DISCOVERY_TARGETS: Final = "tritonobs_discovery_targets"
DISCOVERY_STALE: Final = "tritonobs_discovery_stale_seconds"

# --- the receiver of Triton's own traces ---
PHASE: Final = "phase"
TRACE_DURATION: Final = "tritonobs_trace_duration_seconds"
TRACE_REQUESTS: Final = "tritonobs_trace_requests_total"
TRACE_SAMPLES: Final = "tritonobs_trace_samples_total"
TRACE_WEIGHT: Final = "tritonobs_trace_weight"
TRACE_RATE: Final = "tritonobs_trace_rate"
TRACE_SPANS: Final = "tritonobs_trace_spans_total"
TRACE_DROPPED: Final = "tritonobs_trace_dropped_total"
TRACE_UNWEIGHTED: Final = "tritonobs_trace_unweighted_total"
TRACE_WAITING: Final = "tritonobs_trace_waiting_bodies"
TRACE_FORWARDED: Final = "tritonobs_trace_forwarded_total"
TRACE_FORWARD_WAITING: Final = "tritonobs_trace_forward_waiting_bodies"

# --- from inside the models; `stage` owns them ---
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
TRITON_LOAD_SECONDS: Final = "nv_model_load_duration_secs"
TRITON_REQUEST_US: Final = "nv_inference_request_duration_us"
TRITON_QUEUE_US: Final = "nv_inference_queue_duration_us"
TRITON_COMPUTE_INPUT_US: Final = "nv_inference_compute_input_duration_us"
TRITON_COMPUTE_INFER_US: Final = "nv_inference_compute_infer_duration_us"
TRITON_COMPUTE_OUTPUT_US: Final = "nv_inference_compute_output_duration_us"
TRITON_FIRST_RESPONSE: Final = "nv_inference_first_response_histogram_ms"
TRITON_CACHE_HITS: Final = "nv_cache_num_hits_per_model"
TRITON_CACHE_MISSES: Final = "nv_cache_num_misses_per_model"
TRITON_GPU_UTILIZATION: Final = "nv_gpu_utilization"
TRITON_GPU_MEMORY_USED: Final = "nv_gpu_memory_used_bytes"
TRITON_GPU_MEMORY_TOTAL: Final = "nv_gpu_memory_total_bytes"
TRITON_CPU_UTILIZATION: Final = "nv_cpu_utilization"

# --- vLLM's own, as its backend passes them on ---
VLLM_REQUEST: Final = "vllm:e2e_request_latency_seconds"

# --- Prometheus' own ---
RULE_FAILURES: Final = "prometheus_rule_evaluation_failures_total"
RULE_GROUP: Final = "rule_group"

# --- records, `level:metric:operations`; a subject is a model version, a model, or the fleet ---
REQUESTS_RATE: Final = "model_version:triton_requests:rate5m"
REQUEST_MEAN: Final = "model_version:triton_request_duration_seconds:mean5m"
QUEUE_MEAN: Final = "model_version:triton_queue_duration_seconds:mean5m"
LIMIT_HELD: Final = "subject:tritonobs_qps_limit:held"
STAGE_MEAN: Final = "model_version_stage:tritonobs_stage_duration_seconds:mean5m"
STAGE_SHARE: Final = "model_version_stage:tritonobs_stage_duration_seconds_per_total:ratio5m"
KV_CACHE_OF_REPLICA: Final = "replica_model_version:tritonobs_kv_cache_used:ratio"
WAITING_OF_REPLICA: Final = "replica_model_version:tritonobs_llm_requests_waiting:sum"
LLM_WAITING: Final = "model_version:tritonobs_llm_requests_waiting:sum"
LLM_RUNNING: Final = "model_version:tritonobs_llm_requests_running:sum"
TOKENS_RATE: Final = "model_version_kind:tritonobs_tokens:rate[0-9smh]+"
TOKENS_PER_REQUEST: Final = "model_version_kind:tritonobs_tokens_per_requests:ratio5m"
BURN_RATE: Final = "slo:current_burn_rate:ratio"
ERROR_BUDGET: Final = "slo:error_budget:ratio"
LIMIT_EXCEEDED: Final = "subject:tritonobs_limit_exceeded:rate"
SLO_VALID: Final = "slo:sli_valid_requests:increase"
SLO_BAD: Final = "slo:sli_bad_requests:increase"
SLO_VALID_RARELY: Final = "slo:sli_valid_requests:rarely_sampled"

# --- alerts ---
WATCHDOG: Final = "Watchdog"
ALERT_QPS_ABOVE_LIMIT: Final = "TritonQpsAboveLimit"
SHARD: Final = "shard"
SHARD_ALERTS: Final = ("TritonobsShardMissing",)
"""Of the global tier alone."""
AGENTS_JOB: Final = "tritonobs-agents"
AGENT_ALERTS: Final = ("TritonobsAgentMissing",)
"""Only where agents share the servers."""

# --- NVIDIA's dcgm-exporter, where it runs ---
DCGM_SM_CLOCK: Final = "DCGM_FI_DEV_SM_CLOCK"
DCGM_TEMPERATURE: Final = "DCGM_FI_DEV_GPU_TEMP"

# --- boards ---
BOARD_TAG: Final = "tritonobs"
BOARDS: Final = ("fleet", "model", "pipeline", "language", "slo", "accelerators", "hosts", "delivery")


def board_uid(board: str) -> str:
    """The uid of a board in Grafana, as `rules/lib/phrases.libsonnet` links to it."""
    return f"{BOARD_TAG}-{board}"
