"""Watches a drill: the promised alerts in Prometheus, and triage's verdict."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tritonobs.errors import ClientError, StackError
from tritonobs.timings.promql import Span
from tritonobs.triage.judge import triage
from tritonobs.triage.snapshot import take_snapshot

if TYPE_CHECKING:
    from tritonobs.lab.drill.drill import Alert, Drill
    from tritonobs.lab.drill.rig import Rig

_JUDGE_SECONDS = 5.0
_SHORTEST_SECONDS = 20.0
_LAG_SECONDS = 5.0
_FIRING = "firing"


class Watch:
    """Looks for what one drill promises. `cause` and `sentence` are those of the last verdict."""

    def __init__(self, rig: Rig, drill: Drill) -> None:
        self._rig, self.drill = rig, drill
        self._judged_at = 0.0
        self.cause, self.sentence = "", "triage was not asked"
        self.named = False

    def require_rules(self) -> None:
        """Make sure that Prometheus has the rules of the promised alerts.

        Raises:
            StackError: it has not; the text names them.
            ClientError: Prometheus does not answer.
        """
        loaded = {rule.name for rule in self._rig.prometheus.rules()}
        missing = sorted({alert.name for alert in self.drill.alerts} - loaded)
        if missing:
            raise StackError(f"Prometheus has loaded no rule {', '.join(missing)}")

    def firing(self) -> tuple[Alert, ...]:
        """The promised alerts that fire now."""
        now = [alert for alert in self._rig.prometheus.alerts() if alert.state == _FIRING]
        return tuple(
            wanted
            for wanted in self.drill.alerts
            if any(each.name == wanted.name and wanted.labels.items() <= each.labels.items() for each in now)
        )

    def judge(self, caused: float, baseline: Span) -> bool:
        """Let triage judge what happened since `caused`, now and then; whether it did."""
        now = time.time()
        incident = Span(start=caused + _LAG_SECONDS, end=now)
        if now - self._judged_at < _JUDGE_SECONDS or incident.seconds < _SHORTEST_SECONDS:
            return False
        self._judged_at = now
        try:
            verdict = triage(take_snapshot(self._rig.sources, incident=incident, baseline=baseline))
        except ClientError as failure:
            self.cause, self.sentence, self.named = "?", str(failure), False
            return True
        first = next(iter(verdict.causes), None)
        self.sentence = verdict.sentence
        self.cause = first.check if first else "?" if verdict.status == "blind" else ""
        right = self.cause == self.drill.check
        self.named = right and (not self.drill.model or first is None or first.model == self.drill.model)
        return True
