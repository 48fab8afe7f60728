"""Suppression gets more boxes than it used to, and takes longer for it."""

from __future__ import annotations

from collections.abc import Iterator

from tritonobs import names
from tritonobs.extensions.triage.cause import growth, stage_labels, timing_evidence
from tritonobs.extensions.triage.check import LATE, check
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause, Evidence

_KIND = "boxes"
_GROWTH = 1.5
_STAGE_GROWTH = 1.2


@check(order=70, explains=LATE)
def judge(view: View) -> Iterator[Cause]:
    """Stages that count boxes, where boxes and time grew together."""
    for model, version, stage, kind in view.rows(
        "size_count", names.MODEL, names.VERSION, names.STAGE, names.KIND
    ):
        now, before = (
            view.mean_size((model, version), stage, kind),
            view.usual_size((model, version), stage, kind),
        )
        slower = view.slower_stage(model, stage)
        if kind != _KIND or now is None or growth(now, before) < _GROWTH or slower is None:
            continue
        case, change = slower
        if change.growth < _STAGE_GROWTH:
            continue
        row = change.now
        yield Cause(
            place=(model, version, *row.path),
            sentence=(
                f"{model} / {stage} gets {now:.0f} boxes per image, was {before or 0:.0f}: "
                f"it takes {change.growth:.1f} times as long"
            ),
            confidence=0.95 if change.added_seconds > 0.3 * case.added_seconds else 0.75,
            evidence=(
                Evidence(f"mean boxes into {stage}", before, now, "boxes"),
                *timing_evidence(stage, change.before.timing if change.before else None, row.timing),
            ),
            next_steps=(
                "look at the images of that time: texture, noise or a camera out of focus give false boxes",
                f"raise the confidence threshold of {model} or lower max_candidates until the cause is gone",
            ),
            trend=("size", {**stage_labels(row), names.KIND: kind}),
            asked=("size_sum", "size_count", "sum"),
        )
