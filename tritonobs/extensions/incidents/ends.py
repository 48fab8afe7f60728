"""Alerts that are over although no call says so: Alertmanager reports no end of what it mutes.

It lists every alert that it has, silenced and inhibited ones too, so one that it listed and lists no more is
over. An alert that it never listed is left alone: another Alertmanager may have it. So is one that it lost in
a restart, until Prometheus would have sent it again. All but `ask` is pure: the time is given.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Final

from tritonobs.clients.alertmanager import AlertmanagerClient, ManagedAlert
from tritonobs.delivery.payload import Alert
from tritonobs.errors import BadAnswer
from tritonobs.units import parse_moment

TOLD_SECONDS: Final = 360.0
"""An end that is to be reported is, by then: within five minutes (`render/routing.py`)."""
RESTARTED_SECONDS: Final = 900.0
"""By then Prometheus has sent a restarted Alertmanager all that fires: at every evaluation, which is every
two minutes at the latest. An alert that was to be kept for longer without news is waited for as long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Everything that Alertmanager has. `run` names its process: one that was restarted is another one."""

    run: str
    alerts: tuple[ManagedAlert, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """An alert as it was listed last. `gone` is when it was first missing, None while it is listed."""

    run: str
    muted: bool
    lasts_seconds: float
    """How long Alertmanager keeps it without further news: Prometheus sends it again before that."""
    gone: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What was listed of alerts that fire as far as is known; `Listing()` is before the first answer."""

    run: str = ""
    since: float = 0.0
    """When this run was first read."""
    at: float = 0.0
    seen: Mapping[str, _Seen] = field(default_factory=dict)

    def read(self, answer: Answer, now: float, firing: Collection[str]) -> Listing:
        """After another answer; `firing` are the fingerprints of alerts of which no end was heard."""
        listed = {one.fingerprint: one for one in answer.alerts}
        seen = {}
        for key in firing:
            one, before = listed.get(key), self.seen.get(key)
            if one is not None:
                muted = bool(one.silenced_by or one.inhibited_by)
                seen[key] = _Seen(run=answer.run, muted=muted, lasts_seconds=_until(one.ends_at, now))
            elif before is not None:
                seen[key] = before if before.gone is not None else replace(before, gone=now)
        since = self.since if answer.run == self.run else now
        return Listing(run=answer.run, since=since, at=now, seen=seen)

    @property
    def over(self) -> Mapping[str, float]:
        """The alerts that are over, by fingerprint: since when they are missing."""
        gone = ((key, one, one.gone) for key, one in self.seen.items() if one.gone is not None)
        return {key: since for key, one, since in gone if self._is_over(one, since)}

    def _is_over(self, one: _Seen, since: float) -> bool:
        if one.run != self.run and self.at - self.since < max(RESTARTED_SECONDS, one.lasts_seconds):
            return False
        # Two answers without it, and what Alertmanager is to report is left to it.
        return self.at > since if one.muted else self.at - since >= TOLD_SECONDS


def ask(alertmanager: AlertmanagerClient) -> Answer:
    """What it lists now.

    Raises:
        ClientError: it did not answer, is not ready, or was restarted meanwhile.
    """
    before = alertmanager.up_since()
    alerts = alertmanager.alerts()
    if not alertmanager.ready() or alertmanager.up_since() != before:
        raise BadAnswer(f"{alertmanager.address} is not ready, or another one responds each time")
    return Answer(run=f"{alertmanager.address} {before}", alerts=alerts)


def firing(one: ManagedAlert) -> Alert:
    """An alert that Alertmanager lists, as it would report its beginning."""
    return _alert(one.labels, one.annotations, one.fingerprint, startsAt=one.starts_at)


def ended(alert: Alert, at: float) -> Alert:
    """An alert that fired, as Alertmanager would report its end."""
    return _alert(
        alert.labels,
        alert.annotations,
        alert.fingerprint,
        startsAt=alert.starts_at.isoformat() if alert.starts_at else "",
        endsAt=datetime.fromtimestamp(at, timezone.utc).isoformat(),
    )


def _alert(
    labels: Mapping[str, str], annotations: Mapping[str, str], fingerprint: str, **moments: str
) -> Alert:
    return Alert.model_validate(
        {
            "status": "resolved" if "endsAt" in moments else "firing",
            "labels": dict(labels),
            "annotations": dict(annotations),
            "fingerprint": fingerprint,
            **moments,
        }
    )


def _until(moment: str, now: float) -> float:
    try:
        return max(0.0, parse_moment(moment).timestamp() - now)
    except ValueError:
        return 0.0
