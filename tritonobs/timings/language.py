"""What triage asks about language models: the records that are the same for every engine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tritonobs import names
from tritonobs.timings import promql
from tritonobs.units import format_duration

# A cache this full has no room for another prompt, and is this full on average (as the rules have it).
FULL: Final = 0.95
FULL_ON_AVERAGE: Final = 0.75
# The record is evaluated about so often.
_TOKENS_STEP: Final = "30s"


def language_questions(scope: promql.Scope, window_seconds: float) -> dict[str, str]:
    """About a window: the engine's cache, who waits and runs, tokens and their times."""
    span, chosen = format_duration(window_seconds), scope.of()

    def mean(record: str) -> str:
        return f"avg_over_time({record}{chosen}[{span}])"

    def most(expression: str, *by: str) -> str:
        return f"max by ({', '.join((*promql.MODEL_VERSION, *by))}) ({expression})"

    # The record's name holds its window, which follows the scrape interval.
    named = scope.of(f'__name__=~"{names.TOKENS_RATE}"')
    stage = most(mean(names.STAGE_MEAN), names.STAGE)
    return {
        "kv_cache": most(mean(names.KV_CACHE_OF_REPLICA)),
        # On one server: who waits elsewhere does not wait for this cache.
        "kv_cache_blocked": most(
            f"(max_over_time({names.KV_CACHE_OF_REPLICA}{chosen}[{span}]) > {FULL})"
            f" and ({mean(names.KV_CACHE_OF_REPLICA)} > {FULL_ON_AVERAGE})"
            f" and ({mean(names.WAITING_OF_REPLICA)} >= 1)"
        ),
        "llm_waiting": most(mean(names.LLM_WAITING)),
        "llm_running": most(mean(names.LLM_RUNNING)),
        "request_tokens": most(mean(names.TOKENS_PER_REQUEST), names.KIND),
        # Versions of a model are busiest at other moments than all of them together.
        "tokens": f"{most(f'max_over_time({named}[{span}])', names.KIND)}"
        f" or max_over_time({promql.summed(most(named, names.KIND), (names.MODEL, names.KIND))}"
        f"[{span}:{_TOKENS_STEP}])",
        "token_seconds": f"{stage} and on ({_listed(promql.MODEL_VERSION)}) {most(mean(names.LLM_RUNNING))}"
        f" or {stage} and on ({_listed(promql.MODEL_VERSION)}) {most(mean(names.TOKENS_PER_REQUEST))}",
    }


def _listed(labels: Iterable[str]) -> str:
    return ", ".join(labels)
