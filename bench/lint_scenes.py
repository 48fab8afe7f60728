"""Worlds in which the truth is known, one for each check of `tritonobs lint`, with wrong and right questions.

A world is half an hour of scrapes, every 15 s, of servers at exact rates: what a right expression has to give
follows from it without any query.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

SCRAPE_SECONDS: Final = 15
SCRAPES: Final = 120
RESTART_AT: Final = 110
"""The scrape after which a server has begun again: two and a half minutes before the end."""
GONE_AT: Final = 60
Series = dict[str, str]
"""Values in promtool's notation, by series."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What happens, what is asked, and the truth.

    `truth` is a number, or True where an alert has to fire and False where it has to be silent. `of` chooses
    a series of the result. `unit` is what a reader takes the numbers for, divided by `per`, or `misread` for
    the wrong ones. `use` is what the expressions stand in: `query`, `alert`, `panel` or `keda`, with `words`
    beside them, or `right_words` beside the right one.
    """

    happens: str
    series: Series
    wrong: str
    right: str
    truth: float | bool
    unit: str = ""
    per: float = 1.0
    misread: float = 0.0
    of: Mapping[str, str] = field(default_factory=dict)
    use: str = "query"
    words: Mapping[str, str] = field(default_factory=dict)
    right_words: Mapping[str, str] = field(default_factory=dict)


def _labels(labels: Mapping[str, str]) -> str:
    return ",".join(f'{name}="{value}"' for name, value in labels.items())


def _counter(name: str, per_second: float, how: str = "runs", **labels: str) -> Series:
    """A counter at a rate; `how` is `runs`, `restarts` (an old server begins again) or `goes`."""
    step = per_second * SCRAPE_SECONDS
    runs = {
        "runs": f"0+{step:g}x{SCRAPES}",
        "restarts": f"1000000+{step:g}x{RESTART_AT} {step:g}+{step:g}x{SCRAPES - RESTART_AT - 1}",
        "goes": f"0+{step:g}x{GONE_AT} stale",
    }
    return {f"{name}{{{_labels(labels)}}}": runs[how]}


def _gauge(name: str, value: float, **labels: str) -> Series:
    return {f"{name}{{{_labels(labels)}}}": f"{value:g}x{SCRAPES}"}


def _served(
    per_second: float, milliseconds: float, model: str = "detector", server: str = "a", how: str = "runs"
) -> Series:
    """Requests of a model at a server, of so many milliseconds each, half of which they wait."""
    labels = {"instance": server, "model": model, "version": "1"}
    durations = {"request": milliseconds, "queue": milliseconds / 2}
    made = _counter("nv_inference_request_success", per_second, how, **labels)
    for name, each in durations.items():
        made |= _counter(f"nv_inference_{name}_duration_us", per_second * each * 1000, how, **labels)
    return made


def _failing(per_second: float, model: str = "detector") -> Series:
    labels = {"instance": "a", "model": model, "version": "1", "reason": "BACKEND"}
    return _counter("nv_inference_request_failure", per_second, **labels)


def _buckets(per_second: float, shares: Mapping[str, float]) -> Series:
    """The histogram of first responses, with the share of the requests below each bound."""
    made: Series = {}
    for bound, share in shares.items():
        labels = {"model": "detector", "version": "1", "le": bound}
        made |= _counter("nv_inference_first_response_histogram_ms_bucket", per_second * share, **labels)
    return made


def _blocks() -> Series:
    made: Series = {}
    for kind, count in {"max": 100, "used": 30, "free": 70, "tokens_per": 64}.items():
        labels = {"model": "detector", "version": "1", "kv_cache_block_type": kind}
        made |= _gauge("nv_trt_llm_kv_cache_block_metrics", count, **labels)
    return made


SUCCESS: Final = "sum by (model) (rate(nv_inference_request_success[5m]))"
DURATION: Final = "sum by (model) (rate(nv_inference_request_duration_us[5m]))"
QUEUE: Final = "sum by (model) (rate(nv_inference_queue_duration_us[5m]))"
FIRST: Final = "rate(nv_inference_first_response_histogram_ms_bucket[5m])"
DETECTOR: Final = {"model": "detector"}
_FAILURE: Final = 'nv_inference_request_failure{model="detector",version="1",reason="BACKEND"}'
_SUMMARY: Final = "nv_inference_request_summary_us"
_KV: Final = "nv_trt_llm_kv_cache_block_metrics"
_PENDING: Final = "nv_inference_pending_request_count"

SCENES: Final[dict[str, Scene]] = {
    "absent-of-everything": Scene(
        happens="One of two models is unloaded",
        series=_served(10, 20, how="goes") | _served(10, 20, "nms"),
        wrong="absent(nv_inference_request_success)",
        right='absent(nv_inference_request_success{model="detector"})',
        truth=True,
        use="alert",
    ),
    "aggregated-quantile": Scene(
        happens="One request of ten goes to a server that takes 200 ms, all others to one that takes 10 ms",
        series=_gauge(_SUMMARY, 10_000, instance="a", model="detector", version="1", quantile="0.99")
        | _gauge(_SUMMARY, 200_000, instance="b", model="detector", version="1", quantile="0.99"),
        wrong=f'avg by (model) ({_SUMMARY}{{quantile="0.99"}})',
        right=f'max by (model) ({_SUMMARY}{{quantile="0.99"}})',
        truth=200,
        unit="ms",
        per=1000,
    ),
    "average-of-averages": Scene(
        happens="One request a second takes 500 ms at one server, and 99 take 20 ms at another",
        series=_served(1, 500) | _served(99, 20, server="b"),
        wrong="avg by (model) (rate(nv_inference_request_duration_us[5m])"
        " / rate(nv_inference_request_success[5m]))",
        right=f"{DURATION} / {SUCCESS}",
        truth=(1 * 500 + 99 * 20) / 100,
        unit="ms",
        per=1000,
    ),
    "blind-scaler": Scene(
        happens="Prometheus has lost the servers, where 12 requests wait",
        series={f'{_PENDING}{{model="detector"}}': f"12x{GONE_AT} stale"},
        wrong=f"sum({_PENDING}) or vector(0)",
        right=f"sum({_PENDING})",
        truth=12,
        unit="requests",
        use="keda",
        right_words={"ignoreNullValues": "false"},
    ),
    "delta-of-counter": Scene(
        happens="A server with a request a second is restarted within the five minutes",
        series=_served(1, 20, how="restarts"),
        wrong="sum by (model) (delta(nv_inference_request_success[5m]))",
        right="sum by (model) (increase(nv_inference_request_success[5m]))",
        truth=300,
        unit="requests",
    ),
    "ensemble-counted-twice": Scene(
        happens="An ensemble of two models gets 10 requests a second",
        series=_served(10, 40, "pipeline") | _served(10, 20) | _served(10, 20, "nms"),
        wrong="sum(rate(nv_inference_request_success[5m]))",
        right=SUCCESS,
        truth=10,
        unit="requests/s",
        of={"model": "pipeline"},
    ),
    "errors-counted-as-successes": Scene(
        happens="A Python model answers 3 of 10 requests with an error",
        series=_served(10, 20)
        | _failing(0)
        | _counter("tritonobs_requests_total", 7, model="detector", outcome="ok")
        | _counter("tritonobs_requests_total", 3, model="detector", outcome="error"),
        wrong=f"{SUCCESS} / ({SUCCESS} + sum by (model) (rate(nv_inference_request_failure[5m]))) < 0.99",
        right='sum by (model) (rate(tritonobs_requests_total{outcome="ok"}[5m]))'
        " / sum by (model) (rate(tritonobs_requests_total[5m])) < 0.99",
        truth=True,
        use="alert",
    ),
    "guarded-denominator": Scene(
        happens="One request in ten seconds waits 40 ms",
        series=_served(0.1, 80),
        wrong=f"{QUEUE} / (1 + {SUCCESS})",
        right=f"{QUEUE} / {SUCCESS}",
        truth=40,
        unit="ms",
        per=1000,
    ),
    "inferences-as-requests": Scene(
        happens="Ten requests a second bring 8 images each",
        series=_served(10, 20) | _counter("nv_inference_count", 80, model="detector", version="1"),
        wrong="sum by (model) (rate(nv_inference_count[5m]))",
        right=SUCCESS,
        truth=10,
        unit="requests/s",
        use="panel",
        words={"unit": "reqps"},
    ),
    "interval-window": Scene(
        happens="A panel is so narrow in time that `$__interval` is 15 s, the scrape interval",
        series=_served(10, 20),
        wrong="sum by (model) (rate(nv_inference_request_success[$__interval]))",
        right="sum by (model) (rate(nv_inference_request_success[$__rate_interval]))",
        truth=10,
        unit="requests/s",
        use="panel",
    ),
    "irate-in-alert": Scene(
        happens="Once a minute 120 requests fail",
        series={
            _FAILURE: "0 " + " ".join(f"{120 * ((scrape + 2) // 4)}" for scrape in range(1, SCRAPES + 1))
        },
        wrong="sum by (model) (irate(nv_inference_request_failure[5m])) > 1",
        right="sum by (model) (rate(nv_inference_request_failure[5m])) > 1",
        truth=True,
        use="alert",
    ),
    "limit-on-completions": Scene(
        happens="150 requests a second come to a server that can do 100, and the limit is 120",
        series=_served(100, 20) | {f'{_PENDING}{{model="detector"}}': f"0+750x{SCRAPES}"},
        wrong="sum(rate(nv_inference_request_success[1m])) > 120",
        right=f"sum({_PENDING}) > 5",
        truth=True,
        use="alert",
        words={"summary": "Traffic is above the limit"},
    ),
    "lost-label": Scene(
        happens="Two models of a server get 9 and 1 requests a second, and the legend names one",
        series=_served(9, 20) | _served(1, 20, "nms"),
        wrong="sum by (instance) (rate(nv_inference_request_success[5m]))",
        right="sum by (instance, model) (rate(nv_inference_request_success[5m]))",
        truth=9,
        unit="requests/s",
        of=DETECTOR,
        use="panel",
        words={"legend": "{{model}}"},
    ),
    "mixed-models": Scene(
        happens="One request a second takes 500 ms in a model, and 99 take 2 ms in another",
        series=_served(1, 500) | _served(99, 2, "nms"),
        wrong="sum(rate(nv_inference_request_duration_us[5m])) / sum(rate(nv_inference_request_success[5m]))",
        right="sum by (model, version) (rate(nv_inference_request_duration_us[5m]))"
        " / sum by (model, version) (rate(nv_inference_request_success[5m]))",
        truth=500,
        unit="ms",
        per=1000,
        of=DETECTOR,
    ),
    "nan-fires": Scene(
        happens="No request comes",
        series=_counter("nv_inference_count", 0, model="detector")
        | _counter("nv_inference_exec_count", 0, model="detector"),
        wrong="sum by (model) (rate(nv_inference_count[5m]))"
        " / sum by (model) (rate(nv_inference_exec_count[5m])) != 1",
        right="sum by (model) (rate(nv_inference_count[5m]))"
        " / sum by (model) (rate(nv_inference_exec_count[5m])) > 1",
        truth=False,
        use="alert",
    ),
    "never-true": Scene(
        happens="No request comes",
        series=_served(0, 20),
        wrong=f"{SUCCESS} < 0",
        right=f"{SUCCESS} == 0",
        truth=True,
        use="alert",
    ),
    "other-release": Scene(
        happens="Ten hits a second of the cache take 50 µs each, on Triton 24.10",
        series=_counter("nv_cache_hit_duration_per_model", 500, model="detector"),
        wrong="rate(nv_cache_hit_lookup_duration_per_model[5m])",
        right="rate(nv_cache_hit_duration_per_model[5m])",
        truth=500,
        unit="µs/s",
    ),
    "quantile-out-of-range": Scene(
        happens="99 of 100 requests are answered within 500 ms, the bound of a bucket",
        series=_buckets(100, {"100": 0.9, "500": 0.99, "2000": 1, "+Inf": 1}),
        wrong=f"histogram_quantile(99, sum by (le) ({FIRST}))",
        right=f"histogram_quantile(0.99, sum by (le) ({FIRST}))",
        truth=500,
        unit="ms",
    ),
    "quantile-without-buckets": Scene(
        happens="95 of 100 requests are answered within 500 ms, the bound of a bucket",
        series=_served(100, 20) | _buckets(100, {"100": 0.9, "500": 0.95, "2000": 1, "+Inf": 1}),
        wrong=f"histogram_quantile(0.95, {DURATION})",
        right=f"histogram_quantile(0.95, sum by (model, le) ({FIRST}))",
        truth=500,
        unit="ms",
    ),
    "rate-of-gauge": Scene(
        happens="10 and 30 requests wait in turn",
        series={f'{_PENDING}{{model="detector"}}': "10 30 " * (SCRAPES // 2) + "10"},
        wrong=f"rate({_PENDING}[5m])",
        right=f"avg_over_time({_PENDING}[5m])",
        truth=20,
        unit="requests",
    ),
    "rate-of-sum": Scene(
        happens="One of two servers with 5 requests a second each is restarted, after a million requests",
        series=_served(5, 20, how="restarts") | _served(5, 20, server="b"),
        wrong="rate(sum by (model) (nv_inference_request_success)[5m:15s])",
        right=SUCCESS,
        truth=10,
        unit="requests/s",
    ),
    "rate-over-increase": Scene(
        happens="Each request takes 40 ms",
        series=_served(10, 40),
        wrong="rate(nv_inference_request_duration_us[1m]) / increase(nv_inference_request_success[1m])",
        right="rate(nv_inference_request_duration_us[1m]) / rate(nv_inference_request_success[1m])",
        truth=40,
        unit="ms",
        per=1000,
    ),
    "ratio-and-percent": Scene(
        happens="A card is busy for 95 % of the time",
        series=_gauge("nv_gpu_utilization", 0.95, gpu_uuid="GPU-1"),
        wrong="nv_gpu_utilization > 80",
        right="nv_gpu_utilization > 0.8",
        truth=True,
        use="alert",
    ),
    "raw-counter": Scene(
        happens="12 requests failed long ago, and none since",
        series={
            'nv_inference_request_failure{model="detector",version="1",reason="BACKEND"}': f"12x{SCRAPES}"
        },
        wrong="sum by (model) (nv_inference_request_failure) > 10",
        right="sum by (model) (increase(nv_inference_request_failure[5m])) > 10",
        truth=False,
        use="alert",
    ),
    "short-window": Scene(
        happens="The servers are scraped every 15 s",
        series=_served(10, 20),
        wrong="rate(nv_inference_request_success[10s])",
        right="rate(nv_inference_request_success[1m])",
        truth=10,
        unit="requests/s",
    ),
    "silent-when-gone": Scene(
        happens="The model is unloaded",
        series=_served(10, 20, how="goes"),
        wrong=f"{SUCCESS} < 1",
        right='absent_over_time(nv_inference_request_success{model="detector"}[5m])',
        truth=True,
        use="alert",
    ),
    "summed-kinds": Scene(
        happens="30 of 100 blocks are in use, of 64 tokens each",
        series=_blocks(),
        wrong=f"sum by (model) ({_KV})",
        right=f'sum by (model) ({_KV}{{kv_cache_block_type="used"}})',
        truth=30,
        unit="blocks",
    ),
    "threshold-unit": Scene(
        happens="Each request takes 50 ms, and the alert says 500 ms",
        series=_served(10, 50),
        wrong=f"{DURATION} / {SUCCESS} > 500",
        right=f"{DURATION} / {SUCCESS} > 500000",
        truth=False,
        use="alert",
        words={"summary": "latency above 500ms"},
    ),
    "time-per-second": Scene(
        happens="20 requests a second take 50 ms each, and the limit is half a second",
        series=_served(20, 50),
        wrong=f"{DURATION} > 500000",
        right=f"{DURATION} / {SUCCESS} > 500000",
        truth=False,
        use="alert",
        words={"summary": "latency above 500ms"},
    ),
    "unknown-label": Scene(
        happens="A model gets 10 requests a second",
        series=_served(10, 20),
        wrong='sum by (model_name) (rate(nv_inference_request_success{model_name="detector"}[5m]))',
        right='sum by (model) (rate(nv_inference_request_success{model="detector"}[5m]))',
        truth=10,
        unit="requests/s",
    ),
    "unknown-label-value": Scene(
        happens="30 blocks are in use",
        series=_blocks(),
        wrong=f'{_KV}{{kv_cache_block_type="used_blocks"}}',
        right=f'{_KV}{{kv_cache_block_type="used"}}',
        truth=30,
        unit="blocks",
    ),
    "unknown-series": Scene(
        happens="Each request takes 50 ms",
        series=_served(10, 50),
        wrong="histogram_quantile(0.99,"
        " sum by (le, model) (rate(nv_inference_request_duration_us_bucket[5m])))",
        right="sum by (model, version) (rate(nv_inference_request_duration_us[5m]))"
        " / sum by (model, version) (rate(nv_inference_request_success[5m]))",
        truth=50,
        unit="ms",
        per=1000,
    ),
    "unmatched-join": Scene(
        happens="One of 10 requests fails",
        series=_served(9, 20) | _failing(1),
        wrong="rate(nv_inference_request_failure[5m])"
        " / (rate(nv_inference_request_success[5m]) + rate(nv_inference_request_failure[5m]))",
        right="sum by (model, version) (rate(nv_inference_request_failure[5m]))"
        " / (sum by (model, version) (rate(nv_inference_request_success[5m]))"
        " + sum by (model, version) (rate(nv_inference_request_failure[5m])))",
        truth=10,
        unit="%",
        per=0.01,
    ),
    "wrong-denominator": Scene(
        happens="8 requests run at once as a batch, and each takes 50 ms",
        series=_served(80, 50) | _counter("nv_inference_exec_count", 10, model="detector", version="1"),
        wrong=f"{DURATION} / sum by (model) (rate(nv_inference_exec_count[5m]))",
        right=f"{DURATION} / {SUCCESS}",
        truth=50,
        unit="ms",
        per=1000,
    ),
    "wrong-unit": Scene(
        happens="Each request waits 40 ms",
        series=_served(10, 80),
        wrong=f"{QUEUE} / {SUCCESS}",
        right=f"{QUEUE} / {SUCCESS}",
        truth=40,
        unit="ms",
        per=1000,
        misread=1,
        use="panel",
        words={"unit": "ms"},
        right_words={"unit": "µs"},
    ),
}
