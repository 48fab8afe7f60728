"""From alerts to one robot's messages: its language, template and mentions, links and evidence."""

from __future__ import annotations

import logging
import zoneinfo
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from tritonobs import names
from tritonobs.delivery.digest import DigestPage, Style, compose
from tritonobs.delivery.payload import Alert
from tritonobs.delivery.view import AlertView, Reader, bare_view, view
from tritonobs.delivery.words import LANGUAGES
from tritonobs.plan.fleet import Plan
from tritonobs.plan.notify import Robot

if TYPE_CHECKING:
    from jinja2 import Template

Shares = Mapping[tuple[str, str, str], str]
_ANY_SIZE = 2**31
_log = logging.getLogger(__name__)


def _now() -> datetime:
    return datetime.now(timezone.utc)


@dataclass(frozen=True, slots=True, kw_only=True)
class Composer:
    """Writes the messages of one fleet file; `unshown` is called for alerts shown by name only."""

    plan: Plan
    templates: Mapping[str, Template]
    now: Callable[[], datetime] = _now
    unshown: Callable[[Robot], None] = lambda _: None

    def models(self, alerts: Iterable[Alert]) -> list[str]:
        """The models whose stages are worth asking for."""
        return [alert.labels.get(names.MODEL, "") for alert in alerts if alert.firing]

    def write(
        self, alerts: Sequence[Alert], shares: Shares, robot: Robot, most_bytes: int
    ) -> tuple[DigestPage, ...]:
        """The messages that name every alert, each of at most `most_bytes`.

        Of an alert that cannot be shown the name is written; the others are not affected.
        """
        words = LANGUAGES[robot.language]
        reader = Reader(
            words=words,
            zone=zoneinfo.ZoneInfo(self.plan.notify.timezone),
            now=self.now(),
            alertmanager_url=self.plan.addresses.alertmanager_link,
            manual_url=f"{self.plan.addresses.serve_link}/runbooks",
            chinese=robot.language == "zh",
            mentions=robot.mentions,
            replica_label=self.plan.rules.replica_label,
        )
        fleet, cluster = self.plan.fleet, self.plan.cluster
        style = Style(
            words=words,
            place=fleet if cluster in {"", "default", fleet} else f"{fleet} / {cluster}",
            template=self.templates.get(robot.name),
            keyword=robot.keyword,
        )
        views = [self._view(alert, shares, reader, robot) for alert in alerts]
        try:
            return compose(views, style, most_bytes)
        except Exception:  # noqa: BLE001 (what alerts hold comes from outside)
            _log.exception("a digest for robot %s could not be made; each alert is tried alone", robot.name)
        return compose(self._showable(alerts, views, style, reader, robot), style, most_bytes)

    def _view(self, alert: Alert, shares: Shares, reader: Reader, robot: Robot) -> AlertView:
        try:
            if not alert.damaged:
                return view(alert, reader, _evidence(alert, shares, reader, self.plan.rules.cluster_label))
        except Exception as error:  # noqa: BLE001 (as above)
            _log.warning("an alert cannot be shown in full: %s: %s", type(error).__name__, error)
        self.unshown(robot)
        return bare_view(alert, reader)

    def _showable(
        self,
        alerts: Sequence[Alert],
        views: Sequence[AlertView],
        style: Style,
        reader: Reader,
        robot: Robot,
    ) -> list[AlertView]:
        """The views, with a bare one in place of each that cannot be shown even alone."""
        shown = []
        for alert, one in zip(alerts, views, strict=True):
            if _shows(one, style):
                shown.append(one)
            else:
                self.unshown(robot)
                shown.append(bare_view(alert, reader))
        return shown


def _shows(alert: AlertView, style: Style) -> bool:
    try:
        compose([alert], style, _ANY_SIZE)
    except Exception:  # noqa: BLE001 (as above)
        return False
    return True


def _evidence(alert: Alert, shares: Shares, reader: Reader, cluster_label: str) -> str:
    """The stages of the alert's own version, or of the only version there is evidence for."""
    cluster, model, version = (
        alert.labels.get(label, "") for label in (cluster_label, names.MODEL, names.VERSION)
    )
    # Where a Prometheus names its cluster to others only, its own series do not have it.
    near = cluster if any(key[0] == cluster for key in shares) else ""
    phase = shares.get((near, model, version), "")
    if not phase and not version:
        found = [text for key, text in shares.items() if key[:2] == (near, model)]
        phase = found[0] if len(found) == 1 else ""
    return reader.words.evidence.format(phase) if phase else ""
