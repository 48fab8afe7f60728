"""A model gets many more requests than before, and takes longer or fails for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs import names
from tritonobs.live.cause import Cause, Evidence
from tritonobs.live.wording import titled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.live.case import Case
    from tritonobs.live.view import View

ID = "traffic_surge"
_FACTOR = 1.5
_BUSY = 0.5
_ABOVE_USUAL = 1.2


def judge(view: View) -> Iterator[Cause]:
    """Entrances of the fleet with much more traffic that is served worse."""
    for case in view.cases:
        now, before = case.now.request.rate, case.before.request.rate if case.before else None
        if before is None or now < max(_BUSY, _FACTOR * before, _ABOVE_USUAL * _usual(case)):
            continue
        if not case.slower and not view.failing(case.now.model):
            continue
        yield Cause(
            check=ID,
            place=case.subject,
            sentence=(
                f"{titled(case.subject)} gets {now:.3g} requests/s, was {before:.3g}, and serves them worse"
            ),
            confidence=0.8 if now > 2 * before else 0.65,
            evidence=(
                Evidence(what="requests", before=before, now=now, unit="per_second"),
                Evidence(
                    what="mean of a request",
                    before=case.before.request.mean if case.before else None,
                    now=case.now.request.mean,
                    unit="seconds",
                ),
            ),
            next_steps=(
                "find out whether it is wanted: a campaign, a new client, retries of clients that time out",
                f"set a limit that it can serve: tritonobs limits suggest --model {case.now.model}",
            ),
            trend=("requests", ((names.MODEL, case.now.model), (names.VERSION, case.now.version))),
            asked=("requests",),
        )


def _usual(case: Case) -> float:
    """What it got in the busier parts of the baseline: a rush that comes every few minutes is no surge."""
    return (
        case.usual.requests((case.before.model, case.before.version) if case.before else case.subject) or 0.0
    )
