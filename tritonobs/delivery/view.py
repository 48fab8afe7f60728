"""An alert as a message shows it: every text plain, every link checked, in the reader's language.

Views of alerts name the people that a message mentions.
"""
# ruff: noqa: RUF001 (Chinese has punctuation of its own)

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from decimal import Decimal
from typing import Final
from urllib.parse import quote, urlunsplit

from tritonobs import names
from tritonobs.chats.chat import Link, People
from tritonobs.delivery.payload import Alert, State
from tritonobs.outside import web_parts
from tritonobs.plan.notify import Mention
from tritonobs.units import format_duration

ALERTNAME: Final = "alertname"
SEVERITY: Final = "severity"
_RANKS = {"critical": 0, "warning": 1, "info": 2, "none": 3}
_ICONS = {"critical": "🔴", "warning": "🟠", "info": "🔵"}
_RESOLVED_ICON = "✅"
_LONGEST_NAME, _LONGEST_TEXT = 120, 400
_OTHER_SUBJECTS = ("instance", names.ROBOT, "job")
# A long label would make the link too long to be shown. A silence without it covers more alerts.
_LONGEST_MATCHER = 200

# Bidirectional overrides and isolates could show a text in another order than it is read in.
_UNSEEN_CATEGORIES = frozenset(("Cc", "Cf", "Co", "Cs", "Zl", "Zp"))
_JOINERS = "\u200c\u200d\ufe0f"
# Look-alikes of what most chats take for markup, because not every one of them documents a way to escape.
_LOOKS = str.maketrans(
    {
        "*": "\N{ASTERISK OPERATOR}",
        "`": "\N{MODIFIER LETTER GRAVE ACCENT}",
        "<": "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}",
        ">": "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}",
        "|": "\N{BROKEN BAR}",
        "~": "\N{TILDE OPERATOR}",
        "\\": "\N{REVERSE SOLIDUS OPERATOR}",
    }
)
_BLOCK = re.compile(r"^(#+(?= |$)|[-=_+]{3,}|[-+](?= |$)|[0-9]+[.)](?= |$))")
_STARTS = str.maketrans(
    {
        "#": "\N{FULLWIDTH NUMBER SIGN}",
        "-": "\N{NON-BREAKING HYPHEN}",
        "=": "\N{MODIFIER LETTER SHORT EQUALS SIGN}",
        "_": "\N{FULLWIDTH LOW LINE}",
        "+": "\N{FULLWIDTH PLUS SIGN}",
        ".": "\N{ONE DOT LEADER}",
        ")": "\N{FULLWIDTH RIGHT PARENTHESIS}",
    }
)
# With %, because an address may be encoded already. Without brackets, which would end the link.
_URL_SAFE = "%:/?#@!$&*+,;=~-._"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertView:
    """What a template may show of an alert. All texts are safe inside a line of Markdown.

    `full` says whether there is room for everything; when not, name, subject and time are enough.
    """

    state: State
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
    """The reader: words, time zone, and the addresses for silences and our runbooks."""

    words: Words
    zone: tzinfo
    now: datetime
    alertmanager_url: str
    manual_url: str = ""
    chinese: bool = False
    mentions: tuple[Mention, ...] = ()
    replica_label: str = names.REPLICA
    longest_link: int = 1500


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
        subject=_subject(alert.labels, reader),
        severity=plain(reader.words.severities.get(severity, severity), _LONGEST_NAME),
        # The description of a resolved alert has the numbers of its last firing moment.
        text=_text(alert, reader) if alert.firing else "",
        time=_time(alert, reader),
        links=_links(alert, reader),
        evidence=evidence if alert.firing else "",
        mentions=matching(reader.mentions, alert.labels) if alert.firing else (),
        labels={
            plain(key, _LONGEST_NAME): plain(value, _LONGEST_NAME) for key, value in alert.labels.items()
        },
    )


def escaped(one: AlertView, escape: Callable[[str], str]) -> AlertView:
    """The view with every text of it as one chat takes it."""
    return replace(
        one,
        name=escape(one.name),
        subject=escape(one.subject),
        severity=escape(one.severity),
        text=escape(one.text),
        time=escape(one.time),
        evidence=escape(one.evidence),
        labels={escape(key): escape(value) for key, value in one.labels.items()},
    )


def bare_view(alert: Alert, reader: Reader) -> AlertView:
    """The parts of a damaged alert that can always be shown: its name, its subject, that it is damaged."""
    return AlertView(
        state=alert.state,
        rank=(not alert.firing, _RANKS.get(alert.labels.get(SEVERITY, ""), 1), 0.0, ""),
        firing=alert.firing,
        icon=_ICONS["warning"] if alert.firing else _RESOLVED_ICON,
        name=plain(alert.labels.get(ALERTNAME, ""), _LONGEST_NAME) or "?",
        subject=_subject(alert.labels, reader),
        severity="",
        text=reader.words.unshown,
        time="",
    )


