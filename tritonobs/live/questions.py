"""What triage asks Prometheus: every question with its name, in PromQL over one window."""

from __future__ import annotations

from tritonobs import names
from tritonobs.live import promql
from tritonobs.live.timings import bucket_questions, mean_questions
from tritonobs.units import format_duration

_MODEL_VERSION = promql.MODEL_VERSION
_PEAK_SECONDS = 30
_BURST_SECONDS, _BURST_STEPS = 5, 120


def window_questions(chosen: str, window_seconds: float) -> dict[str, str]:
    """Questions about a window: means and counts of the chosen models, and the machines under them."""
    span = format_duration(window_seconds)

    def rates(metric: str, *by: str) -> str:
        return promql.summed(promql.rate(metric, chosen, window_seconds), by)

    replica = (names.INSTANCE, *_MODEL_VERSION)
    stage_kind = (*_MODEL_VERSION, names.STAGE, names.KIND)
    return mean_questions(chosen, window_seconds) | {
        "size_sum": rates(f"{names.STAGE_SIZE}_sum", *stage_kind),
        "size_count": rates(f"{names.STAGE_SIZE}_count", *stage_kind),
        "items": rates(names.STAGE_ITEMS, *stage_kind),
        "stage_errors": rates(names.STAGE_ERRORS, *_MODEL_VERSION, names.STAGE, names.REASON),
        "outcomes": rates(names.REQUESTS, *_MODEL_VERSION, names.OUTCOME),
        "failures": rates(names.TRITON_FAILURE, *_MODEL_VERSION, names.REASON),
        "inferences": rates(names.TRITON_INFERENCES, *_MODEL_VERSION),
        "executions": rates(names.TRITON_EXECUTIONS, *_MODEL_VERSION),
        "cache_hits": rates(names.TRITON_CACHE_HITS, *_MODEL_VERSION),
        "cache_misses": rates(names.TRITON_CACHE_MISSES, *_MODEL_VERSION),
        "replica_requests": rates(names.TRITON_SUCCESS, *replica),
        "replica_us": rates(names.TRITON_REQUEST_US, *replica),
        "pending": promql.summed(f"avg_over_time({names.TRITON_PENDING}{chosen}[{span}])", _MODEL_VERSION),
        "peak": f"max_over_time({_recent_rate(chosen)}[{span}:{_PEAK_SECONDS // 3}s])",
        "burst": f"max_over_time({promql.summed(_last_rate(chosen), _MODEL_VERSION)}"
        f"[{span}:{format_duration(max(_BURST_SECONDS, round(window_seconds / _BURST_STEPS)))}])",
        "flush_dropped": promql.summed(
            f"increase({names.FLUSH_DROPPED}{chosen}[{span}])", (*_MODEL_VERSION, names.REASON)
        ),
        "flush_errors": promql.summed(f"increase({names.FLUSH_ERRORS}{chosen}[{span}])", _MODEL_VERSION),
        "gpu_utilization": f"avg_over_time({names.TRITON_GPU_UTILIZATION}[{span}])",
        "gpu_memory": f"max_over_time({names.TRITON_GPU_MEMORY_USED}[{span}])"
        f" / {names.TRITON_GPU_MEMORY_TOTAL}",
        "gpu_clock": f"avg_over_time({names.DCGM_SM_CLOCK}[{span}])",
        "gpu_temperature": f"max_over_time({names.DCGM_TEMPERATURE}[{span}])",
        "cpu": f"avg_over_time({names.TRITON_CPU_UTILIZATION}[{span}])",
        "delivery_errors": promql.summed(f"increase({names.DELIVERY_ERRORS}[{span}])", (names.ROBOT, "code")),
        "rule_failures": promql.summed(
            f'increase({names.RULE_FAILURES}{{{names.RULE_GROUP}=~".+;tritonobs[.].+"}}[{span}])',
            (names.RULE_GROUP,),
        ),
    }


def moment_questions(chosen: str) -> dict[str, str]:
    """Questions about the end of a window: what exists, and what it should do."""
    worker = (names.INSTANCE, *_MODEL_VERSION, names.WORKER)
    return {
        "heartbeats": f"max by ({', '.join(worker)}) ({names.HEARTBEAT}{chosen})",
        "up": f"min by (job, {names.INSTANCE}) (up)",
        "scraped": f"min by (job, {names.INSTANCE}) (scrape_samples_scraped)",
        "limits": f"max by ({', '.join(_MODEL_VERSION)}) ({names.QPS_LIMIT})",
        "robot_muted": names.ROBOT_MUTED,
        "config_valid": names.CONFIG_VALID,
    }


def close_questions(chosen: str, window_seconds: float) -> dict[str, str]:
    """Questions that read every bucket; asked only about models worth it."""
    by = (*_MODEL_VERSION, names.STAGE, names.KIND)
    sizes = promql.quantile(0.99, names.STAGE_SIZE, chosen, window_seconds, by)
    return bucket_questions(chosen, window_seconds) | {"size_p99": sizes}


def trend_questions(chosen: str, step_seconds: float) -> dict[str, str]:
    """Questions over time: the numbers whose change tells since when."""

    def mean(metric: str, *by: str) -> str:
        parts = (promql.rate(f"{metric}_{part}", chosen, step_seconds) for part in ("sum", "count"))
        return " / ".join(f"({promql.summed(part, by)} > 0)" for part in parts)

    def rates(metric: str, *by: str) -> str:
        return promql.summed(promql.rate(metric, chosen, step_seconds), by)

    return {
        "stage": mean(names.STAGE_DURATION, *promql.MODEL_VERSION_STAGE),
        "size": mean(names.STAGE_SIZE, *_MODEL_VERSION, names.STAGE, names.KIND),
        "requests": rates(names.TRITON_SUCCESS, *_MODEL_VERSION),
        "errors": rates(names.STAGE_ERRORS, *_MODEL_VERSION, names.REASON),
        "queue": f"{rates(names.TRITON_QUEUE_US, *_MODEL_VERSION)} / 1e6"
        f" / ({rates(names.TRITON_SUCCESS, *_MODEL_VERSION)} > 0)",
    }


def usual_questions(chosen: str, step_seconds: float) -> dict[str, str]:
    """Questions over the baseline's own parts: how much a number moves when nothing is wrong."""
    request, requests = (
        promql.summed(promql.rate(metric, chosen, step_seconds), _MODEL_VERSION)
        for metric in (names.TRITON_REQUEST_US, names.TRITON_SUCCESS)
    )
    p99 = promql.quantile(0.99, names.STAGE_DURATION, chosen, step_seconds, promql.MODEL_VERSION_STAGE)
    return {
        "requests": requests,
        "request": f"{request} / 1e6 / ({requests} > 0)",
        "stage": trend_questions(chosen, step_seconds)["stage"],
        "p99": p99,
    }


def _last_rate(chosen: str) -> str:
    """Between two scrapes: what no average shows."""
    return f"irate({names.TRITON_SUCCESS}{chosen}[1m])"


def _recent_rate(chosen: str) -> str:
    """Answers are what `qps_limit` is about: all requests, not only good ones."""
    good = promql.summed(promql.rate(names.TRITON_SUCCESS, chosen, _PEAK_SECONDS), _MODEL_VERSION)
    bad = promql.summed(promql.rate(names.TRITON_FAILURE, chosen, _PEAK_SECONDS), _MODEL_VERSION)
    return f"({good} + {bad})"
