"""Where the time of requests goes: a stage takes longer, or requests wait in Triton's queue.

They wait for a free instance, or for a batch that does not fill.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tritonobs import names
from tritonobs.clients.triton import ModelConfig
from tritonobs.extensions.triage.case import Case, Change
from tritonobs.extensions.triage.check import (
    check,
    draining,
    stage_labels,
    suggest_limit,
    timing_evidence,
)
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
    way = " / ".join((model, *stage.path))
    was = f" (was {format_latency(change.was.mean)})" if change.was.mean is not None else ""
    if share is None:
        confidence, of_all = _MULTIPLE_CONFIDENCE, tuple[Evidence, ...]()
        much = f"{change.growth:.1f} times as long, {stage.share or 0:.0%} of a request to {model}"
    else:
        confidence = min(0.9, 0.5 + 0.4 * share)
        of_all = (Evidence(f"share of the added time of {model}", None, share, "ratio"),)
        much = f"{share:.0%} of the added time of {model}"
    return Cause(
        place=(stage.model, stage.version, *stage.path),
        sentence=f"{way} takes {format_latency(stage.timing.mean or 0.0)}{was}: {much}",
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


_SHORTEST_DELAY_SECONDS = 0.002
# The first request of a batch waits the whole delay, later ones less; what is longer waits for an instance.
_NEAR = (0.4, 1.3)
_FULL = 0.5
_SHARE = 0.2
_LONGER = 1.5


@check(order=190, explains={"bad_deploy", "queue_saturation", "reload"}, same_model={"bad_deploy", "reload"})
def batch_delay(view: View) -> Iterator[Cause]:
    """Queues as long as the dynamic batcher's delay, in front of batches that stay small."""
    configs = {config.name: config for replica in view.snapshot.replicas for config in replica.configs}
    for change in (change for case in view.cases for change in case.changes):
        row, config = change.now, configs.get(change.now.model)
        if row.name != QUEUE or not config or not _waits_for_batch(view, change, config):
            continue
        model = row.model
        batch_before, batch = (view.mean_batch(change.subject, before=side) for side in (True, False))
        yield Cause(
            place=(*change.subject, *row.path),
            sentence=(
                f"{model} waits {format_latency(row.timing.mean or 0.0)} for batches that do not fill "
                f"({batch or 1:.1f} of {config.max_batch_size}): its max_queue_delay is "
                f"{format_latency(config.max_queue_delay_seconds)}"
            ),
            confidence=0.85,
            evidence=(
                Evidence(f"wait for {model}", change.was.mean, row.timing.mean, "seconds"),
                Evidence(f"mean batch of {model}", batch_before, batch, "count"),
            ),
            next_steps=(
                f"lower max_queue_delay_microseconds of {model}: batches also form while instances are busy",
            ),
            trend=("queue", labels_of(change.subject)),
            asked=("queue", "inferences", "executions"),
        )


def _waits_for_batch(view: View, change: Change, config: ModelConfig) -> bool:
    row, delay = change.now, config.max_queue_delay_seconds
    if delay < _SHORTEST_DELAY_SECONDS or row.timing.mean is None or (row.share or 0.0) < _SHARE:
        return False
    batch = view.mean_batch(change.subject) or 1.0
    near = _NEAR[0] * delay <= row.timing.mean <= _NEAR[1] * delay
    grew = change.before is None or change.growth > _LONGER
    return near and batch < _FULL * config.max_batch_size and grew


_LONG_SECONDS = 0.005
_LONG_SHARE = 0.25
_MUCH_LONGER = 2.0
_FURTHER_ON = 0.5


@check(order=210, explains=())
def queue_saturation(view: View) -> Iterator[Cause]:
    """Queues that take a good part of a request, and more than they used to."""
    for case in view.cases:
        found = [change for change in case.changes if _is_long(change)]
        for change in found:
            row, was, labels = change.now, change.was.mean, labels_of(change.subject)
            model = row.model
            before, pending = view.both("pending", labels)
            ebbs, steps = draining(view, labels)
            # Its instances are busy because requests wait further on.
            further_on = any(_leads_to(change, other) for other in found)
            waits = f" (was {format_latency(was)})" if was is not None else ""
            rate_before = change.before.timing.rate if change.before else None
            yield Cause(
                place=(*change.subject, *row.path),
                sentence=(
                    f"requests wait {format_latency(row.timing.mean or 0.0)} for a free instance of "
                    f"{model}{waits}: {row.share or 0:.0%} of a request to "
                    f"{case.now.model}{ebbs}"
                ),
                confidence=_FURTHER_ON if further_on else 0.8 if (pending or 0.0) >= 1 else 0.6,
                evidence=(
                    Evidence(f"wait for {model}", was, row.timing.mean, "seconds"),
                    Evidence(f"requests waiting for {model}", before, pending, "count"),
                    Evidence(f"requests to {model}", rate_before, row.timing.rate, "per_second"),
                ),
                next_steps=(
                    *steps,
                    f"add instances of {model} (instance_group) or a replica, if there is CPU or GPU left",
                    f"set a QPS limit that {model} can serve: {suggest_limit(model)}",
                ),
                trend=("queue", labels),
                asked=("queue", "pending"),
            )


def _is_long(change: Change) -> bool:
    row = change.now
    if row.name != QUEUE or (row.seconds or 0.0) < _LONG_SECONDS or (row.share or 0.0) < _LONG_SHARE:
        return False
    return change.before is None or (row.timing.mean or 0.0) > _MUCH_LONGER * (change.was.mean or 0.0)


def _leads_to(change: Change, other: Change) -> bool:
    model, further = change.now.path[:-1], other.now.path[:-1]
    return len(further) > len(model) and further[: len(model)] == model
