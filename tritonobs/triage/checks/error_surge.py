"""More requests fail than before; with the stage and the reason where the models tell it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from tritonobs import names
from tritonobs.timings.promql import labels_of
from tritonobs.triage import inputs
from tritonobs.triage.cause import Cause, Evidence
from tritonobs.triage.trends import BAD
from tritonobs.triage.wording import titled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.timings.measured import Subject
    from tritonobs.triage.view import View

_NOTABLE = 0.01
_GROWTH = 3.0
_FEWEST = 3.0
_PASSED_ON = 1.2
"""Pipelines and what they call are counted at different moments."""


def judge(view: View) -> Iterator[Cause]:
    """Models that answer notably more errors; those that only pass on a callee's errors are left out."""
    surges = {subject: ratio for subject in view.asked() if (ratio := _surge(view, subject))}
    callees = defaultdict[str, set[str]](set)
    for call in view.now.calls:
        callees[call.pipeline].add(call.model)
    for subject, (now, before) in surges.items():
        reason = _reason(view, subject)
        called = [other for other in surges if other[0] in callees[subject[0]]]
        # As many errors as its callees have: they are theirs.
        own = _more(view, subject) - _PASSED_ON * sum(_more(view, other) for other in called)
        if called and own * view.snapshot.incident.seconds < _FEWEST:
            continue
        at = f" in {reason[0]}: {reason[1]}" if reason else ""
        yield Cause(
            place=(*subject, *(reason or ())),
            sentence=f"{titled(subject)} answers {now:.1%} of requests with an error, was {before:.1%}{at}",
            confidence=min(0.95, 0.75 + now),
            evidence=(
                Evidence(f"error ratio of {subject[0]}", before, now, "ratio"),
                *_reasons(view, subject),
            ),
            next_steps=_STEPS.get(reason[1] if reason else "", _OTHER_STEPS),
            trend=("errors", {**labels_of(subject), names.REASON: reason[1]})
            if reason
            else (BAD, labels_of(subject)),
            asked=("outcomes", "stage_errors", "failures"),
        )


_OTHER_STEPS = ("read the errors in Triton's log of that time, and the answers that clients got",)
_INPUT_STEPS = ("find the client that sends them; the model is well, what it gets is not",)
_STEPS = dict.fromkeys(inputs.REASONS, _INPUT_STEPS)


def _surge(view: View, subject: Subject) -> tuple[float, float] | None:
    """Error ratio now and before, when it grew notably."""
    now, before = view.error_ratio(subject), view.error_ratio(subject, before=True) or 0.0
    if now is None or now < max(_NOTABLE, _GROWTH * before):
        return None
    failed = now * view.request_rate(subject) * view.snapshot.incident.seconds
    return (now, before) if failed >= _FEWEST else None


def _more(view: View, subject: Subject) -> float:
    """Errors a second that were added since the baseline."""
    now, before = (
        (view.error_ratio(subject, before=side) or 0.0) * view.request_rate(subject, before=side)
        for side in (False, True)
    )
    return max(0.0, now - before)


def _reason(view: View, subject: Subject) -> tuple[str, str] | None:
    """Stage and reason of most of the added errors, as the model counts them."""
    added = _added(view, subject)
    worst = max(added, key=lambda key: added[key], default=None)
    return worst if worst and added[worst] > 0 else None


def _reasons(view: View, subject: Subject) -> Iterator[Evidence]:
    for stage, reason in sorted(_added(view, subject), key=lambda key: -_added(view, subject)[key])[:3]:
        labels = {**labels_of(subject), names.STAGE: stage, names.REASON: reason}
        yield Evidence(
            f"{reason} in {stage}",
            view.value("stage_errors", labels, before=True),
            view.value("stage_errors", labels),
            "per_second",
        )


def _added(view: View, subject: Subject) -> dict[tuple[str, str], float]:
    labels = (names.MODEL, names.VERSION, names.STAGE, names.REASON)
    before = view.rows("stage_errors", *labels, before=True)
    return {
        (key[2], key[3]): rate - before.get(key, 0.0)
        for key, rate in view.rows("stage_errors", *labels).items()
        if key[:2] == subject
    }
