"""Records of traced requests (tests/support/record_names.py)."""

from typing import Final

RECORDS: Final = (
    "replica_model:triton_requests:increase",
    "replica_model:tritonobs_trace_rate:steady",
    "replica_model:tritonobs_trace_rate:max1h",
    "replica_model:tritonobs_requests_traced:increase",
    "replica_model:tritonobs_requests_traced:ratio1h",
    "replica_model:triton_requests_traceable:increase",
    "replica_model:triton_requests_traceable:sum1h",
    "model_version_phase_le:tritonobs_trace_duration_seconds_bucket:rate{medium}",
    "model_version:tritonobs_trace_samples:rate5m",
    *(
        f"model_version_phase:tritonobs_{what}_seconds:{quantile}_5m"
        for what in ("trace_duration", "request")
        for quantile in ("p50", "p95", "p99")
    ),
)
