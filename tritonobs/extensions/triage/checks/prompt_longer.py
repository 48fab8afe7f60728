"""A language model gets longer prompts than it used to, and its first tokens come later."""

from __future__ import annotations

from collections.abc import Iterator

from tritonobs import names
from tritonobs.extensions.triage.cause import figure, growth
from tritonobs.extensions.triage.check import LATE, check
from tritonobs.extensions.triage.view import View
from tritonobs.stage.series import FIRST_TOKEN
from tritonobs.timings.cause import Cause, Evidence
from tritonobs.timings.promql import labels_of
from tritonobs.units import format_latency

_LONGER, _LATER = 1.3, 1.2


@check(order=80, explains=LATE | {"batch_too_large", "kv_cache_full"})
def judge(view: View) -> Iterator[Cause]:
    """Models whose prompts and whose time to the first token grew together."""
    for model, version, kind in view.rows("request_tokens", names.MODEL, names.VERSION, names.KIND):
        if kind != "tokens_in":
            continue
        labels = labels_of((model, version))
        before, now = (
            view.value("request_tokens", labels | {names.KIND: kind}, before=side) for side in (True, False)
        )
        waited, waits = (
            view.value("token_seconds", labels | {names.STAGE: FIRST_TOKEN}, before=side)
            for side in (True, False)
        )
        if growth(now, before) < _LONGER or growth(waits, waited) < _LATER:
            continue
        yield Cause(
            place=(model, version),
            sentence=(
                f"prompts to {model} have {figure(now or 0)} tokens on average, had {figure(before or 0)}; "
                f"its first token takes {format_latency(waits or 0)}, took {format_latency(waited or 0)}"
            ),
            confidence=0.88,
            evidence=(
                Evidence("tokens of a prompt", before, now, "count"),
                Evidence("time to the first token", waited, waits, "seconds"),
            ),
            next_steps=(
                "find the caller whose prompts grew: a longer system prompt, documents, endless chats",
                "keep the common beginning of prompts unchanged, so that the prefix cache serves it",
            ),
            asked=("request_tokens", "token_seconds"),
        )
