"""From alerts to one robot's messages: its language, template and people, the fleet's links and evidence."""

from __future__ import annotations

import zoneinfo
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from tritonobs import names
from tritonobs.serve.digest import DigestPage, Style, compose
from tritonobs.serve.view import Reader, view
from tritonobs.serve.words import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from jinja2 import Template

    from tritonobs.plan.fleet import Plan
    from tritonobs.plan.notify import Robot
    from tritonobs.serve.payload import Alert

    Shares = Mapping[tuple[str, str], str]


def _now() -> datetime:
    return datetime.now(timezone.utc)


@dataclass(frozen=True, slots=True, kw_only=True)
class Composer:
    """Writes the messages of one fleet file."""

    plan: Plan
    templates: Mapping[str, Template]
    now: Callable[[], datetime] = _now

    def models(self, alerts: Iterable[Alert]) -> list[str]:
        """The models whose stages are worth asking for."""
        return [alert.labels.get(names.MODEL, "") for alert in alerts if alert.firing]

    def write(
        self, alerts: Sequence[Alert], shares: Shares, robot: Robot, most_bytes: int
    ) -> tuple[DigestPage, ...]:
        """The messages that name every alert, each of at most `most_bytes`."""
        words = LANGUAGES[robot.language]
        reader = Reader(
            words=words,
            zone=zoneinfo.ZoneInfo(self.plan.notify.timezone),
            now=self.now(),
            alertmanager_url=self.plan.addresses.alertmanager_link,
            chinese=robot.language == "zh",
            mentions=robot.mentions,
        )
        fleet, cluster = self.plan.fleet, self.plan.cluster
        style = Style(
            words=words,
            place=fleet if cluster in {"", "default", fleet} else f"{fleet} / {cluster}",
            template=self.templates.get(robot.name),
            keyword=robot.keyword,
        )
        views = [view(alert, reader, _evidence(alert, shares, reader)) for alert in alerts]
        return compose(views, style, most_bytes)


def _evidence(alert: Alert, shares: Shares, reader: Reader) -> str:
    """The stages of the alert's own version, or of the only version there is evidence for."""
    model, version = alert.labels.get(names.MODEL, ""), alert.labels.get(names.VERSION, "")
    told = shares.get((model, version), "")
    if not told and not version:
        found = [text for (other, _), text in shares.items() if other == model]
        told = found[0] if len(found) == 1 else ""
    return reader.words.evidence.format(told) if told else ""
