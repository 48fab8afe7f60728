"""What triage asks Prometheus: every question with its name, in PromQL over one window."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tritonobs import names
from tritonobs.timings import promql
from tritonobs.timings.measured import bucket_questions, mean_questions
from tritonobs.timings.outcomes import SCRAPES, WORKER_LABELS, workers_question
from tritonobs.units import format_duration

_MODEL_VERSION = promql.MODEL_VERSION
_OBJECTIVE = (*_MODEL_VERSION, names.SLO)
_PEAK_SECONDS, _LAST_SECONDS = 30.0, 60.0
"""The windows of `peak` and `burst`; longer where scrapes are too rare for a rate in that time."""
_USUAL_SCRAPE_SECONDS, _PEAK_SCRAPES, _LAST_SCRAPES = 15.0, 3, 4
# A subquery is evaluated once a step: a day in steps of 5 s would be 17,280 evaluations.
_BURST_SECONDS, _BURST_STEPS = 5, 120

# A cache this full has no room for another prompt, and is this full on average (as the rules have it).
FULL: Final = 0.95
FULL_ON_AVERAGE: Final = 0.75
# The worst time of a cache: two minutes, as the alert looks; less in a short window, more in one of hours.
_FULL_SECONDS: Final = 120.0
_FULL_PARTS, _FULL_MOST_PARTS = 4, 60
# About the interval of the record.
_TOKENS_STEP: Final = "30s"


def peak_seconds(scrape_seconds: float) -> float:
    """Seconds over which `peak` averages: the length of the busiest moment."""
    return _PEAK_SECONDS if scrape_seconds <= _USUAL_SCRAPE_SECONDS else _PEAK_SCRAPES * scrape_seconds


def window_questions(
    scope: promql.Scope, window_seconds: float, scrape_seconds: float = _USUAL_SCRAPE_SECONDS
) -> dict[str, str]:
    """Questions about a window: means and counts of the chosen models, and the machines under them."""
    peak = peak_seconds(scrape_seconds)
    span, chosen, around = format_duration(window_seconds), scope.of(), scope.around()

    def rates(metric: str, *by: str) -> str:
        return promql.rates(metric, chosen, window_seconds, by)

    replica = (names.INSTANCE, *_MODEL_VERSION)
    stage_kind = (*_MODEL_VERSION, names.STAGE, names.KIND)
    burst_step = max(_BURST_SECONDS, round(window_seconds / _BURST_STEPS))
    return (
        mean_questions(scope, window_seconds)
        | language_questions(scope, window_seconds)
        | {
            "size_sum": rates(f"{names.STAGE_SIZE}_sum", *stage_kind),
            "size_count": rates(f"{names.STAGE_SIZE}_count", *stage_kind),
            "stage_errors": rates(
                names.STAGE_ERRORS, *_MODEL_VERSION, names.STAGE, names.REASON, names.OUTCOME
            ),
            "outcomes": rates(names.REQUESTS, *replica, names.OUTCOME),
            "failures": rates(names.TRITON_FAILURE, *replica, names.REASON),
            "inferences": rates(names.TRITON_INFERENCES, *_MODEL_VERSION),
            "executions": rates(names.TRITON_EXECUTIONS, *_MODEL_VERSION),
            "cache_hits": rates(names.TRITON_CACHE_HITS, *_MODEL_VERSION),
            "cache_misses": rates(names.TRITON_CACHE_MISSES, *_MODEL_VERSION),
            "replica_requests": rates(names.TRITON_SUCCESS, *replica),
            "replica_us": rates(names.TRITON_REQUEST_US, *replica),
            # A heartbeat's value is a time: the least is the first in the window.
            "first_beats": f"min by ({', '.join(WORKER_LABELS)}) "
            f"(min_over_time({names.HEARTBEAT}{chosen}[{span}]))",
            "pending": promql.summed(
                f"avg_over_time({names.TRITON_PENDING}{chosen}[{span}])", _MODEL_VERSION
            ),
            "peak": _most(
                _recent_rate(chosen, peak), _steps(window_seconds, lookback=peak, step=round(peak / 3))
            ),
            "burst": _most(
                promql.summed(_last_rate(chosen, scrape_seconds), _MODEL_VERSION),
                _steps(window_seconds, lookback=2 * scrape_seconds, step=burst_step),
            ),
            # Pods that follow each other on a card have series of their own, of one and the same card.
            "gpu_utilization": f"max by (gpu_uuid) "
            f"(avg_over_time({names.TRITON_GPU_UTILIZATION}{around}[{span}]))",
            "gpu_memory": f"max_over_time({names.TRITON_GPU_MEMORY_USED}{around}[{span}])"
            f" / {names.TRITON_GPU_MEMORY_TOTAL}{around}",
            "cpu": f"max by ({names.INSTANCE}) "
            f"(avg_over_time({names.TRITON_CPU_UTILIZATION}{around}[{span}]))",
            "slo_bad": promql.summed(f"sum_over_time({names.SLO_BAD}{chosen}[{span}])", _OBJECTIVE),
            "slo_valid": promql.summed(f"sum_over_time({names.SLO_VALID}{chosen}[{span}])", _OBJECTIVE),
        }
    )


def moment_questions(scope: promql.Scope, scrape_seconds: float) -> dict[str, str]:
    """Questions about the end of a window: what exists, and what it should do."""
    chosen, around = scope.of(), scope.around()
    return {
        "heartbeats": f"max by ({', '.join(WORKER_LABELS)}) ({names.HEARTBEAT}{chosen})",
        "alive": workers_question(scope, scrape_seconds),
        "loaded": f"group by ({', '.join(_MODEL_VERSION)}) ({names.TRITON_SUCCESS}{chosen})",
        "filling": promql.summed(
            f"deriv({names.TRITON_PENDING}{chosen}[{format_duration(SCRAPES * scrape_seconds)}])",
            _MODEL_VERSION,
        ),
        "waiting": promql.summed(f"{names.TRITON_PENDING}{chosen}", _MODEL_VERSION),
        "burning": f"{names.BURN_RATE}{around}",
        "budgets": f"{names.ERROR_BUDGET}{around}",
        "ensembles": ensemble_question(replace(scope, models=())),
        "up": f"min by (job, {names.INSTANCE}) (up{around})",
        # Triton answers 200 and an empty page on a wrong path: `up` is 1 then, and only this is 0.
        "scraped": f"min by (job, {names.INSTANCE}) ({_kept(around)})",
        "limits": f"max by ({', '.join(_MODEL_VERSION)}) ({names.QPS_LIMIT}{around})",
        "token_limits": f"max by ({', '.join((*_MODEL_VERSION, names.KIND))}) ({names.TOKENS_LIMIT}{around})",
        "robot_muted": f"{names.ROBOT_MUTED}{around}",
        "config_valid": f"{names.CONFIG_VALID}{around}",
    }


def ensemble_question(scope: promql.Scope) -> str:
    """PromQL for the models that the fleet file calls ensembles."""
    ensembles = scope.of('kind="ensemble"')
    return f"group by ({names.MODEL}) ({names.MODEL_INFO}{ensembles})"


def close_questions(scope: promql.Scope, window_seconds: float) -> dict[str, str]:
    """Questions that read every bucket; asked only about models worth it."""
    chosen = scope.of()
    by = (*_MODEL_VERSION, names.STAGE, names.KIND)
    sizes = promql.quantile(0.99, names.STAGE_SIZE, chosen, window_seconds, by)
    return bucket_questions(scope, window_seconds) | {"size_p99": sizes}


def trend_questions(scope: promql.Scope, step_seconds: float) -> dict[str, str]:
    """Questions over time: the numbers whose change shows the start."""
    chosen, around = scope.of(), scope.around()

    def mean(metric: str, *by: str) -> str:
        # Without requests the mean is nothing; 0 / 0 would be NaN.
        return " / ".join(f"({rates(f'{metric}_{part}', *by)} > 0)" for part in ("sum", "count"))

    def rates(metric: str, *by: str) -> str:
        return promql.rates(metric, chosen, step_seconds, by)

    def spent(metric: str, *by: str) -> str:
        return f"{rates(metric, *by)} / 1e6 / ({rates(names.TRITON_SUCCESS, *by)} > 0)"

    # Workers of a replica that was read a step before, and did not have them then.
    beats = f"{names.HEARTBEAT}{chosen}"
    before = format_duration(step_seconds)
    read = f"on ({names.INSTANCE}) (up{around} offset {before} == 1)"
    arrived = f"({beats} unless {beats} offset {before}) and {read}"
    replica = (names.INSTANCE, *_MODEL_VERSION)
    return {
        "arrived": f"count by ({', '.join(replica)}) ({arrived})",
        "counted": promql.summed(f"{names.TRITON_SUCCESS}{chosen}", replica),
        "load_seconds": f"max by ({', '.join(replica)}) ({names.TRITON_LOAD_SECONDS}{chosen})",
        "cpu": f"max by ({names.INSTANCE}) (avg_over_time({names.TRITON_CPU_UTILIZATION}{around}[{before}]))",
        "stage": mean(names.STAGE_DURATION, *promql.MODEL_VERSION_STAGE),
        "size": mean(names.STAGE_SIZE, *_MODEL_VERSION, names.STAGE, names.KIND),
        "requests": rates(names.TRITON_SUCCESS, *_MODEL_VERSION),
        "request": spent(names.TRITON_REQUEST_US, *_MODEL_VERSION),
        "replica": spent(names.TRITON_REQUEST_US, names.INSTANCE, *_MODEL_VERSION),
        "told": rates(names.REQUESTS, *_MODEL_VERSION, names.OUTCOME),
        "failed": rates(names.TRITON_FAILURE, *_MODEL_VERSION, names.REASON),
        "errors": rates(names.STAGE_ERRORS, *_MODEL_VERSION, names.REASON),
        "hits": rates(names.TRITON_CACHE_HITS, *_MODEL_VERSION),
        "up": f"min by ({names.INSTANCE}) (up{around})",
        "scraped": f"min by ({names.INSTANCE}) ({_kept(around)})",
        "queue": spent(names.TRITON_QUEUE_US, *_MODEL_VERSION),
    }


def usual_questions(scope: promql.Scope, step_seconds: float) -> dict[str, str]:
    """Questions over the baseline's own parts: how much a number moves when nothing is wrong."""
    trends, by = trend_questions(scope, step_seconds), promql.MODEL_VERSION_STAGE
    p99 = promql.quantile(0.99, names.STAGE_DURATION, scope.of(), step_seconds, by)
    return {name: trends[name] for name in ("requests", "request", "stage")} | {"p99": p99}


