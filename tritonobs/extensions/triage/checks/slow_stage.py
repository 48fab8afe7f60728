"""A stage takes longer for the same work."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tritonobs import names
from tritonobs.extensions.triage.case import Case, Change
from tritonobs.extensions.triage.check import check, part, stage_labels, timing_evidence
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause, Evidence
from tritonobs.timings.promql import labels_of
from tritonobs.timings.stages import CALL, COMPUTE, OTHER, QUEUE, Row
from tritonobs.units import format_latency

_GROWTH = 1.25
_PART_OF_CHANGE, _UNNAMED_PART_OF_CHANGE = 0.3, 0.5
_NOTABLE_SECONDS = 0.001
# Time beside the stages is a difference of two measurements, and moves by itself.
_UNNAMED_CONFIDENCE = 0.4
_FEWEST = 30
_MULTIPLE_CONFIDENCE = 0.7
_UNNAMED = frozenset({CALL, OTHER})
"""Time beside the stages: the way to a called model, and what no stage accounts for."""


@check(order=180, explains={"queue_saturation", "slow_machine"})
def slow_stage(view: View) -> Iterator[Cause]:
    """Stages that account for much of the added time of requests, not counting fuller batches.

    A stage must stand out from what all parts do together: a slow machine has no slow stage.
    """
    for case in view.cases:
        for change in case.changes:
            if change.now.name == QUEUE:
                continue
            batches = view.batch_growth(change.subject)
            share = _share(case, change, batches)
            if share >= (_UNNAMED_PART_OF_CHANGE if change.now.name in _UNNAMED else _PART_OF_CHANGE):
                yield _cause(case, change, share)
            elif change.now.name not in _UNNAMED and case.multiplied(change, batches):
                yield _cause(case, change, None)


def _share(case: Case, change: Change, batches: float) -> float:
    if not case.slower or (change.now.name in _UNNAMED and _few(case)):
        return 0.0
    return _by_mean(case, change, batches) if case.slower_mean else _by_tail(case, change, batches)


def _few(case: Case) -> bool:
    """Whether what is left is chance: the parts of an ensemble are means of all callers' calls."""
    if case.now.inside is None:
        return True
    tables = (case.now, case.before) if case.before else (case.now,)
    return any(table.request.rate * table.window_seconds < _FEWEST for table in tables)


def _by_mean(case: Case, change: Change, batches: float) -> float:
    """Its part of what the mean grew, beyond what grew everywhere; 0 if it does not stand out."""
    everywhere = case.usual_growth(change)
    added = change.added_seconds - change.seconds_before * (everywhere - 1)
    # A part that was not there before has nothing to grow from, and adds all of its time.
    growth = change.growth if change.before else math.inf
    # Squared: beside compilers one part took 2.5 times as long, and half of the rest nearly as much
    # (tests/triage/checks/test_machines.py).
    stands_out = growth > _GROWTH * everywhere**2 * batches and change.is_unusual and added > _NOTABLE_SECONDS
    return min(1.0, added / case.added_seconds) if stands_out else 0.0


def _by_tail(case: Case, change: Change, batches: float) -> float:
    """Its part of what the slowest hundredth grew; 0 if its own grew little."""
    whole = (case.now.request.p99 or 0.0) - (case.was.p99 or 0.0)
    stands_out = change.tail_growth > _GROWTH * batches and whole > 0
    return min(1.0, change.added_tail_seconds / whole) if stands_out else 0.0


def _cause(case: Case, change: Change, share: float | None) -> Cause:
    """`share` is its part of what was added; None for a stage that takes a multiple of its time."""
    stage, model = change.now, case.now.model
    was = f", was {format_latency(change.was.mean)}" if change.was.mean is not None else ""
    if share is None:
        confidence, of_all = _MULTIPLE_CONFIDENCE, tuple[Evidence, ...]()
        much = f"{change.growth:.1f} times as long, {stage.share or 0:.0%} of a request to {model}"
    else:
        confidence = min(0.9, 0.5 + 0.4 * share)
        of_all = (Evidence(f"share of the added time of {model}", None, share, "ratio"),)
        much = f"{share:.0%} of the added time of {model}"
    return Cause(
        place=(stage.model, stage.version, *stage.path),
        sentence=f"{part(case, stage)} takes {format_latency(stage.timing.mean or 0.0)}{was}: {much}",
        confidence=_UNNAMED_CONFIDENCE if stage.name in _UNNAMED else confidence,
        evidence=(*timing_evidence(change), *of_all),
        next_steps=(
            f"look at what {stage.model} does in {stage.name}: a release, a setting, a service it waits for",
            f"compare a profile of a worker of {stage.model} with one from before",
        ),
        trend=_trend(stage),
        asked=("sum", "count", "buckets"),
    )


def _trend(stage: Row) -> tuple[str, dict[str, str]]:
    """The stage's own time; of what has no name, that of the request it is a part of."""
    labels = labels_of((stage.model, stage.version))
    if stage.name == CALL and len(stage.path) > 1:
        return "stage", {**labels, names.STAGE: stage.path[-2]}
    return ("request", labels) if stage.name in {COMPUTE, *_UNNAMED} else ("stage", stage_labels(stage))