def _subject(labels: Mapping[str, str], reader: Reader) -> str:
    """Model, version, stage; or, without a model, the label that says what it is about."""
    words = reader.words
    parts = [
        plain(labels.get(names.MODEL, ""), _LONGEST_NAME),
        words.version.format(version) if (version := plain(labels.get(names.VERSION, ""), 40)) else "",
        words.stage.format(stage) if (stage := plain(labels.get(names.STAGE, ""), _LONGEST_NAME)) else "",
        plain(labels.get(names.SLO, ""), _LONGEST_NAME),
    ]
    if not any(parts):
        others = dict.fromkeys((reader.replica_label, *_OTHER_SUBJECTS))
        parts = [plain(labels[key], _LONGEST_NAME) for key in others if labels.get(key)][:2]
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
    # The clocks of two machines differ: an alert may begin in our future.
    lasted = format_duration(Decimal(max(0, round((ended - began).total_seconds()))))
    zone = f" {began.astimezone(reader.zone):%Z}"
    if alert.firing:
        return reader.words.since.format(_clock(began, reader) + zone, lasted)
    return reader.words.lasted.format(_clock(began, reader), _clock(ended, reader) + zone, lasted)


def _clock(moment: datetime, reader: Reader) -> str:
    """The time of day; the date too unless it is today's."""
    local, today = moment.astimezone(reader.zone), reader.now.astimezone(reader.zone).date()
    return f"{local:%H:%M:%S}" if local.date() == today else f"{local:%m-%d %H:%M:%S}"


def _links(alert: Alert, reader: Reader) -> tuple[Link, ...]:
    words, annotations = reader.words, alert.annotations
    board = annotations.get("dashboard_url", "") or alert.generator_url
    wanted = [
        (words.board, web_address(board)),
        (words.runbook, web_address(_runbook(annotations.get("runbook_url", ""), reader))),
    ]
    if alert.firing:
        wanted.append((words.silence, _silence(alert.labels, reader.alertmanager_url)))
    return tuple(Link(word=word, url=url) for word, url in wanted if url and len(url) <= reader.longest_link)


def _runbook(url: str, reader: Reader) -> str:
    """The page; of our own, the Chinese part first where the reader's language is."""
    return f"{url}?lang=zh" if reader.chinese and url.startswith(f"{reader.manual_url}/") else url


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


def matching(rules: Iterable[Mention], labels: Mapping[str, str]) -> tuple[Mention, ...]:
    """The rules that mention people for an alert with these labels."""
    return tuple(
        rule for rule in rules if all(labels.get(label, "") in values for label, values in rule.match)
    )


def called(alerts: Iterable[AlertView]) -> People:
    """The people to mention for these alerts, each once."""
    rules = [rule for alert in alerts for rule in alert.mentions]
    return People(
        mobiles=tuple(dict.fromkeys(mobile for rule in rules for mobile in rule.mobiles)),
        user_ids=tuple(dict.fromkeys(user for rule in rules for user in rule.user_ids)),
        everyone=any(rule.everyone for rule in rules),
    )


def plain(text: str, most: int) -> str:
    """At most `most` characters on one line, without markup, links, control or direction characters."""
    seen = "".join(map(_seen, text[: most * 4].translate(_LOOKS)))
    line = _BLOCK.sub(_inline, " ".join(seen.split()).replace("](", "] ("))
    cut = len(line) > most or len(text) > most * 4
    return line[: most - 1].rstrip() + "…" if cut else line


def _seen(character: str) -> str:
    if character in _JOINERS or character.isspace():
        return character if character in _JOINERS else " "
    if unicodedata.category(character) in _UNSEEN_CATEGORIES:
        return f"\N{REVERSE SOLIDUS OPERATOR}u{ord(character):04x}"
    return character


def _inline(start: re.Match[str]) -> str:
    """What would begin a heading, a list or a rule at the start of a line, as text that looks like it."""
    return start[0].translate(_STARTS)


def web_address(text: str) -> str:
    """The address, encoded so that it cannot end the link around it; "" if it is not http or https."""
    # JSON can hold half of a character, which has no bytes of its own.
    parts = web_parts(quote(text.strip(), safe=_URL_SAFE + "[]", errors="surrogatepass"))
    if parts is None:
        return ""
    # Brackets of a host are those of IPv6: no address is usable with others.
    return f"{parts.scheme}://{parts.netloc}{quote(urlunsplit(('', '', *parts[2:])), safe=_URL_SAFE)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """One language's words; `{}` is filled in where a phrase has it."""

    firing: str
    resolved: str
    severities: Mapping[str, str]
    version: str
    stage: str
    since: str
    lasted: str
    board: str
    runbook: str
    silence: str
    evidence: str
    unshown: str


LANGUAGES: Final[Mapping[str, Words]] = {
    "en": Words(
        firing="{} firing",
        resolved="{} resolved",
        severities={"critical": "critical", "warning": "warning", "info": "info"},
        version="version {}",
        stage="stage {}",
        since="since {} ({})",
        lasted="{} to {} ({})",
        board="board",
        runbook="runbook",
        silence="silence",
        evidence="Latency breakdown: {}",
        unshown="(This alert is damaged and cannot be shown in full.)",
    ),
    "zh": Words(
        firing="{} 条告警触发中",
        resolved="{} 条已恢复",
        severities={"critical": "严重", "warning": "警告", "info": "提示"},
        version="版本 {}",
        stage="阶段 {}",
        since="自 {} 起（{}）",
        lasted="{} 至 {}（{}）",
        board="看板",
        runbook="处置手册",
        silence="静默",
        evidence="耗时分布：{}",
        unshown="（该告警数据已损坏，无法完整显示。）",
    ),
}
