"""An alert as a message shows it: every text plain, every link checked, in the reader's language."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from tritonobs import names
from tritonobs.serve.mentions import matching
from tritonobs.serve.plain import plain, web_address
from tritonobs.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, tzinfo

    from tritonobs.plan.notify import Mention
    from tritonobs.serve.payload import Alert
    from tritonobs.serve.words import Words

ALERTNAME: Final = "alertname"
SEVERITY: Final = "severity"
_RANKS = {"critical": 0, "warning": 1, "info": 2, "none": 3}
_ICONS = {"critical": "🔴", "warning": "🟠", "info": "🔵"}
_RESOLVED_ICON = "✅"
_LONGEST_NAME, _LONGEST_TEXT = 120, 400
_LONGEST_LINK = 1500
_OTHER_SUBJECTS = (names.REPLICA, "instance", names.ROBOT, "job")
_LONGEST_MATCHER = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A word and where it leads."""

    word: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertView:
    """What a template may show of an alert. All texts are safe inside a line of Markdown.

    `full` says whether there is room for everything; when not, name, subject and time are enough.
    """

    state: tuple[str, str, str]
    rank: tuple[bool, int, float, str]
    firing: bool
    icon: str
    name: str
    subject: str
    severity: str
    text: str
    time: str
    links: tuple[Link, ...] = ()
    evidence: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    mentions: tuple[Mention, ...] = ()
    full: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """For whom: the words, the time zone, and where silences are made."""

    words: Words
    zone: tzinfo
    now: datetime
    alertmanager_url: str
    chinese: bool = False
    mentions: tuple[Mention, ...] = ()


def view(alert: Alert, reader: Reader, evidence: str = "") -> AlertView:
    """The alert for this reader."""
    severity = alert.labels.get(SEVERITY, "")
    began = alert.starts_at.timestamp() if alert.starts_at else 0.0
    return AlertView(
        state=alert.state,
        rank=(not alert.firing, _RANKS.get(severity, 1), began, alert.labels.get(ALERTNAME, "")),
        firing=alert.firing,
        icon=_ICONS.get(severity, "🟠") if alert.firing else _RESOLVED_ICON,
        name=plain(alert.labels.get(ALERTNAME, ""), _LONGEST_NAME) or "?",
        subject=_subject(alert.labels, reader.words),
        severity=plain(reader.words.severities.get(severity, severity), _LONGEST_NAME),
        text=_text(alert, reader) if alert.firing else "",
        time=_time(alert, reader),
        links=_links(alert, reader),
        evidence=evidence if alert.firing else "",
        mentions=matching(reader.mentions, alert.labels) if alert.firing else (),
        labels={
            plain(key, _LONGEST_NAME): plain(value, _LONGEST_NAME) for key, value in alert.labels.items()
        },
    )


def _subject(labels: Mapping[str, str], words: Words) -> str:
    """Model, version, stage; or, for what is no model's, the label that says whose it is."""
    parts = [
        plain(labels.get(names.MODEL, ""), _LONGEST_NAME),
        words.version.format(version) if (version := plain(labels.get(names.VERSION, ""), 40)) else "",
        words.stage.format(stage) if (stage := plain(labels.get(names.STAGE, ""), _LONGEST_NAME)) else "",
        plain(labels.get(names.SLO, ""), _LONGEST_NAME),
    ]
    if not any(parts):
        parts = [plain(labels[key], _LONGEST_NAME) for key in _OTHER_SUBJECTS if labels.get(key)][:2]
    return " ".join(part for part in parts if part)


def _text(alert: Alert, reader: Reader) -> str:
    """The description, or the summary; in Chinese where the rules have it."""
    keys = ["description", "summary", "message"]
    if reader.chinese:
        keys = [f"{key}_zh" for key in keys] + keys
    return next((plain(text, _LONGEST_TEXT) for key in keys if (text := alert.annotations.get(key, ""))), "")


def _time(alert: Alert, reader: Reader) -> str:
    if not alert.starts_at:
        return ""
    began = alert.starts_at
    ended = reader.now if alert.firing else alert.ends_at or reader.now
    lasted = format_duration(Decimal(max(0, round((ended - began).total_seconds()))))
    if alert.firing:
        return reader.words.since.format(_clock(began, reader), lasted)
    return reader.words.lasted.format(_clock(began, reader), _clock(ended, reader), lasted)


def _clock(moment: datetime, reader: Reader) -> str:
    """The time of day; the date too unless it is today's."""
    local, today = moment.astimezone(reader.zone), reader.now.astimezone(reader.zone).date()
    return f"{local:%H:%M:%S}" if local.date() == today else f"{local:%m-%d %H:%M:%S}"


def _links(alert: Alert, reader: Reader) -> tuple[Link, ...]:
    words, annotations = reader.words, alert.annotations
    board = annotations.get("dashboard_url", "") or alert.generator_url
    wanted = [
        (words.board, web_address(board)),
        (words.runbook, web_address(annotations.get("runbook_url", ""))),
    ]
    if alert.firing:
        wanted.append((words.silence, _silence(alert.labels, reader.alertmanager_url)))
    return tuple(Link(word=word, url=url) for word, url in wanted if url and len(url) <= _LONGEST_LINK)


def _silence(labels: Mapping[str, str], alertmanager_url: str) -> str:
    """Alertmanager's page for a new silence, its matchers filled in with every label."""
    matchers = ",".join(
        f"{key}={json.dumps(value, ensure_ascii=False)}"
        for key, value in sorted(labels.items())
        if len(value) <= _LONGEST_MATCHER
    )
    return web_address(
        f"{alertmanager_url.rstrip('/')}/#/silences/new?filter={quote('{' + matchers + '}', safe='')}"
    )
