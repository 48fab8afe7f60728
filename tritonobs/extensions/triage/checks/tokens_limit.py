"""A language model handles more tokens than its limit."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tritonobs import names
from tritonobs.extensions.triage.cause import figure, titled
from tritonobs.extensions.triage.check import LATE, check
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause, Evidence

_LABELS = (names.MODEL, names.VERSION, names.KIND)


@check(order=120, explains=LATE | {"batch_too_large", "kv_cache_full"})
def judge(view: View) -> Iterator[Cause]:
    """Limits that the busiest minute exceeded. A limit without a version counts all versions together."""
    limits = view.rows("token_limits", *_LABELS)
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
                f"{titled((model, version))} handled {figure(now)} {kind}/s, its limit is {figure(limit)}"
            ),
            confidence=0.95,
            evidence=(
                Evidence(f"{kind} in the busiest minute", before, now, "per_second"),
                Evidence("limit", None, limit, "per_second"),
            ),
            next_steps=(
                "find the callers with long prompts or answers, and slow them down or bound max_tokens",
                "if there is room, raise tokens_per_second_limit in the fleet file",
            ),
            asked=("tokens", "token_limits"),
        )


def _tokens(view: View, model: str, version: str, kind: str, *, before: bool) -> float:
    """Tokens a second in the busiest minute."""
    rows = view.rows("tokens", *_LABELS, before=before)
    known = rows.get((model, version, kind))
    if known is not None:
        return known
    # Snapshots of 0.6.3 and before know no models as a whole.
    return sum(
        rate for (asked, _, sort), rate in rows.items() if (asked, sort) == (model, kind) and not version
    )
