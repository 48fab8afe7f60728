"""Language models: longer prompts, a full cache, too many requests at once, more tokens than agreed."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tritonobs import names
from tritonobs.extensions.triage.case import growth
from tritonobs.extensions.triage.check import LATE, check, figure, titled
from tritonobs.extensions.triage.view import View
from tritonobs.stage.series import FIRST_TOKEN, OUTPUT_TOKEN
from tritonobs.timings.cause import Cause, Evidence
from tritonobs.timings.promql import labels_of
from tritonobs.timings.questions import FULL_ON_AVERAGE
from tritonobs.units import format_latency

_LONGER, _LATER = 1.3, 1.2
# Each step of an engine makes one token of each running request, so both grow together.
_MORE, _SLOWER = 1.5, 1.3
_LIMITED = (names.MODEL, names.VERSION, names.KIND)


@check(order=80, explains=LATE | {"batch_too_large", "kv_cache_full"})
def prompt_longer(view: View) -> Iterator[Cause]:
    """Models whose prompts and whose time to the first token grew together."""
    for model, version, kind in view.rows("request_tokens", *_LIMITED):
        labels = labels_of((model, version))
        before, now = view.both("request_tokens", labels | {names.KIND: kind})
        waited, waits = view.both("token_seconds", labels | {names.STAGE: FIRST_TOKEN})
        if kind != "tokens_in" or growth(now, before) < _LONGER or growth(waits, waited) < _LATER:
            continue
        yield Cause(
            place=(model, version),
            sentence=(
                f"prompts to {model} have {figure(now or 0)} tokens on average (was {figure(before or 0)}); "
                f"its time to first token is {format_latency(waits or 0)} (was {format_latency(waited or 0)})"
            ),
            confidence=0.88,
            evidence=(
                Evidence("tokens of a prompt", before, now, "count"),
                Evidence("time to first token", waited, waits, "seconds"),
            ),
            next_steps=(
                "find the caller whose prompts grew: a longer system prompt, documents, endless chats",
                "keep the common beginning of prompts unchanged, so that the prefix cache serves it",
            ),
            asked=("request_tokens", "token_seconds"),
        )


@check(order=90, explains=LATE)
def kv_cache_full(view: View) -> Iterator[Cause]:
    """Models with a server whose cache is full while requests wait there, and was not all the time before."""
    full_before = view.rows("kv_cache_blocked", names.MODEL, names.VERSION, before=True)
    for subject, share in view.rows("kv_cache_blocked", names.MODEL, names.VERSION).items():
        cache_before, _ = view.both("kv_cache", labels_of(subject))
        # Triage reports changes. A cache that is always full has an alert.
        if subject in full_before and (cache_before or 0) > FULL_ON_AVERAGE:
            continue
        waited, waiting = view.both("llm_waiting", labels_of(subject))
        yield Cause(
            place=subject,
            sentence=(
                f"the KV cache of {subject[0]} is {share:.0%} full, "
                f"and {figure(waiting or 0)} requests wait for room"
            ),
            confidence=0.9,
            evidence=(
                Evidence("KV cache in use", cache_before, share, "ratio"),
                Evidence("requests waiting in the engine", waited, waiting, "count"),
            ),
            next_steps=(
                "see whether prompts or responses grew, and bound their lengths (max_tokens)",
                "give the cache more memory (gpu_memory_utilization of vLLM), or add a replica",
            ),
            asked=("kv_cache", "kv_cache_blocked", "llm_waiting"),
        )


@check(order=100, explains=LATE)
def batch_too_large(view: View) -> Iterator[Cause]:
    """Models whose running requests and whose time between tokens grew together."""
    for model, version in view.rows("llm_running", names.MODEL, names.VERSION):
        labels = labels_of((model, version))
        ran, running = view.both("llm_running", labels)
        took, takes = view.both("token_seconds", labels | {names.STAGE: OUTPUT_TOKEN})
        if growth(running, ran) < _MORE or growth(takes, took) < _SLOWER:
            continue
        yield Cause(
            place=(model, version),
            sentence=(
                f"{model} runs {figure(running or 0)} requests at once (was {figure(ran or 0)}), and its "
                f"time per output token is {format_latency(takes or 0)} (was {format_latency(took or 0)})"
            ),
            confidence=0.8,
            evidence=(
                Evidence("requests running", ran, running, "count"),
                Evidence("time per output token", took, takes, "seconds"),
            ),
            next_steps=(
                "let fewer requests run at once (max_num_seqs of vLLM, max_batch_size of TensorRT-LLM)",
                "add a replica, or throttle the client that sends more",
            ),
            asked=("llm_running", "token_seconds"),
        )


@check(order=120, explains=LATE | {"batch_too_large", "kv_cache_full"})
def tokens_limit(view: View) -> Iterator[Cause]:
    """Limits that the busiest minute exceeded. A limit without a version counts all versions together."""
    limits = view.rows("token_limits", *_LIMITED)
    for (model, version, kind), limit in sorted(limits.items()):
        if version and limits.get((model, "", kind), math.inf) <= limit:
            # The limit of the model is passed at least as early, and by more.
            continue
        before, now = (_tokens(view, model, version, kind, before=side) for side in (True, False))
        if now <= limit:
            continue
        yield Cause(
            place=(model, version),
            sentence=(
                f"{titled((model, version))} handled {figure(now)} {kind}/s; its limit is {figure(limit)}"
            ),
            confidence=0.95,
            evidence=(
                Evidence(f"{kind} in the busiest minute", before, now, "per_second"),
                Evidence("limit", None, limit, "per_second"),
            ),
            next_steps=(
                "find the clients with long prompts or responses, and throttle them or bound max_tokens",
                "if there is room, raise tokens_per_second_limit in the fleet file",
            ),
            asked=("tokens", "token_limits"),
        )


def _tokens(view: View, model: str, version: str, kind: str, *, before: bool) -> float:
    """Tokens a second in the busiest minute."""
    rows = view.rows("tokens", *_LIMITED, before=before)
    known = rows.get((model, version, kind))
    if known is not None:
        return known
    # Snapshots of 0.6.3 and before know no models as a whole.
    return sum(
        rate for (asked, _, sort), rate in rows.items() if (asked, sort) == (model, kind) and not version
    )
