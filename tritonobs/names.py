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
