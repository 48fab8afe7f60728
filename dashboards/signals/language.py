"""Language models: TTFT and inter-token latency, tokens and their limits, the engine's queue and cache."""

from __future__ import annotations

import palette
import thresholds

from signals import Signal, Step, few, latency

_STAGES = "model_version_stage:tritonobs_stage_duration_seconds"
_UNTOLD = "no engine reports this"
_LEGEND = "{{model}} {{version}}"


def _of(stage: str) -> str:
    return f'stage="{stage}", %(subject)s'


def _percentile(title: str, stage: str, what: str) -> Signal:
    return Signal(
        title=title,
        unit="s",
        expr=few.told("p99", _of(stage)),
        legend=_LEGEND,
        description=(
            f"{what} {few.FEW}Good: below the threshold (dashed). From `{_STAGES}:p99_5m`: vLLM's "
            "histograms, or the answer timers of an instrumented model; TensorRT-LLM reports no times."
        ),
        empty=_UNTOLD,
    )


FIRST = _percentile(
    "First token, P99",
    "first_token",
    "Time to the first token (TTFT): the queue, and the processing of the prompt.",
)
LATER = _percentile(
    "Between tokens, P99",
    "output_token",
    "Inter-token latency (ITL): the time between two tokens; above a tenth of a second people read faster.",
)
FIRST_OF_TARGET = latency.of_target(
    "TTFT/SLO", "first_token", "The P99 of the time to the first token (TTFT)"
)
LATER_OF_TARGET = latency.of_target(
    "ITL/SLO", "output_token", "The P99 of the time between two tokens (ITL, inter-token latency)"
)
WHOLE = _percentile("Whole answer, P99", "total", "How long an answer takes to its last token.")
FIRST_OF_FEW, LATER_OF_FEW, WHOLE_OF_FEW = (
    few.of_few(signal, "model, version", _of(stage), _LEGEND)
    for signal, stage in ((FIRST, "first_token"), (LATER, "output_token"), (WHOLE, "total"))
)


def _target(stage: str) -> Signal:
    return Signal(
        title="Latency threshold",
        unit="s",
        expr=(
            "max by (le) (\n"
            f'  subject_slo:tritonobs_latency_target_seconds:held{{stage="{stage}", %(model)s}}\n'
            ")"
        ),
        legend="target {{le}} s",
        description="The threshold of the SLO. Good: above P99. From `tritonobs_latency_target_seconds`.",
    )


FIRST_TARGET, LATER_TARGET = _target("first_token"), _target("output_token")


def _heat(title: str, stage: str, what: str) -> Signal:
    return Signal(
        title=title,
        unit="s",
        expr=(
            "sum by (le) (\n"
            "  avg_over_time(\n"
            "    model_version_stage_le:tritonobs_stage_duration_seconds_bucket:rate%(medium)s"
            f'{{stage="{stage}", %(subject)s}}[$__interval]\n'
            "  )\n"
            ")"
        ),
        legend="{{le}}",
        description=(
            f"{what} Good: one strong band, low and flat; a second band is a second kind of prompts. From "
            "`model_version_stage_le:tritonobs_stage_duration_seconds_bucket:rate…`."
        ),
        empty=_UNTOLD,
    )


FIRST_HEAT = _heat(
    "Time to the first token", "first_token", "Requests per second by their time to the first token."
)
LATER_HEAT = _heat(
    "Time between tokens", "output_token", "Tokens per second by the time since the one before."
)


def _tokens(title: str, kind: str) -> Signal:
    return Signal(
        title=title,
        unit="short",
        expr=f'model_version_kind:tritonobs_tokens:rate%(medium)s{{kind="{kind}", %(subject)s}}',
        legend=_LEGEND,
        description=(
            f"{title}, and the limit (dashed). Good: below 80 % of the limit. From "
            "`model_version_kind:tritonobs_tokens:rate…` and `tritonobs_tokens_per_second_limit`."
        ),
        empty=_UNTOLD,
    )


def _limit(kind: str) -> Signal:
    return Signal(
        title="Token limit",
        unit="short",
        expr=f'subject_kind:tritonobs_tokens_per_second_limit:held{{kind="{kind}", %(model)s}}',
        legend="limit {{model}} {{version}}",
        description="The agreed limit. Good: above the traffic. From `tritonobs_tokens_per_second_limit`.",
    )


TOKENS_IN, TOKENS_OUT = (
    _tokens("Tokens in per second", "tokens_in"),
    _tokens("Tokens out per second", "tokens_out"),
)
LIMIT_IN, LIMIT_OUT = _limit("tokens_in"), _limit("tokens_out")

