"""Every record of the mixin, by name: a record that is added or renamed shows here.

Those of an extension are in `tests/NAME/records.py`.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Final

from tritonobs import names

ERROR_RATIO: Final = "model_version:triton_requests_bad_per_requests:ratio_rate5m"
SUBJECT_REQUESTS_RATE: Final = "subject:triton_requests:rate5m"

_TESTS: Final = Path(__file__).parent.parent
_RECORDS: Final = (
    *(
        names.REQUESTS_RATE,
        ERROR_RATIO,
        names.REQUEST_MEAN,
        names.QUEUE_MEAN,
        "model_version:triton_compute_duration_seconds:mean5m",
        SUBJECT_REQUESTS_RATE,
        names.LIMIT_HELD,
    ),
    *(
        *(f"model_version_stage:tritonobs_stage_duration_seconds:{p}_5m" for p in ("p50", "p95", "p99")),
        names.STAGE_MEAN,
        names.STAGE_SHARE,
        "slo:period_error_budget_remaining:ratio",
    ),
    *(
        f"{what}:{when}"
        for what in (
            "subject:tritonobs_model_info",
            "subject_kind:tritonobs_tokens_per_second_limit",
            "pipeline_stage_model:tritonobs_pipeline_calls",
            "subject_slo:tritonobs_latency_target_seconds",
        )
        for when in ("held", "last_hour")
    ),
    "subject:tritonobs_qps_limit:last_hour",
    "subject:tritonobs_qps_limit:near",
    "subject:triton_requests_offered:near_limit",
    "cluster:tritonobs_model_info:shown",
    "slo:error_budget_burn_fast:near",
    "subject_slo:tritonobs_slo_objective:last_hour",
    *(f"subject_slo:tritonobs_slo_invalid_charged:{when}" for when in ("held", "last_hour")),
    "replica_model_version_outcome:tritonobs_requests_told:increase",
    "pipeline_model:tritonobs_requests_caused:ratio",
    "model_part:tritonobs_pipeline_requests_unaccounted:increase",
    "model_outcome:tritonobs_pipeline_requests_told:increase",
    "model:tritonobs_pipeline_requests_untold:increase",
    "model_version:triton_requests_invalid:increase5m",
    "model_version_stage_reason:tritonobs_stage_invalid:mean1d",
    "cluster:slo_error_budget:min",
    "model_stage_le:tritonobs_latency_bound:info",
    "slo:tritonobs_counted:info",
    "model_version:tritonobs_limit_of_model:info",
    *(f"model_version_reason:triton_requests_failed:{mean}" for mean in ("mean5m", "mean1h")),
    "model_version_stage_reason:tritonobs_stage_errors:mean1h",
    "subject:triton_requests:p75_1h",
    *(
        f"subject:triton_requests_offered:{breath}"
        for breath in ("breath", "breath5m", "breath_step", "breath5m_step")
    ),
    "subject:triton_requests_pending:sum",
    *(
        f"subject:tritonobs_{what}:info"
        for what in ("queue_waits", "queue_full", "limit_kept", "limit_again")
    ),
    # What comes and goes, and when it began.
    "subject:tritonobs_limit_exceeded_begins:info",
    *(f"subject:tritonobs_model_unloaded{ends}:info" for ends in ("", "_lasts", "_begins")),
    *(f"model_instance:tritonobs_worker_dead{ends}:info" for ends in ("", "_lasts", "_begins")),
    *(
        f"model_version_stage_reason:tritonobs_invalid_surge{ends}"
        for ends in (":rate", "_lasts:info", "_begins:info")
    ),
    *(
        f"{what}:timestamp_seconds"
        for what in (
            "subject:tritonobs_limit_near",
            "subject:tritonobs_limit_exceeded",
            "subject:tritonobs_limit_burst",
            "subject:tritonobs_queue_drained",
            "model:tritonobs_traffic_stopped",
            "model:tritonobs_traffic_back",
        )
    ),
    *(f"subject:tritonobs_limit_{what}:rate" for what in ("near", "exceeded")),
    "subject:tritonobs_owner:info",
    "model:triton_requests_from_clients:rate{short}",
    "subject:triton_requests:rate{short}",
    *(f"subject:triton_requests_offered:{rate}" for rate in ("rate{short}", "rate5m")),
    *(f"subject:triton_requests_offered:{mean}" for mean in ("mean{medium}", "mean5m", "mean15m")),
    *(f"{level}:triton_requests_offered:irate{{short}}" for level in ("subject", "model_version")),
    "model_version:triton_requests_offered:rate{short}",
    "cluster:tritonobs_known:info",
    "replica:triton_unreachable:info",
    "replica:triton_returned:info",
    "cluster:tritonobs_evaluated:info",
    *("replica:triton_request_microseconds:sum", "replica:triton_same_page:info"),
    *("replica:triton_scraped_twice:count", "model:triton_scraped_twice:info"),
    "model_version:triton_scraped_twice:count",
    "model_instance:tritonobs_worker_answers:info",
    *(f"replica:triton_{what}:info" for what in ("silent", "starting", "down", "outage", "outage_begins")),
    "replica:triton_requests_succeeded:sum",
    *("replica:triton_requests_uncounted:sum", "model:tritonobs_limit_passed_on:info"),
    "replica:triton_load_seconds:max",
    "replica:triton_restarted:bool",
    *(f"replica_model_version:triton_loaded:{when}_seconds" for when in ("timestamp", "last_seen")),
    "model_version:triton_servers_unreachable:count",
    "model_version:triton_requests:rate{short}",
    "model_version:triton_requests:rate{medium}",
    "model_version:triton_requests_computed:rate{short}",
    "model_version:triton_requests_timed:rate{short}",
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
    "model_instance:tritonobs_worker_alive:bool",
    "model_version:tritonobs_workers:count",
    "model_version:tritonobs_heartbeat_age_seconds:max",
    "model_version:tritonobs_workers_busy:ratio5m",
    "model_version_stage_le:tritonobs_stage_duration_seconds_bucket:rate{medium}",
    *(
        f"model_version_stage:tritonobs_stage_duration_seconds_{part}:rate{{medium}}"
        for part in ("sum", "count")
    ),
    "model_version_stage:tritonobs_stage_latency_budget_used:ratio5m",
    *(f"slo:sli_bad_samples:{samples}" for samples in ("increase", "sampled")),
    *(f"model_version_stage_reason:tritonobs_stage_errors:{rate}" for rate in ("rate{medium}", "rate5m")),
    "model_version_stage_kind:tritonobs_stage_items:rate{medium}",
    "model_version_stage_kind:tritonobs_stage_size:mean{medium}",
    "model_version_kind:tritonobs_tokens:rate{medium}",
    *(
        names.TOKENS_PER_REQUEST,
        names.KV_CACHE_OF_REPLICA,
        names.WAITING_OF_REPLICA,
        names.LLM_WAITING,
        names.LLM_RUNNING,
    ),
    "model_version:tritonobs_kv_cache_used:ratio",
    "replica_model_version:tritonobs_llm_requests_running:sum",
    "model_version:tritonobs_llm_preemptions:rate5m",
    "model_version:tritonobs_llm_requests_paused:mean5m",
    "model_version:tritonobs_prefix_cache_hits_per_lookups:ratio5m",
    "model_version:tritonobs_goodput:rate5m",
    *(f"device:accelerator_{what}" for what in ("utilization:ratio", "power:watts", "temperature:celsius")),
    *(f"device:accelerator_memory_{what}:bytes" for what in ("used", "total")),
    "target:triton_page_read:bool",
    *(f"device:accelerator_{what}" for what in ("name:info", "fault:code", "healthy:bool", "throttled:bool")),
    *(f"device:accelerator_{what}" for what in ("clock:hertz", "ecc_uncorrected:increase1h")),
    *(f"device:accelerator_{link}:bytes_per_second" for link in ("pcie", "nvlink")),
    "replica:triton_pages_new:count",
    "target:triton_requests:last",
    "replica_model_version_reason:triton_requests_failed:increase",
    "replica_model_version_seen_by:triton_requests_bad:increase",
    "model_version:triton_requests:increase",
    "model_version:triton_requests_bad:increase",
    *(f"worker_stage_le:tritonobs_stage_duration_seconds_bucket:{what}" for what in ("last", "increase")),
    *(f"model_version_stage_le:tritonobs_requests_{what}:increase" for what in ("timed", "in_time")),
    "slo:sli_unmeasured_requests:increase",
    "slo:tritonobs_counted:kept",
    "model_stage_le:tritonobs_latency_bound:kept",
    *(
        f"slo:sli_{what}_requests:{samples}"
        for what in ("valid", "bad")
        for samples in ("increase", "sampled", "rarely_sampled")
    ),
    *(
        f"slo:error_budget_burn_{tier}:{what}"
        for tier in ("fast", "medium", "slow", "long")
        for what in ("begun", "ratio", "begins", "bad", "reported")
    ),
    *(f"slo:period_error_budget_spent:{what}" for what in ("ratio", "burn_rate")),
    *(f"slo:error_budget_burn:{what}" for what in ("threshold_ratio", "threshold_ratio_again", "burst")),
    *(f"slo:sli_bad_requests:suspected{what}" for what in ("", "_increase", "_fresh")),
    *(f"slo:sli_bad_requests:sum{w}" for w in ("30m", "2h", "6h", "1d", "3d", "{period}")),
    *(f"slo:sli_error:ratio_rate{w}" for w in ("5m", "30m", "1h", "2h", "6h", "1d", "3d", "{period}")),
    *(f"slo:{what}:ratio" for what in ("objective", "error_budget", "current_burn_rate", "period_burn_rate")),
    "slo:time_period:days",
    "slo:time_to_exhaustion:seconds",
)


def record_names(*, short: str, medium: str, period: str) -> frozenset[str]:
    """Every record of the mixin for these windows, each written as a Prometheus duration."""
    of_extensions = (runpy.run_path(str(path))["RECORDS"] for path in _TESTS.glob("*/records.py"))
    every = [*_RECORDS, *(name for records in of_extensions for name in records)]
    return frozenset(name.format(short=short, medium=medium, period=period) for name in every)
