"""A stage takes longer for the same work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs.live.cause import Cause, Evidence
from tritonobs.live.stages import CALL, OTHER, QUEUE
from tritonobs.live.wording import part, stage_labels, timing_evidence
from tritonobs.units import format_latency

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.live.case import Case, Change
    from tritonobs.live.view import View

ID = "slow_stage"
_GROWTH = 1.25
_PART_OF_CHANGE = 0.3


def judge(view: View) -> Iterator[Cause]:
    """Stages that carry a good part of what requests take longer, not counting fuller batches."""
    for case in view.cases:
        if not case.slower:
            continue
        for change in case.changes():
            growth = _growth(change) / view.batch_growth((change.now.model, change.now.version))
            share = _part_of_change(case, change)
            if change.now.name != QUEUE and growth > _GROWTH and share >= _PART_OF_CHANGE:
                yield _cause(case, change, share)


def _growth(change: Change) -> float:
    """Of the mean or of the slowest hundredth, whichever grew more."""
    before = change.before.timing.p99 if change.before else None
    tail = change.now.timing.p99 / before if change.now.timing.p99 and before else 1.0
    return max(change.growth, tail)


def _part_of_change(case: Case, change: Change) -> float:
    if case.added_seconds > 0:
        return min(1.0, change.added_seconds / case.added_seconds)
    whole = (case.now.request.p99 or 0.0) - ((case.before.request.p99 if case.before else None) or 0.0)
    return min(1.0, change.added_tail_seconds / whole) if whole > 0 else 0.0


def _cause(case: Case, change: Change, share: float) -> Cause:
    stage = change.now
    before = change.before.timing.mean if change.before else None
    was = f", was {format_latency(before)}" if before is not None else ""
    named = stage.name not in {CALL, OTHER}
    return Cause(
        check=ID,
        place=(stage.model, stage.version, *stage.path),
        sentence=(
            f"{part(case, stage)} takes {format_latency(stage.timing.mean or 0.0)}{was}: "
            f"{share:.0%} of what {case.now.model} takes longer"
        ),
        confidence=min(0.9, 0.5 + 0.4 * share) if named else 0.5,
        evidence=(
            *timing_evidence(stage.name, change.before.timing if change.before else None, stage.timing),
            Evidence(
                what=f"share of the added time of {case.now.model}", before=None, now=share, unit="ratio"
            ),
        ),
        next_steps=(
            f"look at what {stage.model} does in {stage.name}: a release, a setting, a service it waits for",
            f"compare a profile of a worker of {stage.model} with one from before",
        ),
        trend=("stage", stage_labels(stage)) if named else None,
        asked=("sum", "count", "p99"),
    )
