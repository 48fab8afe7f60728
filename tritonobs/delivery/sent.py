"""Which firing alerts a chat was sent: a resolved message without the firing one before it helps no one."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tritonobs.delivery.payload import Alert

_MOST = 50_000
_CLOCKS_DIFFER = timedelta(minutes=1)
"""The start of an alert is Prometheus' time, `since` is ours."""


class Sent:
    """In memory only: alerts that began before `since` may have been sent, which is not known.

    An alert is known by its labels, not by its start: a restarted Alertmanager may give another one.
    """

    def __init__(self, *, since: datetime | None = None, most: int = _MOST) -> None:
        self._most = most
        self._since = since or datetime.now(timezone.utc)
        self._firing: dict[str, datetime | None] = {}

    def add(self, alert: Alert) -> None:
        """An alert was sent; once it is resolved, it is forgotten."""
        key = alert.fingerprint
        # Also where it fires: it moves to the end, because the first one is the next to be forgotten.
        self._firing.pop(key, None)
        if not alert.firing:
            return
        self._firing[key] = alert.starts_at
        if len(self._firing) > self._most:
            # The forgotten alert was sent, so from now on everything as old may have been sent.
            began = self._firing.pop(next(iter(self._firing)))
            self._since = max(self._since, began or self._since)

    def add_unsure(self, alert: Alert) -> None:
        """An alert may have been sent: if it fires, it counts as sent; if it is resolved, it does not."""
        if alert.firing:
            self.add(alert)

    def has(self, alert: Alert) -> bool:
        """Whether it was, or may have been, sent while firing, and not sent as resolved."""
        return alert.fingerprint in self._firing

    def may_have(self, alert: Alert) -> bool:
        """Whether it began before this record did."""
        return alert.starts_at is None or alert.starts_at <= self._since + _CLOCKS_DIFFER
