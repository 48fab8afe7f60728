"""More requests fail, or are refused as bad input; with stage and reason where models report them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tritonobs import names
from tritonobs.extensions.triage.check import INPUT_REASONS, check, titled
from tritonobs.extensions.triage.trends import BAD
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause, Evidence
from tritonobs.timings.measured import Subject
from tritonobs.timings.promql import labels_of

_NOTABLE = 0.01
_GROWTH = 3.0
_FEWEST = 3.0
_PASSED_ON = 1.2
"""Pipelines and what they call are counted at different moments."""


@check(order=50, explains={"upstream_drop"})
def error_surge(view: View) -> Iterator[Cause]:
    """Models that return notably more errors, or refuse notably more input; what a callee did is left out."""
    for fault in (_ERRORS, _INVALID):
        yield from _surges(view, fault)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fault:
    """Whose fault failed requests are: their share, its wording in a cause, and the stages' label for it."""

    ratio: Callable[..., float | None]
    says: str
    measures: str
    outcome: str
    trend: str


_ERRORS = _Fault(
    ratio=View.error_ratio,
    says="returns errors for {now:.1%} of requests",
    measures="error ratio of {model}",
    outcome="",
    trend=BAD,
)
_INVALID = _Fault(
    ratio=View.invalid_ratio,
    says="refuses {now:.1%} of requests as bad input",
    measures="share of bad input of {model}",
    outcome="invalid",
    trend="requests",
)


def _surges(view: View, fault: _Fault) -> Iterator[Cause]:
    surges = {subject: ratio for subject in view.asked() if (ratio := _surge(view, fault, subject))}
    callees = defaultdict[str, set[str]](set)
    for call in view.now.calls:
        callees[call.pipeline].add(call.model)
    for subject, (now, before) in surges.items():
        counted = _counted(view, fault, subject)
        reason = next(((stage, why) for stage, why, was, rate in counted if rate > (was or 0.0)), None)
        called = [other for other in surges if other[0] in callees[subject[0]]]
        # As many errors as its callees have: they are theirs.
        own = _more(view, fault, subject) - _PASSED_ON * sum(_more(view, fault, other) for other in called)
        if called and own * view.snapshot.incident.seconds < _FEWEST:
            continue
        at = f"; most: {reason[1]} in stage {reason[0]}" if reason else ""
        of_input = fault is _INVALID or (reason is not None and reason[1] in INPUT_REASONS)
        yield Cause(
            place=(*subject, *(reason or ())),
            sentence=f"{titled(subject)} {fault.says.format(now=now)} (was {before:.1%}){at}",
            confidence=min(0.95, 0.75 + now),
            evidence=(
                Evidence(fault.measures.format(model=subject[0]), before, now, "ratio"),
                *(
                    Evidence(f"{why} in {stage}", was, rate, "per_second")
                    for stage, why, was, rate in counted[:3]
                ),
            ),
            next_steps=_INPUT_STEPS if of_input else _OTHER_STEPS,
            trend=("errors", {**labels_of(subject), names.REASON: reason[1]})
            if reason
            else (fault.trend, labels_of(subject)),
            asked=("outcomes", "stage_errors", "failures"),
        )


_OTHER_STEPS = ("read the errors in Triton's log of that time, and the responses that clients got",)
_INPUT_STEPS = ("find the client that sends them; the model works, its input is bad",)


def _surge(view: View, fault: _Fault, subject: Subject) -> tuple[float, float] | None:
    """The share now and before, when it grew notably."""
    now, before = fault.ratio(view, subject), fault.ratio(view, subject, before=True) or 0.0
    if now is None or now < max(_NOTABLE, _GROWTH * before):
        return None
    failed = now * view.request_rate(subject) * view.snapshot.incident.seconds
    return (now, before) if failed >= _FEWEST else None


def _more(view: View, fault: _Fault, subject: Subject) -> float:
    """Such requests a second that were added since the baseline."""
    now, before = (
        (fault.ratio(view, subject, before=side) or 0.0) * view.request_rate(subject, before=side)
        for side in (False, True)
    )
    return max(0.0, now - before)


def _counted(view: View, fault: _Fault, subject: Subject) -> list[tuple[str, str, float | None, float]]:
    """Stage, reason, and how many a second before and now, as the model counts them; what grew most first."""
    labels = (names.MODEL, names.VERSION, names.STAGE, names.REASON, names.OUTCOME)
    before = view.rows("stage_errors", *labels, before=True)
    counted = [
        (key[2], key[3], before.get(key), rate)
        for key, rate in view.rows("stage_errors", *labels).items()
        if key[:2] == subject and key[4] == fault.outcome
    ]
    return sorted(counted, key=lambda one: (one[2] or 0.0) - one[3])
