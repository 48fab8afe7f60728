"""An error budget burns, and nothing else was found that would explain it."""

from __future__ import annotations

from collections.abc import Iterator

from tritonobs.extensions.triage.cause import figure, stages_command, titled, triage_command
from tritonobs.extensions.triage.check import check
from tritonobs.extensions.triage.signs import burning_alerts
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause, Evidence

# It says that something is wrong, not what, so nearly every other finding takes precedence.
_CONFIDENCE = 0.5


@check(order=270)
def judge(view: View) -> Iterator[Cause]:
    """Objectives whose alert fires and which the requests of this window missed."""
    for burn in burning_alerts(view):
        if not burn.missed:
            continue
        subject = (burn.model, burn.version)
        yield Cause(
            place=(*subject, burn.slo),
            sentence=(
                f"{titled(subject)} misses its objective {burn.slo}: "
                f"the error budget burns {figure(burn.rate)} times as fast as allowed"
            ),
            confidence=_CONFIDENCE,
            evidence=(
                Evidence(f"burn rate of {burn.slo} in this window", None, burn.rate),
                Evidence(f"requests that missed {burn.slo}", None, burn.bad),
            ),
            next_steps=(
                f"see since when the objective is missed: {triage_command(burn.model, '1h')}",
                f"see where the time goes: {stages_command(burn.model)}",
            ),
            asked=("slo_bad", "slo_valid", "budgets"),
            since=burn.since,
        )