def _kept(around: str) -> str:
    """How many samples of a page are kept: Triton's page may be empty, and relabelling may drop all of it."""
    return f"scrape_samples_post_metric_relabeling{around} or scrape_samples_scraped{around}"


def _most(versions: str, steps: str) -> str:
    """The most of each version, and of a model over all of them: versions may peak at other moments."""
    models = promql.summed(versions, (names.MODEL,))
    return f"max_over_time({versions}[{steps}]) or max_over_time({models}[{steps}])"


def _steps(window_seconds: float, *, lookback: float, step: int) -> str:
    """The moments of a window whose rates begin inside it: an earlier peak is not its peak."""
    span = max(window_seconds - lookback, step)
    return f"{format_duration(round(span))}:{format_duration(step)}"


def _last_rate(chosen: str, scrape_seconds: float) -> str:
    """Between two scrapes: what no average shows."""
    window = format_duration(round(max(_LAST_SECONDS, _LAST_SCRAPES * scrape_seconds)))
    return f"irate({names.TRITON_SUCCESS}{chosen}[{window}])"


def _recent_rate(chosen: str, seconds: float) -> str:
    """Answers are what `qps_limit` is about: all requests, not only good ones."""
    good = promql.rates(names.TRITON_SUCCESS, chosen, seconds, _MODEL_VERSION)
    bad = promql.rates(names.TRITON_FAILURE, chosen, seconds, _MODEL_VERSION)
    # `+` keeps only versions with both, and Triton shows both from the load on.
    return f"({good} + {bad})"


