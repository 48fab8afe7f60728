"""Every check finds its fault, leaves the right expression alone, and knows where the border is."""

import pytest

from support.linting import alert, hpa, ids, keda, panel, query, record
from tritonobs.extensions.lint.checks import CHECKS

SUCCESS = "sum by (model) (rate(nv_inference_request_success[5m]))"
FAILURE = "sum by (model) (rate(nv_inference_request_failure[5m]))"
DURATION = "sum by (model) (rate(nv_inference_request_duration_us[5m]))"
MEAN = f"{DURATION} / {SUCCESS}"
SHARE = f"{FAILURE} / ({SUCCESS} + {FAILURE})"
FIRST = "rate(nv_inference_first_response_histogram_ms_bucket[5m])"
KEDA = "sum(nv_inference_pending_request_count)"
SEEING = {"ignoreNullValues": "false"}

# id → what is wrong, what is right, and what is near the border and right, too.
CASES = {
    "unknown-series": (
        [
            query("rate(nv_inference_request_success_total[5m])"),
            query("rate(nv_inference_queue_duration_us_bucket[5m])"),
            query("triton_server_gpu_memory_bytes"),
            query("DCGM_FI_DEV_MEM_USED"),
            alert('vllm:num_requests_waiting{job="triton"} > 5'),
        ],
        [
            query("rate(nv_inference_request_success[5m])"),
            query("nv_inference_request_summary_us_count offset 5m or up"),
        ],
        [
            query("nv_peer_mem_loaded + triton_server_up"),
            query("vllm:num_requests_waiting"),
            query("triton:requests:rate5m"),
            query("up"),
        ],
    ),
    "other-release": (
        [query("rate(nv_cache_hit_lookup_duration_per_model[5m])")],
        [query("rate(nv_cache_hit_duration_per_model[5m])")],
        [query("nv_model_load_duration_secs")],
    ),
    "unknown-label": (
        [
            query("sum by (model_name) (rate(nv_inference_count[5m]))"),
            query('nv_gpu_utilization{gpu="0"}'),
            query('rate(nv_inference_request_success{reason="BACKEND"}[5m])'),
            query("sum by (gpu_uuid) (rate(nv_inference_count[5m]))"),
        ],
        [query(SUCCESS), query('nv_gpu_utilization{gpu_uuid="GPU-1"}')],
        [
            query('rate(nv_inference_request_success{model_name!="x"}[5m])'),
            query('rate(nv_inference_count{namespace="a", pod=~"b.*", _team="c"}[5m])'),
            query('nv_gpu_utilization{model=~".*"}'),
        ],
    ),
    "lost-label": (
        [
            panel("sum by (instance) (rate(nv_inference_count[5m]))", legend="{{model}}"),
            alert(
                "sum without (model) (nv_inference_pending_request_count) > 5", a="{{ $labels.model }} waits"
            ),
            panel("sum(nv_inference_pending_request_count)", legend="{{ model }}"),
        ],
        [
            panel("sum by (model) (rate(nv_inference_count[5m]))", legend="{{model}}"),
            alert(
                "nv_inference_pending_request_count > 5", a="{{ $labels.model }} on {{ $labels.instance }}"
            ),
        ],
        [
            panel("sum(nv_inference_pending_request_count)", legend="waiting"),
            alert(
                "sum by (model) (nv_inference_pending_request_count) * on (model) group_left (team) a > 5",
                a="{{ $labels.team }}",
            ),
            alert("sum(rate(http_total[5m])) > 5", a="{{ $labels.model }}"),
            alert('absent(nv_inference_count{model="a"})', a="{{ $labels.model }}"),
        ],
    ),
    "unknown-label-value": (
        [
            query('nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="used_blocks"}'),
            query('rate(nv_inference_request_failure{reason="backend"}[5m])'),
        ],
        [query('rate(nv_inference_request_failure{reason="BACKEND"}[5m])')],
        [
            query('rate(nv_inference_request_failure{reason=~"BACKEND|OTHER"}[5m])'),
            query('rate(nv_inference_request_failure{reason!="timeout"}[5m])'),
            panel('rate(nv_inference_request_failure{reason="$reason"}[5m])'),
        ],
    ),
    "summed-kinds": (
        [
            query("sum by (model) (nv_trt_llm_kv_cache_block_metrics)"),
            query("avg(nv_trt_llm_request_metrics)"),
        ],
        [query('sum by (model) (nv_trt_llm_request_metrics{request_type="waiting"})')],
        [
            query("sum by (request_type) (nv_trt_llm_request_metrics)"),
            query("max(nv_trt_llm_request_metrics)"),
        ],
    ),
    "raw-counter": (
        [
            alert("sum by (model) (nv_inference_request_failure) > 10"),
            panel("nv_inference_request_success"),
            query("nv_inference_request_duration_us / nv_inference_request_success"),
            query("max_over_time(nv_inference_count[5m])"),
        ],
        [query(SUCCESS), query("increase(nv_inference_request_success[1h])")],
        [
            query("count by (model) (nv_inference_request_success)"),
            query("up unless on (instance) nv_inference_request_success"),
            query("nv_inference_request_success == 0"),
            query("changes(nv_inference_request_success[1h])"),
            query('absent(nv_inference_request_success{model="a"})'),
            record("sum without (gpu_uuid) (nv_inference_request_success)"),
            query("rate((nv_inference_request_success)[5m:])"),
        ],
    ),
    "rate-of-sum": (
        [query("rate(sum by (model) (nv_inference_request_success)[5m:])")],
        [query(SUCCESS)],
        [query("max_over_time(sum by (model) (rate(nv_inference_request_success[5m]))[1h:])")],
    ),
    "delta-of-counter": (
        [
            query("delta(nv_inference_queue_duration_us[1m])"),
            query("predict_linear(nv_inference_count[1h], 60)"),
        ],
        [query("increase(nv_inference_queue_duration_us[1m])")],
        [
            query("delta(nv_inference_pending_request_count[5m])"),
            query("deriv(nv_gpu_memory_used_bytes[5m])"),
        ],
    ),
    "rate-of-gauge": (
        [
            query("rate(nv_inference_pending_request_count[5m])"),
            query("rate(nv_inference_request_summary_us[5m])"),
        ],
        [query("avg_over_time(nv_inference_pending_request_count[5m])")],
        # A gauge by its type that only rises, and a counter by its type that has no suffix.
        [query("rate(nv_cache_num_hits[5m])"), query("rate(nv_energy_consumption[5m])")],
    ),
    "quantile-without-buckets": (
        [
            query(f"histogram_quantile(0.9, {DURATION})"),
            query(f"histogram_quantile(0.9, sum by (model) ({FIRST}))"),
        ],
        [query(f"histogram_quantile(0.9, sum by (model, le) ({FIRST}))")],
        [
            query(f"histogram_quantile(0.9, {FIRST})"),
            query(f"histogram_quantile(0.9, sum without (pod) ({FIRST}))"),
        ],
    ),
    "quantile-out-of-range": (
        [query(f"histogram_quantile(99, {FIRST})")],
        [query(f"histogram_quantile(0.99, {FIRST})")],
        [query(f"histogram_quantile(1, {FIRST})"), query("histogram_quantile(99, rate(http_bucket[5m]))")],
    ),
    "aggregated-quantile": (
        [
            query('avg by (model) (nv_inference_request_summary_us{quantile="0.99"})'),
            query(f"avg(histogram_quantile(0.99, {FIRST}))"),
        ],
        [query('max by (model) (nv_inference_request_summary_us{quantile="0.99"})')],
        [query("sum by (model) (rate(nv_inference_request_summary_us_count[5m]))")],
    ),
    "average-of-averages": (
        [
            query("avg(rate(nv_inference_queue_duration_us[5m]) / rate(nv_inference_request_success[5m]))"),
            query(f"avg_over_time(({MEAN})[1h:])"),
            query("sum(increase(nv_inference_count[5m]) / increase(nv_inference_exec_count[5m]) / 2)"),
        ],
        [query(MEAN)],
        [
            query(f"max by (model) ({MEAN})"),
            query("avg(nv_gpu_memory_used_bytes / nv_gpu_memory_total_bytes)"),
            query("avg by (model) (rate(nv_inference_request_success[5m]))"),
        ],
    ),
    "wrong-denominator": (
        [
            query(f"{DURATION} / sum by (model) (rate(nv_inference_exec_count[5m]))"),
            query(f"{DURATION} / sum by (model) (rate(nv_inference_count[5m]))"),
            query(f"{FAILURE} / {SUCCESS}"),
            query("rate(nv_cache_num_hits_per_model[5m]) / rate(nv_cache_num_misses_per_model[5m])"),
        ],
        [query(MEAN), query(SHARE)],
        [
            query("rate(nv_inference_count[5m]) / rate(nv_inference_exec_count[5m])"),
            query(
                "rate(nv_inference_compute_infer_duration_us[5m]) / rate(nv_cache_num_misses_per_model[5m])"
            ),
            query("rate(nv_inference_queue_duration_us[5m]) / rate(nv_inference_request_duration_us[5m])"),
        ],
    ),
    "rate-over-increase": (
        [query("rate(nv_inference_request_duration_us[1m]) / increase(nv_inference_request_success[1m])")],
        [
            query(
                "increase(nv_inference_request_duration_us[1m]) / increase(nv_inference_request_success[1m])"
            )
        ],
        [query("rate(nv_inference_count[5m]) / nv_inference_pending_request_count")],
    ),
    "inferences-as-requests": (
        [panel("sum by (model) (rate(nv_inference_count[5m]))", "reqps")],
        [panel(SUCCESS, "reqps")],
        [panel("sum by (model) (rate(nv_inference_count[5m]))", "reqps", "Inferences per second")],
    ),
    "guarded-denominator": (
        [
            query(f"{DURATION} / (1 + {SUCCESS})"),
            query(f"{DURATION} / clamp_min({SUCCESS}, 1)"),
            query(f"{DURATION} / ({SUCCESS} + 0.001)"),
            query(f"{DURATION} / ({SUCCESS} or vector(1))"),
            alert(f"{SUCCESS} / clamp_min({SUCCESS} + {FAILURE}, 1e-9) < 0.99"),
        ],
        [query(MEAN)],
        [
            # One microsecond a second beside the time of all requests.
            query(
                f"{DURATION} / clamp_min({DURATION.replace('request_duration', 'compute_infer_duration')}, 1)"
            ),
            # No real rate is near it, and a graph shows 0 where nothing is.
            query(f"{DURATION} / clamp_min({SUCCESS}, 1e-9)"),
            alert(f"{FAILURE} / clamp_min({SUCCESS} + {FAILURE}, 1e-9) > 0.01"),
            query(f"{DURATION} / ({SUCCESS} > 0)"),
            query(f"{SHARE} > 0"),
            query("a / (1 + b)"),
            query(f"1 + {SUCCESS}"),
        ],
    ),
    "unmatched-join": (
        [
            query("rate(nv_inference_request_failure[5m]) / rate(nv_inference_request_success[5m])"),
            query(f"{SUCCESS} / sum(rate(nv_inference_request_success[5m]))"),
            query("rate(nv_inference_request_success[5m]) / nv_gpu_utilization"),
            query(f"{SUCCESS} / on (model, version) sum by (model, version) (rate(nv_inference_count[5m]))"),
        ],
        [query(f"{FAILURE} / {SUCCESS}"), query("nv_gpu_memory_used_bytes / nv_gpu_memory_total_bytes")],
        [
            query(
                "sum by (model, reason) (rate(nv_inference_request_failure[5m])) / on (model) group_left "
                + SUCCESS
            ),
            query(
                'nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="used"}'
                " / ignoring (kv_cache_block_type)"
                ' nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="max"}'
            ),
            query('label_replace(nv_gpu_utilization, "model", "$1", "x", "(.*)") * on (model) ' + SUCCESS),
            query(f"{SUCCESS} / scalar(sum(rate(nv_inference_request_success[5m])))"),
        ],
    ),
    "mixed-models": (
        [
            query(
                "sum(rate(nv_inference_request_duration_us[5m]))"
                " / sum(rate(nv_inference_request_success[5m]))"
            ),
            query(
                "sum by (version) (rate(nv_inference_queue_duration_us[5m]))"
                " / sum by (version) (rate(nv_inference_request_success[5m]))"
            ),
        ],
        [query(MEAN)],
        [
            query(
                'sum(rate(nv_inference_request_duration_us{model="a"}[5m]))'
                ' / sum(rate(nv_inference_request_success{model="a"}[5m]))'
            ),
            query("sum(rate(nv_inference_count[5m])) / sum(rate(nv_inference_exec_count[5m]))"),
        ],
    ),
    "time-per-second": (
        [
            alert(f"{DURATION} > 500000"),
            panel(DURATION, "µs", "Request latency"),
            keda(DURATION, **SEEING),
            query("rate(nv_inference_queue_duration_us[5m]) / 1000"),
        ],
        [alert(f"{MEAN} > 500000"), panel(MEAN, "µs", "Request latency")],
        [panel(f"{DURATION} / 1e6", "short", "Mean concurrency"), query(f"{DURATION} / 1e6")],
    ),
    "wrong-unit": (
        [
            panel(MEAN, "ms"),
            panel(f"{MEAN} / 1000", "s"),
            panel("nv_gpu_utilization", "percent"),
            panel("nv_gpu_utilization * 100", "percentunit"),
            panel(MEAN, "short"),
            panel("DCGM_FI_DEV_FB_USED", "bytes"),
        ],
        [panel(MEAN, "µs"), panel(f"{MEAN} / 1e3", "ms"), panel(f"{MEAN} / 1e6", "s")],
        [
            panel(MEAN, "short", "Latency (µs)"),
            panel("nv_gpu_utilization", "short"),
            panel(MEAN, "ms", fieldConfig={"defaults": {"unit": "ms"}, "overrides": [{"matcher": {}}]}),
            panel("nv_gpu_memory_used_bytes", "decbytes"),
            panel("DCGM_FI_DEV_GPU_UTIL", "percent"),
        ],
    ),
    "ratio-and-percent": (
        [
            alert("nv_gpu_utilization > 80"),
            alert(f"{SHARE} > 5"),
            alert("DCGM_FI_DEV_GPU_UTIL > 0.8"),
            alert("80 < nv_gpu_utilization"),
            hpa("nv_gpu_utilization", "70"),
            panel("nv_gpu_utilization", "percentunit", defaults={"thresholds": {"steps": [{"value": 90}]}}),
        ],
        [alert("nv_gpu_utilization > 0.8"), alert(f"{SHARE} * 100 > 5"), hpa("nv_gpu_utilization", "700m")],
        [
            alert("nv_gpu_utilization >= 1"),
            alert(f"{SUCCESS} / (sum by (model) (rate(nv_inference_request_success[5m] offset 1d))) > 3"),
            panel("nv_gpu_utilization", "percentunit", defaults={"thresholds": {"steps": [{"value": 80}]}}),
            alert("sum(nv_gpu_utilization) / count(nv_gpu_utilization) > 0.9"),
            alert("rate(nv_inference_count[5m]) / rate(nv_inference_exec_count[5m]) > 8"),
        ],
    ),
    "threshold-unit": (
        [
            alert(f"{MEAN} > 500", summary="Requests of {{ $labels.model }} take more than 500ms."),
            alert(f"{MEAN} > 0.5"),
            alert(f"{MEAN} > 500000", summary="Latency is {{ $value }}ms."),
            alert(f"{SHARE} > 0.05", summary="{{ $value }}% of requests fail."),
        ],
        [
            alert(f"{MEAN} > 500000", summary="Requests take more than 500ms."),
            alert(f"{MEAN} / 1000 > 500", summary="Requests take more than 500 ms, {{ $value }}ms."),
        ],
        [
            alert(f"{MEAN} > 500", summary="Requests take more than 500 µs."),
            alert(f"{SHARE} > 0.05", summary="{{ $value | humanizePercentage }} of requests fail."),
        ],
    ),
    "short-window": (
        [
            query("rate(nv_inference_request_success[10s])"),
            query("increase(DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION[45s])"),
        ],
        [query("rate(nv_inference_request_success[1m])")],
        [
            query("rate(nv_inference_request_success[30s])"),
            query("max_over_time(nv_inference_pending_request_count[10s])"),
            panel("rate(nv_inference_request_success[$__rate_interval])"),
            query("rate(http_requests_total[5s])"),
        ],
    ),
    "interval-window": (
        [
            panel("rate(nv_inference_request_success[$__interval])"),
            panel("rate(nv_inference_count[${__interval}])"),
        ],
        [panel("rate(nv_inference_request_success[$__rate_interval])")],
        [
            panel("increase(nv_inference_request_success[$__range])"),
            panel("avg_over_time(nv_gpu_utilization[$__interval])"),
            panel("rate(nv_inference_request_success[$window])"),
        ],
    ),
    "irate-in-alert": (
        [
            alert("sum by (model) (irate(nv_inference_request_failure[5m])) > 1"),
            keda("irate(nv_inference_count[1m])", **SEEING),
        ],
        [alert(f"{FAILURE} > 1")],
        [
            panel("irate(nv_inference_request_failure[5m])"),
            record("irate(nv_inference_count[5m])", "a:b:irate5m"),
        ],
    ),
    "never-true": (
        [alert(f"{SUCCESS} < 0"), alert("nv_gpu_utilization >= 0")],
        [alert(f"{SUCCESS} == 0")],
        [alert(f"{SUCCESS} - 5 < 0"), alert("delta(nv_gpu_memory_used_bytes[5m]) < 0"), alert("a < 0")],
    ),
    "nan-fires": (
        [alert("rate(nv_inference_count[5m]) / rate(nv_inference_exec_count[5m]) != 1")],
        [alert("rate(nv_inference_count[5m]) / rate(nv_inference_exec_count[5m]) > 1")],
        [alert("nv_inference_pending_request_count != 0")],
    ),
    "silent-when-gone": (
        [alert(f"{SUCCESS} < 1"), alert(f"{SUCCESS} == 0")],
        [
            alert(
                f"{SUCCESS} < 1",
                "TritonLow",
                ("TritonGone", 'absent(nv_inference_request_success{model="a"})'),
            )
        ],
        [
            alert(f"{SUCCESS} > 100"),
            alert(f"{MEAN} < 1000000"),
            alert(f"{SUCCESS} < 1", "TritonLow", ("TritonDown", 'up{job="triton"} == 0')),
        ],
    ),
    "absent-of-everything": (
        [
            alert("absent(nv_inference_request_success)"),
            alert("absent(nv_gpu_utilization)"),
            alert('absent(nv_inference_request_failure{model="a"})'),
        ],
        [alert('absent(nv_inference_request_success{model="a"})')],
        [alert('absent_over_time(nv_cpu_utilization{instance="a:8002"}[5m])'), alert("absent(up)")],
    ),
    "errors-counted-as-successes": (
        [alert(f"{SUCCESS} / ({SUCCESS} + {FAILURE}) < 0.99")],
        [alert("sum by (model) (rate(tritonobs_stage_errors_total[5m])) > 0")],
        [panel(SHARE), alert(f"{FAILURE} > 1")],
    ),
    "ensemble-counted-twice": (
        [query("sum(rate(nv_inference_request_success[5m]))")],
        [query(SUCCESS)],
        [
            query('sum(rate(nv_inference_request_success{model="pipeline"}[5m]))'),
            panel('sum(rate(nv_inference_request_success{model=~"$model"}[5m]))'),
            query("sum(rate(nv_inference_count[5m]))"),
        ],
    ),
    "limit-on-completions": (
        [
            keda("sum(rate(nv_inference_request_success[1m]))", **SEEING),
            alert(f"{SUCCESS} > 100", "TritonOverloaded"),
        ],
        [keda(KEDA, **SEEING)],
        [alert(f"{SUCCESS} > 100", "TritonTrafficSeen"), panel(SUCCESS, title="Limit and traffic")],
    ),
    "blind-scaler": (
        [keda(KEDA), keda(f"{KEDA} or vector(0)", **SEEING)],
        [keda(KEDA, **SEEING)],
        [keda("sum(rate(http_requests_total[1m]))"), keda(KEDA, ignoreNullValues="false", threshold="3")],
    ),
}


def _table(position):
    return [
        pytest.param(name, text, file, id=f"{name}-{number}")
        for name, cases in CASES.items()
        for number, (text, file) in enumerate(cases[position])
    ]


def test_every_check_has_cases():
    """A wrong, a right and a borderline one; and the texts of its page."""
    assert set(CASES) == set(CHECKS)
    assert [name for name, cases in CASES.items() if not all(cases)] == []
    assert [
        one.id for one in CHECKS.values() if not (one.title and one.why and one.wrong and one.right)
    ] == []


@pytest.mark.parametrize(("name", "text", "file"), _table(0))
def test_what_is_wrong_is_found(name, text, file):
    """The check says so."""
    assert name in ids(text, file)


@pytest.mark.parametrize(("name", "text", "file"), _table(1))
def test_what_is_right_is_left_alone(name, text, file):
    """Nothing of this check."""
    assert name not in ids(text, file)


@pytest.mark.parametrize(("name", "text", "file"), _table(2))
def test_what_is_near_the_border_is_left_alone(name, text, file):
    """A finding on a right expression is worse than one that is missing."""
    assert name not in ids(text, file)
