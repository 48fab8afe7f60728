"""Every metric, record, label and alert name; nobody else spells one.

What `stage` emits it also names (the emitter owns its names); this module only re-exports them. Triton's own
names are those of its 24.10 metrics page (docs/user_guide/metrics.md of the server).
"""

from __future__ import annotations

from typing import Final

# --- labels ---
MODEL: Final = "model"
VERSION: Final = "version"
WORKER: Final = "worker"
STAGE: Final = "stage"
OUTCOME: Final = "outcome"
REASON: Final = "reason"
KIND: Final = "kind"
SLO: Final = "slo"

# --- objectives and limits, from the rules file or from `tritonobs serve` (design 2.2) ---
QPS_LIMIT: Final = "tritonobs_qps_limit"
SLO_OBJECTIVE: Final = "tritonobs_slo_objective_ratio"
LATENCY_TARGET: Final = "tritonobs_latency_target_seconds"
MODEL_INFO: Final = "tritonobs_model_info"

# --- serve: deliveries, the robots' budgets, the state of the fleet file ---
ROBOT: Final = "robot"
DELIVERY_CALLS: Final = "tritonobs_delivery_calls_total"
DELIVERY_ALERTS: Final = "tritonobs_delivery_alerts_total"
DELIVERY_MESSAGES: Final = "tritonobs_delivery_messages_total"
DELIVERY_ERRORS: Final = "tritonobs_delivery_errors_total"
DELIVERY_WAITING: Final = "tritonobs_delivery_waiting_calls"
DELIVERY_WAIT: Final = "tritonobs_delivery_wait_seconds"
DELIVERY_REFUSED: Final = "tritonobs_delivery_refused_total"
ROBOT_MUTED: Final = "tritonobs_robot_muted"
ROBOT_MUTES: Final = "tritonobs_robot_mutes_total"
ROBOT_BUDGET: Final = "tritonobs_robot_budget_remaining"
CONFIG_GENERATION: Final = "tritonobs_config_generation"
CONFIG_VALID: Final = "tritonobs_config_valid"
CONFIG_LOADED: Final = "tritonobs_config_loaded_timestamp_seconds"
EVIDENCE_QUERIES: Final = "tritonobs_evidence_queries_total"
BUILD_INFO: Final = "tritonobs_build_info"
