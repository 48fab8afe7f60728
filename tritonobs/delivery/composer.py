"""Alerts → one robot's messages: every alert is named, the worst first, in as few as its chat allows.

A robot has its chat, its language, its template and mentions, its links and evidence. The text is composed
once, for all chats; the markup and the escapes are the chat's. A user's own template is tried on made-up
alerts before it is used.
"""

from __future__ import annotations

import bisect
import json
import logging
import zoneinfo
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import cache, partial
from importlib import resources
from typing import Any, Final

from jinja2 import Environment, StrictUndefined, Template, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tritonobs import names
from tritonobs.chats.chat import Digest, Link, Message, RobotChat
from tritonobs.chats.registry import robot_chat
from tritonobs.delivery.payload import Alert, State
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
from tritonobs.errors import FileUnusable, SpecInvalid
from tritonobs.files import read_text
from tritonobs.findings import Finding, Place
from tritonobs.plan.fleet import Plan
from tritonobs.plan.notify import Notify, Robot

Shares = Mapping[tuple[str, str, str], str]
_ANY_SIZE = 2**31
_log = logging.getLogger(__name__)

_MOST_TITLE = 120
_MOST_PLACE, _MOST_OTHERS = 60, 3
_MOST_LINES, _LONGEST_LINE = 6, 300
_MOST_BYTES = 2**20
# A misspelled field fails when the template is tried on a sample, instead of leaving a gap in a message.
_HOW: Final[Mapping[str, Any]] = {"undefined": StrictUndefined, "trim_blocks": True, "lstrip_blocks": True}
TEST_ALERT: Final = "TritonobsTest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Composer:
    """Writes the messages of one fleet file; `unshown` is called for alerts shown by name only."""

    plan: Plan
    templates: Mapping[str, Template]
    now: Callable[[], datetime] = lambda: datetime.now(timezone.utc)
    unshown: Callable[[Robot], None] = lambda _: None

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
        style = Style(
            chat=chat,
            words=words,
            place=chat.escape(_place(alerts, self.plan)),
            template=self.templates.get(robot.name),
            keyword=robot.keyword,
            above=tuple(line for said in above[:_MOST_LINES] if (line := _line(said, chat)).text),
        )
        views = [self._view(alert, shares, reader, robot) for alert in alerts]
        try:
            return compose(views, style, most_bytes)
        except Exception:  # noqa: BLE001 (what alerts hold comes from outside)
            _log.exception("a digest for robot %s could not be made; each alert is tried alone", robot.name)
        views = [
            one if _shows(one, style) else self._bare(alert, reader, robot)
            for alert, one in zip(alerts, views, strict=True)
        ]
        return compose(views, style, most_bytes)

    def _view(self, alert: Alert, shares: Shares, reader: Reader, robot: Robot) -> AlertView:
        try:
            if not alert.damaged:
                evidence = _evidence(alert, shares, reader, self.plan)
                return escaped(view(alert, reader, evidence), robot_chat(robot.chat).escape)
        except Exception as error:  # noqa: BLE001 (as above)
            _log.warning("an alert cannot be shown in full: %s: %s", type(error).__name__, error)
        return self._bare(alert, reader, robot)

    def _bare(self, alert: Alert, reader: Reader, robot: Robot) -> AlertView:
        """The alert by its name only, which is counted."""
        self.unshown(robot)
        return escaped(bare_view(alert, reader), robot_chat(robot.chat).escape)


def _shows(alert: AlertView, style: Style) -> bool:
    try:
        compose([alert], style, _ANY_SIZE)
    except Exception:  # noqa: BLE001 (as above)
        return False
    return True


def _place(alerts: Sequence[Alert], plan: Plan) -> str:
    """The fleet and its cluster; of alerts of another cluster, which Alertmanager may have, its name."""
    fleet, cluster = plan.fleet, plan.cluster
    own = fleet if cluster in {"", "default", fleet} else f"{fleet} / {cluster}"
    label = plan.rules.cluster_label
    known = dict.fromkeys(alert.labels.get(label, "") if label else "" for alert in alerts)
    others = [plain(name, _MOST_PLACE) for name in known if name and name != cluster]
    ours = [own] if len(others) < len(known) or not known else []
    return ", ".join([*ours, *others[:_MOST_OTHERS], *(["…"] if len(others) > _MOST_OTHERS else [])])


def _evidence(alert: Alert, shares: Shares, reader: Reader, plan: Plan) -> str:
    """The stages of the alert's own version, or of the only version there is evidence for."""
    cluster, model, version = (
        alert.labels.get(label, "") for label in (plan.rules.cluster_label, names.MODEL, names.VERSION)
    )
    # Where a Prometheus names its cluster to others only, its own series do not have it.
    near = cluster if any(key[0] == cluster for key in shares) else ""
    if not near and cluster not in {"", plan.cluster}:
        return ""
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
    filled = partial(fill, headline=headline, alerts=alerts, mentions=mentions, above=style.above)
    if style.template is not None:
        try:
            return filled(style.template)
        except ValueError as error:
            _log.warning("the message template failed, ours is used instead: %s", error)
    return filled(house_template(style.chat))


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


