"""A stage gets larger inputs than it used to, and takes longer for it."""

from __future__ import annotations

from collections.abc import Iterator

from tritonobs import names
from tritonobs.extensions.triage.case import Case, Change
from tritonobs.extensions.triage.cause import figure, growth, stage_labels, timing_evidence
from tritonobs.extensions.triage.check import LATE, check
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause, Evidence, Unit
from tritonobs.units import format_latency

_GROWTH = 1.3
# A few huge images may hardly move the mean.
_TAIL_GROWTH = 2.0
_SLOWER = 1.1
_UNITS: dict[str, Unit] = {"megapixels": "megapixels", "bytes": "bytes"}


@check(order=60, explains=LATE)
def judge(view: View) -> Iterator[Cause]:
    """Stages whose inputs and whose time grew together."""
    for model, version, stage, kind in view.rows(
        "size_count", names.MODEL, names.VERSION, names.STAGE, names.KIND
    ):
        if kind == "boxes":
            continue
        slower = view.slower_stage(model, stage)
        now, before = (
            view.mean_size((model, version), stage, kind),
            view.usual_size((model, version), stage, kind),
        )
        tail_now, tail_before = view.tail_size((model, version), stage, kind)
        grew = growth(now, before) >= _GROWTH or growth(tail_now, tail_before) >= _TAIL_GROWTH
        if slower and grew and slower[1].added_seconds > 0:
            mean = Evidence(f"mean {kind} into {stage}", before, now, _UNITS.get(kind, ""))
            tail = Evidence(f"p99 {kind} into {stage}", tail_before, tail_now, _UNITS.get(kind, ""))
            yield _cause(*slower, kind, (mean, tail))


def _cause(case: Case, change: Change, kind: str, sizes: tuple[Evidence, ...]) -> Cause:
    stage, mean = change.now, sizes[0]
    steps = growth(mean.now, mean.before)
    # Larger inputs take time in proportion to their size, at most to its square.
    fits = _SLOWER < change.growth <= max(steps, 2.0) ** 2
    return Cause(
        place=(stage.model, stage.version, *stage.path),
        sentence=(
            f"{stage.model} / {stage.name} gets larger inputs: {figure(mean.now or 0)} {kind} on average, "
            f"was {figure(mean.before or 0)}, and a request to {case.now.model} takes "
            f"{format_latency(case.added_seconds)} longer"
        ),
        confidence=0.95 if fits else 0.7,
        evidence=(
            *sizes,
            *timing_evidence(stage.name, change.before.timing if change.before else None, stage.timing),
        ),
        next_steps=(
            "find the client that sends them, by its address in the proxy's log or the request ids",
            f"refuse needless sizes: lower the size limit in {stage.model}'s parameters (max_side)",
        ),
        trend=("size", {**stage_labels(stage), names.KIND: kind}),
        asked=("size_sum", "size_count", "size_p99", "sum"),
    )
