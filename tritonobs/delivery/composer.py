"""Alerts → one robot's messages: every alert is named, the worst first, in as few as its chat allows.

A robot has its chat, its language, its template and mentions, its links and evidence. The text is composed
once, for all chats; the markup and the escapes are the chat's.
"""

from __future__ import annotations

import bisect
import logging
import zoneinfo
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone

from jinja2 import Template

from tritonobs import names
from tritonobs.chats.chat import Digest, Link, Message, RobotChat
from tritonobs.chats.registry import robot_chat
from tritonobs.delivery.payload import Alert, State
from tritonobs.delivery.template import fill, house_template
from tritonobs.delivery.view import (
    LANGUAGES,
    AlertView,
    Reader,
    Words,
    bare_view,
    called,
    escaped,
    plain,
    view,
    web_address,
)
from tritonobs.plan.fleet import Plan
from tritonobs.plan.notify import Robot

Shares = Mapping[tuple[str, str, str], str]
_ANY_SIZE = 2**31
_log = logging.getLogger(__name__)

_MOST_TITLE = 120
_MOST_LINES, _LONGEST_LINE = 6, 300


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
        self,
        alerts: Sequence[Alert],
        shares: Shares,
        robot: Robot,
        most_bytes: int,
        above: Sequence[Said] = (),
    ) -> tuple[DigestPage, ...]:
        """The messages that name every alert, each of at most `most_bytes`; the first begins with `above`.

        An alert that cannot be shown is written by its name; the others are not affected.
        """
        words, chat = LANGUAGES[robot.language], robot_chat(robot.chat)
        reader = Reader(
            words=words,
            zone=zoneinfo.ZoneInfo(self.plan.notify.timezone),
            now=self.now(),
            alertmanager_url=self.plan.addresses.alertmanager_link,
            manual_url=f"{self.plan.addresses.serve_link}/runbooks",
            chinese=robot.language == "zh",
            mentions=robot.mentions,
            replica_label=self.plan.rules.replica_label,
            longest_link=chat.longest_link,
        )
        fleet, cluster = self.plan.fleet, self.plan.cluster
        style = Style(
            chat=chat,
            words=words,
            place=chat.escape(fleet if cluster in {"", "default", fleet} else f"{fleet} / {cluster}"),
            template=self.templates.get(robot.name),
            keyword=robot.keyword,
            above=tuple(line for said in above[:_MOST_LINES] if (line := _line(said, chat)).text),
        )
        views = [self._view(alert, shares, reader, robot) for alert in alerts]
        try:
            return compose(views, style, most_bytes)
        except Exception:  # noqa: BLE001 (what alerts hold comes from outside)
            _log.exception("a digest for robot %s could not be made; each alert is tried alone", robot.name)
        return compose(self._showable(alerts, views, style, reader, robot), style, most_bytes)

    def _view(self, alert: Alert, shares: Shares, reader: Reader, robot: Robot) -> AlertView:
        escape = robot_chat(robot.chat).escape
        try:
            if not alert.damaged:
                label = self.plan.rules.cluster_label
                return escaped(view(alert, reader, _evidence(alert, shares, reader, label)), escape)
        except Exception as error:  # noqa: BLE001 (as above)
            _log.warning("an alert cannot be shown in full: %s: %s", type(error).__name__, error)
        self.unshown(robot)
        return escaped(bare_view(alert, reader), escape)

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
                shown.append(escaped(bare_view(alert, reader), style.chat.escape))
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


@dataclass(frozen=True, slots=True)
class Said:
    """A line above the alerts of a message, as it was said: names are data. `url` is where `word` leads."""

    text: str
    word: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The same, safe inside a line of Markdown."""

    text: str
    links: tuple[Link, ...] = ()


def _line(said: Said, chat: RobotChat) -> Line:
    url = web_address(said.url)
    shown = bool(said.word and url and len(url) <= chat.longest_link)
    links = (Link(word=chat.escape(plain(said.word, _LONGEST_LINE)), url=url),) if shown else ()
    return Line(text=chat.escape(plain(said.text, _LONGEST_LINE)), links=links)


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestPage:
    """One message of a digest and the alerts it names."""

    message: Message
    states: frozenset[State]


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How one robot's messages look. `keyword` is put into them where the robot asks for one.

    `above` are lines above the alerts, safe inside a line of Markdown.
    """

    chat: RobotChat
    words: Words
    place: str
    template: Template | None = None
    keyword: str = ""
    above: tuple[Line, ...] = ()