PER_REQUEST = Signal(
    title="Tokens per request",
    unit="short",
    expr="model_version_kind:tritonobs_tokens_per_requests:ratio5m{%(subject)s}",
    legend="{{model}} {{version}} {{kind}}",
    description=(
        "What a request costs: the mean length of prompts and of answers. Good: steady; longer prompts raise "
        "the TTFT and fill the cache. From "
        "`model_version_kind:tritonobs_tokens_per_requests:ratio5m`."
    ),
    empty=_UNTOLD,
    colours=(("tokens_in", palette.BLUE), ("tokens_out", palette.ORANGE)),
)

RUNNING = Signal(
    title="Requests running",
    unit="none",
    expr="model_version:tritonobs_llm_requests_running:sum{%(subject)s}",
    legend=_LEGEND,
    description=(
        "Requests that the engine processes at once. Good: as many as it can hold, while none wait. From "
        "`model_version:tritonobs_llm_requests_running:sum`."
    ),
    empty=_UNTOLD,
)
WAITING = Signal(
    title="Requests waiting",
    unit="none",
    expr="model_version:tritonobs_llm_requests_waiting:sum{%(subject)s}",
    legend=_LEGEND,
    description=(
        "Requests that wait in the engine for space; Triton's own queue is empty then, engines take requests "
        "at once. Good: 0. From `model_version:tritonobs_llm_requests_waiting:sum`."
    ),
    empty=_UNTOLD,
    decimals=0,
)

_CACHE_STEPS = (
    Step(value=None, colour=palette.GOOD),
    Step(value=0.8, colour=palette.NOTICE),
    Step(value=thresholds.KV_CACHE, colour=palette.CRITICAL),
)
KV_CACHE = Signal(
    title="KV cache",
    unit="percentunit",
    expr="replica_model_version:tritonobs_kv_cache_used:ratio{%(subject)s}",
    legend="{{%(replica)s}} {{model}} {{version}}",
    description=(
        "The share of the cache of keys and values in use, by replica. Good: below 95 %; above it requests "
        "wait or are preempted. From `replica_model_version:tritonobs_kv_cache_used:ratio`."
    ),
    maximum=1,
    steps=_CACHE_STEPS,
    lines=True,
    empty=_UNTOLD,
)
FULLEST = Signal(
    title="Max KV cache use",
    unit="percentunit",
    expr="max(model_version:tritonobs_kv_cache_used:ratio{%(subject)s})",
    legend="used",
    description=(
        "The highest KV cache use of the chosen models. Good: below 95 %. From "
        "`model_version:tritonobs_kv_cache_used:ratio`."
    ),
    maximum=1,
    steps=_CACHE_STEPS,
    empty=_UNTOLD,
)
PREFIX = Signal(
    title="Prefix cache",
    unit="percentunit",
    expr="model_version:tritonobs_prefix_cache_hits_per_lookups:ratio5m{%(subject)s}",
    legend=_LEGEND,
    description=(
        "The share of prompt tokens that were found in the prefix cache. Good: steady; a drop "
        "after a rollout means that the beginning of the prompts changed. From "
        "`model_version:tritonobs_prefix_cache_hits_per_lookups:ratio5m`."
    ),
    maximum=1,
    empty=_UNTOLD,
)
PREEMPTIONS = Signal(
    title="Preemptions",
    unit="reqpm",
    expr=(
        "60 * model_version:tritonobs_llm_preemptions:rate5m{%(subject)s}\n"
        "or\n"
        "model_version:tritonobs_llm_requests_paused:mean5m{%(subject)s}"
    ),
    legend=_LEGEND,
    description=(
        "Requests per minute whose KV cache was evicted and that are recomputed (vLLM), or that are paused "
        "(TensorRT-LLM). Good: 0. From `model_version:tritonobs_llm_preemptions:rate5m` and "
        "`…_requests_paused:mean5m`."
    ),
    empty=_UNTOLD,
)
GOODPUT = Signal(
    title="Goodput",
    unit="percentunit",
    expr=(
        "model_version:tritonobs_goodput:rate5m{%(subject)s}\n"
        "  / on (%(by_subject)s)\n"
        "(model_version:triton_requests:rate5m > 0)"
    ),
    legend=_LEGEND,
    description=(
        "The share of requests that met both thresholds, of the first token and of every later one: a lower "
        "bound. Good: above the objectives. From `model_version:tritonobs_goodput:rate5m`."
    ),
    maximum=1,
    empty="no SLO on first_token or output_token",
)
