"""Alerts → messages: every alert is named, the worst first, in as few messages as 20,000 bytes allow."""

from __future__ import annotations

import bisect
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tritonobs.clients.dingtalk import Markdown
from tritonobs.delivery.mentions import called
from tritonobs.delivery.template import fill, house_template

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jinja2 import Template

    from tritonobs.delivery.view import AlertView
    from tritonobs.delivery.words import Words

_log = logging.getLogger(__name__)
_HOUSE = house_template()
_MOST_TITLE = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestPage:
    """One message of a digest and the alerts it names."""

    message: Markdown
    states: frozenset[tuple[str, str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How one robot's messages look. `keyword` is put into them where the robot asks for one."""

    words: Words
    place: str
    template: Template | None = None
    keyword: str = ""


def compose(alerts: Sequence[AlertView], style: Style, most_bytes: int) -> tuple[DigestPage, ...]:
    """The messages that name `alerts`: the worst in full as far as there is room, the others in a line."""
    ordered = sorted(alerts, key=lambda alert: alert.rank)
    pages: list[DigestPage] = []
    near = 1
    while ordered:
        page = _page(ordered, style, most_bytes, near)
        pages.append(page)
        near = len(page.states)
        ordered = [alert for alert in ordered if alert.state not in page.states]
    return tuple(pages)


def _page(alerts: Sequence[AlertView], style: Style, most_bytes: int, near: int) -> DigestPage:
    def fits(named: int, full: int) -> bool:
        return len(_message(_shortened(alerts[:named], full), style).body()) <= most_bytes

    # At least one alert: a page without any would be made again for ever.
    named = max(1, _last(len(alerts), lambda count: fits(count, 0), near))
    full = _last(named, lambda count: fits(named, count), 1)
    shown = _shortened(alerts[:named], full)
    message = _message(shown, style)
    if style.template is not None and len(message.body()) > most_bytes:
        _log.warning("the message template needs more than %d bytes for one alert, ours is used", most_bytes)
        return _page(alerts, replace(style, template=None), most_bytes, near)
    return DigestPage(message=message, states=frozenset(alert.state for alert in shown))


def _last(most: int, fits: Callable[[int], bool], near: int) -> int:
    """The last of 0 … `most` that fits, sought from `near` on; who grows no longer fits at some number.

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


def _message(alerts: Sequence[AlertView], style: Style) -> Markdown:
    people = called(alerts)
    headline = _headline(alerts, style)
    text = _filled(alerts, headline, people.text, style)
    first = alerts[0]
    title = " ".join(part for part in (style.keyword, headline, first.name, first.subject) if part)
    return Markdown(
        title=title[:_MOST_TITLE],
        text=text,
        mobiles=people.mobiles,
        user_ids=people.user_ids,
        at_all=people.everyone,
    )


def _filled(alerts: Sequence[AlertView], headline: str, mentions: str, style: Style) -> str:
    if style.template is not None:
        try:
            return fill(style.template, headline=headline, alerts=alerts, mentions=mentions)
        except ValueError as error:
            _log.warning("the message template failed, ours is used instead: %s", error)
    return fill(_HOUSE, headline=headline, alerts=alerts, mentions=mentions)


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