def compile_template(text: str) -> Template:
    """A template that can use only what it is given.

    Raises:
        ValueError: it is not Jinja2; the text says where.
    """
    environment = ImmutableSandboxedEnvironment(**_HOW)
    try:
        return environment.from_string(text)
    except TemplateError as error:
        line = getattr(error, "lineno", None)
        raise ValueError(f"line {line}: {error}" if line else str(error)) from None


@cache
def house_template(chat: RobotChat) -> Template:
    """Ours, in the markup of a chat. It needs no guard: that costs most of the time of a large digest."""
    file = resources.files("tritonobs.delivery") / "templates" / "digest.md.j2"
    environment = Environment(**_HOW)  # noqa: S701 (Markdown; every text in it was made plain)
    environment.globals |= {"d": chat.dialect, "link_to": chat.link}
    return environment.from_string(file.read_text(encoding="utf-8"))


def try_template(text: str) -> Template:
    """A user's template, after it showed every alert of a sample.

    Raises:
        ValueError: it is not Jinja2, fails, or leaves an alert out; the text says what is wrong.
    """
    template = compile_template(text)
    fill(template, headline="2 firing", alerts=sample_alerts(), mentions="@lee")
    return template


def fill(
    template: Template,
    *,
    headline: str,
    alerts: Sequence[AlertView],
    mentions: str,
    above: Sequence[object] = (),
) -> str:
    """The text of one message; `above` are lines with `text` and `links`.

    Raises:
        ValueError: the template failed, or does not name one of the alerts.
    """
    try:
        text = template.render(headline=headline, alerts=alerts, mentions=mentions, above=above).strip()
    except Exception as error:  # noqa: BLE001 (a user's template may raise anything at all)
        raise ValueError(f"{type(error).__name__}: {error}") from None
    lost = next((alert for alert in alerts if alert.name not in text or alert.subject not in text), None)
    if lost:
        raise ValueError(f"it does not show name and subject of every alert: {lost.name} {lost.subject}")
    return text


def load_templates(notify: Notify) -> Mapping[str, Template]:
    """By robot. Each was tried on a sample.

    Raises:
        SpecInvalid: with a finding for each that cannot be used.
    """
    templates, findings = {}, []
    for robot in notify.robots:
        if robot.template_file is None:
            continue
        try:
            templates[robot.name] = try_template(read_text(robot.template_file, most=_MOST_BYTES))
        except (FileUnusable, ValueError) as error:
            problem = error.reason if isinstance(error, FileUnusable) else str(error)
            findings.append(
                Finding(
                    place=Place(file=str(robot.template_file)),
                    path=f"notify.{robot.chat}.{robot.name}.template_file",
                    message=f"the template cannot be used: {problem}",
                )
            )
    if findings:
        raise SpecInvalid(findings)
    return templates


def sample_alerts() -> tuple[AlertView, ...]:
    """One in full and firing, one short and resolved, one with nothing but a name."""
    began = "2024-05-01T12:00:00Z"
    labels = {"alertname": "TritonQpsAboveLimit", "severity": "critical", "model": "inspect", "version": "1"}
    alerts = (
        _alert("firing", labels, {"description": "inspect receives 12 requests/s; its limit is 8."}, began),
        _alert("resolved", {**labels, "model": "detector", "stage": "infer"}, {}, began),
        _alert("firing", {"alertname": TEST_ALERT}, {}, ""),
    )
    reader = Reader(
        words=LANGUAGES["en"],
        zone=timezone.utc,
        now=datetime(2024, 5, 1, 12, 5, tzinfo=timezone.utc),
        alertmanager_url="http://127.0.0.1:9093",
    )
    shown = [view(alert, reader, "Latency breakdown: detector 78%") for alert in alerts]
    return shown[0], *(replace(alert, full=False) for alert in shown[1:])


def trial_payload(robot: str) -> bytes:
    """A webhook call with one test alert for this robot; every one is news."""
    now = datetime.now(timezone.utc)
    alert = {
        "status": "firing",
        "labels": {
            "alertname": TEST_ALERT,
            "severity": "info",
            "robot": robot,
            "trial": f"{now:%H:%M:%S.%f}",
        },
        "annotations": {
            "description": "A test message of tritonobs notify test. All is well.",
            "description_zh": "tritonobs notify test 的测试消息，一切正常。",  # noqa: RUF001 (Chinese punctuation)
        },
        "startsAt": now.isoformat(),
    }
    return json.dumps({"version": "4", "groupKey": f"trial/{robot}", "alerts": [alert]}).encode()


def _alert(status: str, labels: Mapping[str, str], annotations: Mapping[str, str], began: str) -> Alert:
    return Alert.model_validate(
        {"status": status, "labels": labels, "annotations": annotations, "startsAt": began, "endsAt": began}
    )