def compose(alerts: Sequence[AlertView], style: Style, most_bytes: int) -> tuple[DigestPage, ...]:
    """The messages that name `alerts`: the worst in full where there is room, the others in a line."""
    ordered = sorted(alerts, key=lambda alert: alert.rank)
    pages: list[DigestPage] = []
    near = 1
    while ordered:
        page = _page(ordered, style, most_bytes, near)
        pages.append(page)
        near = len(page.states)
        style = replace(style, above=())
        ordered = [alert for alert in ordered if alert.state not in page.states]
    return tuple(pages)


def _page(alerts: Sequence[AlertView], style: Style, most_bytes: int, near: int) -> DigestPage:
    def fits(named: int, full: int) -> bool:
        return len(_message(_shortened(alerts[:named], full), style).body()) <= most_bytes

    # At least one alert: a page without any would be made again forever.
    named = max(1, _last(len(alerts), lambda count: fits(count, 0), near))
    full = _last(named, lambda count: fits(named, count), 1)
    shown = _shortened(alerts[:named], full)
    message = _message(shown, style)
    if style.above and len(message.body()) > most_bytes:
        # A robot may take very short messages only: what fires comes first.
        return _page(alerts, replace(style, above=()), most_bytes, near)
    if style.template is not None and len(message.body()) > most_bytes:
        _log.warning("the message template needs more than %d bytes for one alert, ours is used", most_bytes)
        return _page(alerts, replace(style, template=None), most_bytes, near)
    return DigestPage(message=message, states=frozenset(alert.state for alert in shown))


def _last(most: int, fits: Callable[[int], bool], near: int) -> int:
    """The last of 0 … `most` that fits, searched from `near` on.

    In steps that double, then halve: of thousands of alerts only those are written that may fit into the
    message, and a page mostly has about as many as the one before.
    """
    low, high, step = 0, most + 1, 1
    at = min(max(near, 1), most)
    while low < at < high:
        if fits(at):
            low, at = at, min(at + step, most)
        else:
            high, at = at, max(at - step, 1)
        step *= 2
    return low + bisect.bisect_left(range(low + 1, high), x=True, key=lambda count: not fits(count))


def _shortened(alerts: Sequence[AlertView], full: int) -> list[AlertView]:
    return [replace(alert, full=position < full) for position, alert in enumerate(alerts)]


def _message(alerts: Sequence[AlertView], style: Style) -> Message:
    people = called(alerts)
    headline = _headline(alerts, style)
    text = _filled(alerts, headline, style.chat.mention(people), style)
    first = alerts[0]
    # What a telephone shows of a message.
    about = (style.above[0].text,) if style.above else (first.name, first.subject)
    title = " ".join(part for part in (style.keyword, headline, *about) if part)
    links = (*(style.above[0].links if style.above else ()), *(first.links if first.full else ()))
    return style.chat.write(
        Digest(title=title[:_MOST_TITLE], text=text, people=people, icon=first.icon, links=links)
    )


def _filled(alerts: Sequence[AlertView], headline: str, mentions: str, style: Style) -> str:
    if style.template is not None:
        try:
            return fill(
                style.template, headline=headline, alerts=alerts, mentions=mentions, above=style.above
            )
        except ValueError as error:
            _log.warning("the message template failed, ours is used instead: %s", error)
    house = house_template(style.chat)
    return fill(house, headline=headline, alerts=alerts, mentions=mentions, above=style.above)


def _headline(alerts: Sequence[AlertView], style: Style) -> str:
    firing = sum(alert.firing for alert in alerts)
    counts = [
        f"{icon} {phrase.format(count)}"
        for icon, phrase, count in (
            (alerts[0].icon, style.words.firing, firing),
            ("✅", style.words.resolved, len(alerts) - firing),
        )
        if count
    ]
    return " · ".join(counts + [part for part in (style.place, style.keyword) if part])
