"""A model gets many more requests than before, and takes longer or fails for it."""

from __future__ import annotations

from collections.abc import Iterator

from tritonobs.extensions.triage.case import Case
from tritonobs.extensions.triage.cause import figure, suggest_limit, titled
from tritonobs.extensions.triage.check import LATE, check
from tritonobs.extensions.triage.signs import drain_steps, draining, explain_errors
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause, Evidence
from tritonobs.timings.promql import labels_of

_FACTOR = 1.5
_BUSY = 0.5
_ABOVE_USUAL = 1.2


@check(order=170, explains=LATE | {"batch_delay"})
def judge(view: View) -> Iterator[Cause]:
    """Models that clients call, with much more traffic that is served worse."""
    for case in view.cases:
        if case.before is None:
            continue
        now = view.request_rate(case.subject)
        before = view.request_rate((case.before.model, case.before.version), before=True)
        if now < max(_BUSY, _FACTOR * before, _ABOVE_USUAL * _usual(case)):
            continue
        failing = view.failing(case.now.model) and not explain_errors(view, case.subject)
        if not case.slower and not failing:
            continue
        labels = labels_of(case.subject)
        yield Cause(
            place=case.subject,
            sentence=(
                f"{titled(case.subject)} gets {figure(now)} requests/s, was {figure(before)}, and "
                f"{'takes longer' if case.slower else 'more of them fail'}{draining(view, labels, before)}"
            ),
            confidence=0.8 if now > 2 * before else 0.65,
            evidence=(
                Evidence("requests", before, now, "per_second"),
                _worse(view, case),
            ),
            next_steps=(
                *drain_steps(view, labels, before),
                "find out whether it is intended: a campaign, a new client, retries of clients that time out",
                f"set a limit that it can serve: {suggest_limit(case.now.model)}",
            ),
            trend=("requests", labels_of(case.subject)),
            asked=("requests",),
        )


def _worse(view: View, case: Case) -> Evidence:
    if case.slower:
        before = case.before.request.mean if case.before else None
        return Evidence("mean of a request", before, case.now.request.mean, "seconds")
    now, before = view.error_ratio(case.subject), view.error_ratio(case.subject, before=True)
    return Evidence(f"error ratio of {case.now.model}", before, now, "ratio")


def _usual(case: Case) -> float:
    """The rate in the busier parts of the baseline: a rush that comes every few minutes is not a surge."""
    return (
        case.usual.requests((case.before.model, case.before.version) if case.before else case.subject) or 0.0
    )
