"""Requests wait in Triton's queue for a free model instance."""

from __future__ import annotations

from collections.abc import Iterator

from tritonobs.extensions.triage.case import Case, Change
from tritonobs.extensions.triage.cause import suggest_limit
from tritonobs.extensions.triage.check import check
from tritonobs.extensions.triage.signs import drain_steps, draining
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause, Evidence
from tritonobs.timings.promql import labels_of
from tritonobs.timings.stages import QUEUE
from tritonobs.units import format_latency

_LONG_SECONDS = 0.005
_SHARE = 0.25
_GROWTH = 2.0
_FURTHER_ON = 0.5


@check(order=210, explains=())
def judge(view: View) -> Iterator[Cause]:
    """Queues that take a good part of a request, and more than they used to."""
    for case in view.cases:
        found = [change for change in case.changes if _is_long(change)]
        for change in found:
            # Its instances are busy because requests wait further on.
            further_on = any(_leads_to(change, other) for other in found)
            yield _cause(view, case, change, further_on=further_on)


def _is_long(change: Change) -> bool:
    row = change.now
    if row.name != QUEUE or (row.seconds or 0.0) < _LONG_SECONDS or (row.share or 0.0) < _SHARE:
        return False
    before = change.before
    return before is None or (row.timing.mean or 0.0) > _GROWTH * (before.timing.mean or 0.0)


def _leads_to(change: Change, other: Change) -> bool:
    model, further = change.now.path[:-1], other.now.path[:-1]
    return len(further) > len(model) and further[: len(model)] == model


def _cause(view: View, case: Case, change: Change, *, further_on: bool) -> Cause:
    row = change.now
    labels = labels_of((row.model, row.version))
    pending, before = view.value("pending", labels), view.value("pending", labels, before=True)
    was = change.before.timing.mean if change.before else None
    waits = f", was {format_latency(was)}" if was is not None else ""
    return Cause(
        place=(row.model, row.version, *row.path),
        sentence=(
            f"requests wait {format_latency(row.timing.mean or 0.0)} for a free instance of {row.model}"
            f"{waits}: {row.share or 0:.0%} of a request to {case.now.model}{draining(view, labels)}"
        ),
        confidence=_FURTHER_ON if further_on else 0.8 if (pending or 0.0) >= 1 else 0.6,
        evidence=(
            Evidence(f"wait for {row.model}", was, row.timing.mean, "seconds"),
            Evidence(f"requests waiting for {row.model}", before, pending, "count"),
            Evidence(
                f"requests to {row.model}",
                change.before.timing.rate if change.before else None,
                row.timing.rate,
                "per_second",
            ),
        ),
        next_steps=(
            *drain_steps(view, labels),
            f"add instances of {row.model} (instance_group) or a replica, if there is CPU or GPU left",
            f"set a QPS limit that {row.model} can serve: {suggest_limit(row.model)}",
        ),
        trend=("queue", labels_of((row.model, row.version))),
        asked=("queue", "pending"),
    )
