"""A stage takes longer for the same work."""

from __future__ import annotations

import math
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
_PART_OF_CHANGE, _UNNAMED_PART_OF_CHANGE = 0.3, 0.5
_NOTABLE_SECONDS = 0.001
_UNNAMED_CONFIDENCE = 0.4
_UNNAMED = frozenset({CALL, OTHER})
"""Time beside the stages: the way to a called model, and what no stage accounts for."""


def judge(view: View) -> Iterator[Cause]:
    """Stages that carry a good part of what requests take longer, not counting fuller batches.

    A stage must stand out from what all parts do together: a slow machine has no slow stage.
    """
    for case in view.cases:
        for change in case.changes if case.slower else ():
            if change.now.name == QUEUE:
                continue
            batches = view.batch_growth((change.now.model, change.now.version))
            share = _by_mean(case, change, batches) if case.slower_mean else _by_tail(case, change, batches)
            if share >= (_UNNAMED_PART_OF_CHANGE if change.now.name in _UNNAMED else _PART_OF_CHANGE):
                yield _cause(case, change, share)


def _by_mean(case: Case, change: Change, batches: float) -> float:
    """Its part of what the mean grew, beyond what grew everywhere; 0 if it does not stand out."""
    everywhere = case.usual_growth(change)
    added = change.added_seconds - change.seconds_before * (everywhere - 1)
    growth = change.growth if change.before or change.now.name in _UNNAMED else math.inf
    stands_out = growth > _GROWTH * everywhere**2 * batches and change.is_unusual and added > _NOTABLE_SECONDS
    return min(1.0, added / case.added_seconds) if stands_out else 0.0


def _by_tail(case: Case, change: Change, batches: float) -> float:
    """Its part of what the slowest hundredth grew; 0 if its own grew little."""
    whole = (case.now.request.p99 or 0.0) - ((case.before.request.p99 if case.before else None) or 0.0)
    stands_out = change.tail_growth > _GROWTH * batches and whole > 0
    return min(1.0, change.added_tail_seconds / whole) if stands_out else 0.0


def _cause(case: Case, change: Change, share: float) -> Cause:
    stage = change.now
    before = change.before.timing.mean if change.before else None
    was = f", was {format_latency(before)}" if before is not None else ""
    named = stage.name not in _UNNAMED
    return Cause(
        check=ID,
        place=(stage.model, stage.version, *stage.path),
        sentence=(
            f"{part(case, stage)} takes {format_latency(stage.timing.mean or 0.0)}{was}: "
            f"{share:.0%} of what {case.now.model} takes longer"
        ),
        confidence=min(0.9, 0.5 + 0.4 * share) if named else _UNNAMED_CONFIDENCE,
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
        asked=("sum", "count", "buckets"),
    )