def language_questions(scope: promql.Scope, window_seconds: float) -> dict[str, str]:
    """About a window: the engine's cache, waiting and running requests, tokens and their times."""
    span, chosen = format_duration(window_seconds), scope.of()
    full = max(
        2, round(max(min(_FULL_SECONDS, window_seconds / _FULL_PARTS), window_seconds / _FULL_MOST_PARTS))
    )
    part = format_duration(full)

    def mean(record: str, over: str = span) -> str:
        return f"avg_over_time({record}{chosen}[{over}])"

    def most(expression: str, *by: str) -> str:
        return f"max by ({', '.join((*promql.MODEL_VERSION, *by))}) ({expression})"

    # The record's name holds its window, which follows the scrape interval.
    named = scope.of(f'__name__=~"{names.TOKENS_RATE}"')
    stage = f"{most(mean(names.STAGE_MEAN), names.STAGE)} and on ({', '.join(promql.MODEL_VERSION)})"
    return {
        "kv_cache": most(mean(names.KV_CACHE_OF_REPLICA)),
        # At its worst time: a cache that filled up late in the window is not full on average. On one server:
        # requests that wait elsewhere do not wait for this cache.
        "kv_cache_blocked": most(
            f"max_over_time(((max_over_time({names.KV_CACHE_OF_REPLICA}{chosen}[{part}]) > {FULL})"
            f" and ({mean(names.KV_CACHE_OF_REPLICA, part)} > {FULL_ON_AVERAGE})"
            f" and ({mean(names.WAITING_OF_REPLICA, part)} >= 1))"
            f"[{_steps(window_seconds, lookback=full, step=full // 2)}])"
        ),
        "llm_waiting": most(mean(names.LLM_WAITING)),
        "llm_running": most(mean(names.LLM_RUNNING)),
        "request_tokens": most(mean(names.TOKENS_PER_REQUEST), names.KIND),
        # Versions of a model are busiest at other moments than all of them together.
        "tokens": f"{most(f'max_over_time({named}[{span}])', names.KIND)}"
        f" or max_over_time({promql.summed(most(named, names.KIND), (names.MODEL, names.KIND))}"
        f"[{span}:{_TOKENS_STEP}])",
        "token_seconds": f"{stage} {most(mean(names.LLM_RUNNING))}"
        f" or {stage} {most(mean(names.TOKENS_PER_REQUEST))}",
    }
