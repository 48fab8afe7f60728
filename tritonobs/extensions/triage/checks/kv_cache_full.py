"""The cache of keys and values of a language model is full, and requests wait for room."""

from __future__ import annotations

from collections.abc import Iterator

from tritonobs import names
from tritonobs.extensions.triage.cause import figure
from tritonobs.extensions.triage.check import LATE, check
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause, Evidence
from tritonobs.timings.promql import labels_of


@check(order=90, explains=LATE)
def judge(view: View) -> Iterator[Cause]:
    """Models with a server whose cache is full while requests wait there, and was not before."""
    full_before = view.rows("kv_cache_blocked", names.MODEL, names.VERSION, before=True)
    for subject, share in view.rows("kv_cache_blocked", names.MODEL, names.VERSION).items():
        # Triage reports changes. A cache that is always full has an alert.
        if subject in full_before:
            continue
        labels = labels_of(subject)

        def both(name: str, labels: dict[str, str] = labels) -> tuple[float | None, float | None]:
            return view.value(name, labels, before=True), view.value(name, labels)

        (cache_before, _), (waited, waiting) = both("kv_cache"), both("llm_waiting")
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
                "see whether prompts or answers grew, and bound their lengths (max_tokens)",
                "give the cache more memory (gpu_memory_utilization of vLLM), or add a replica",
            ),
            asked=("kv_cache", "kv_cache_blocked", "llm_waiting"),
        )
