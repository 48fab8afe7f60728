"""When a chat hears of an incident, and what: as data, the words are elsewhere. Pure: the time is given.

The first message goes at once, the end once, and between them only what matters. Every alert that fires is in
a message: with the first, the next, or one of its own after a while. What a chat has is known from what
the chat accepted, so a message that failed is due again, with what has come since.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, TypeVar

from tritonobs.delivery.payload import State
from tritonobs.extensions.incidents.incident import (
    PAGE,
    CauseKey,
    Change,
    Episode,
    Fleet,
    Incident,
    What,
    cause_key,
    changes,
)
from tritonobs.registry import answer
from tritonobs.timings.cause import Cause

REPEAT_SECONDS: Final[Mapping[str, float]] = MappingProxyType(
    {"critical": 14_400.0, "warning": 43_200.0, "info": 259_200.0}
)
"""Alertmanager's own, as `render/alertmanager.py` configures it."""
MOST_NAMED: Final = 50_000
MOST_TOLD: Final = 500
"""Alerts and incidents that a chat is known to have; the oldest are forgotten first."""

_AT_ONCE_SECONDS: Final = 60.0
"""What follows from a fault is dated within seconds of it, or of the scrape that shows it."""
FIRING: Final = "firing"
_SETTLE_SECONDS: Final = 600.0
"""After so long an incident is said to go back, and only once.

Most tickets end within minutes of their page, and Alertmanager tells that up to five minutes late.
"""
_NAME_WITHIN_SECONDS: Final = 900.0
"""After so long an alert is named that is not news by itself."""

_Entry = TypeVar("_Entry")


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How much an incident may say.

    An incident has at most one message in `update_seconds`; but a higher severity is sent at once, because a
    page must not wait for a ticket, and so is the end. What goes on is repeated `repeat_seconds` after the
    last message, by its severity, when Alertmanager repeats it. A first cause that comes after the first
    message goes with the next one.

    With `at_once`, as in `serve`, every alert comes with a call that waits for its answer, and
    Alertmanager gives calls about pages ten seconds: what begins or ends of pages is sent at once, and so is
    the end of everything, not five minutes later.
    """

    update_seconds: float = 300.0
    repeat_seconds: Mapping[str, float] = field(default_factory=lambda: REPEAT_SECONDS)
    at_once: bool = False


class Kind(enum.Enum):
    """Which message of a conversation it is."""

    FIRST = "first"
    UPDATE = "update"
    REPEAT = "repeat"
    END = "end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What a chat is to hear of an incident now.

    `changes` are what matters since the last message. `cause` is what explains it, where this chat has not
    heard that, or is reminded; `corrects` says whether it has heard another one. `new` are alerts that fire
    and were not told, `going_on` those that were, `over` those whose end was not told; the end names all that
    are over.
    """

    kind: Kind
    incident: Incident
    changes: tuple[Change, ...]
    cause: Cause | None
    new: tuple[Episode, ...]
    going_on: tuple[Episode, ...]
    over: tuple[Episode, ...]
    corrects: bool = False

    @property
    def states(self) -> frozenset[State]:
        """Which alerts it names, in which state."""
        return frozenset(one.alert.state for one in (*self.new, *self.going_on, *self.over))


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a chat knows of an incident: how it was in the last message, when, and what is said only once.

    Those are its causes, that it goes back, and that it is as bad again.
    """

    incident: Incident
    at: float
    causes: frozenset[CauseKey] = frozenset()
    eased: bool = False
    again: bool = False
    ended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """What a chat has accepted. `Chat()` has heard nothing."""

    told: Mapping[str, Told] = field(default_factory=dict)
    named: Mapping[str, State] = field(default_factory=dict)
    """The last state of each alert that was named, by its fingerprint."""

    def told_of(self, incident: Incident) -> Told | None:
        """What it has of the incident, or of one that turned out to be it."""
        return next((self.told[name] for name in (incident.id, *incident.joined) if name in self.told), None)

    def thinks_firing(self, key: str) -> bool:
        """Whether it has heard that an alert fires, and not that it is over."""
        state = self.named.get(key)
        return state is not None and state[2] == FIRING


def due(
    chat: Chat,
    incidents: Iterable[Incident],
    now: float,
    fleet: Fleet,
    policy: Policy | None = None,
    *,
    held: Collection[str] = (),
) -> tuple[Message, ...]:
    """The messages that this chat is to get now, the most urgent first; it may have all of them in one.

    `incidents` are as this chat knows them (`chat_incidents`), also those that are over. `held` are alerts
    whose end may wait: it alone makes no message.
    """
    policy = policy or Policy()
    found = []
    for incident in incidents:
        news = _news(chat.told_of(incident), incident, now, fleet)
        kind = _due(chat, incident, now, news, policy, held=held)
        if kind is not None:
            found.append(message_of(chat, incident, kind, news))
    return tuple(found)


def accepted(chat: Chat, message: Message, now: float, states: Collection[State] | None = None) -> Chat:
    """The chat after it took a message, or the parts of it that name `states`: the rest is due at once."""
    every = message.states
    chat = named(chat, every if states is None else every.intersection(states))
    if states is not None and not every <= set(states):
        return chat
    incident, before = message.incident, chat.told_of(message.incident)
    before = before or Told(incident=incident, at=now)
    said = {change.what for change in message.changes}
    told = Told(
        # Its alerts are in `named`.
        incident=replace(incident, alerts=()),
        at=now,
        causes=before.causes.union([cause_key(message.cause)] if message.cause else ()),
        eased=before.eased or What.EASED in said,
        again=before.again or (before.eased and What.AGAIN in said),
        ended=incident.closed,
    )
    others = {name: one for name, one in chat.told.items() if name not in {incident.id, *incident.joined}}
    return replace(chat, told=_newest({**others, incident.id: told}, MOST_TOLD))


def named(chat: Chat, states: Iterable[State]) -> Chat:
    """The chat after it took messages that name these states, also those of alerts outside of incidents."""
    fresh = {state[0]: state for state in states}
    others = {key: state for key, state in chat.named.items() if key not in fresh}
    return replace(chat, named=_newest({**others, **fresh}, MOST_NAMED))


def _due(
    chat: Chat,
    incident: Incident,
    now: float,
    news: Iterable[Change],
    policy: Policy,
    *,
    held: Collection[str],
) -> Kind | None:
    """Which message is due, if one is."""
    told = chat.told_of(incident)
    if incident.closed:
        ends = not told.ended if told else _kept_back(chat, incident)
        return Kind.END if ends else None
    if incident.ended is not None:
        # Nothing fires: it ends, or goes on, within minutes.
        over = policy.at_once and told and any(_over(chat, one) for one in incident.alerts)
        return Kind.END if over else None
    if told is None:
        return Kind.FIRST
    if policy.at_once and any(_of_page(chat, one) for one in incident.alerts if one.key not in held):
        return Kind.UPDATE
    return _going_on(chat, incident, told, now, news, policy)


def _going_on(  # noqa: PLR0917 (as `_due`, which has no room for it)
    chat: Chat, incident: Incident, told: Told, now: float, news: Iterable[Change], policy: Policy
) -> Kind | None:
    """Which message is due of an incident that people know."""
    matter = {change.what for change in news} - {What.JOINED}
    if not told.causes:
        matter.discard(What.CAUSE)
    if What.SEVERITY in matter or told.ended:
        return Kind.UPDATE
    late = (one for one in incident.alerts if one.firing and one.key not in chat.named)
    waits = any(now >= one.seen + _NAME_WITHIN_SECONDS for one in late)
    if (matter or waits) and now >= told.at + policy.update_seconds:
        return Kind.UPDATE
    # Alertmanager repeats what no one has silenced or muted: only what it repeats is said again.
    repeated = max(one.heard for one in incident.alerts if one.firing)
    return Kind.REPEAT if repeated >= told.at + policy.repeat_seconds[incident.now] else None


def _over(chat: Chat, one: Episode) -> bool:
    """Whether the chat thinks that an alert fires which is over."""
    return not one.firing and chat.thinks_firing(one.key)


def _outlived(chat: Chat, one: Episode) -> bool:
    """Whether the alert ended after its incident did, so that only the chat knows: an info does not count."""
    state = chat.named.get(one.key)
    return state is not None and state[:2] == one.alert.state[:2] and state[2] != FIRING


def _of_page(chat: Chat, one: Episode) -> bool:
    """Whether a page begins or ends, and the chat was not told."""
    if one.rank < PAGE:
        return False
    return chat.named.get(one.key) != one.alert.state if one.firing else _over(chat, one)


def _kept_back(chat: Chat, incident: Incident) -> bool:
    """Whether the end of an incident that was never told is to be told.

    What is over before it can be told is not told: so it is with alerts, too. But what was parted from
    another incident was sent as a part of that one, or had waited for its next message.
    """
    alerts = (one for one in incident.alerts if one.seen < incident.opened)
    return any(chat.named.get(one.key) != one.alert.state for one in alerts)


def _news(told: Told | None, incident: Incident, now: float, fleet: Fleet) -> tuple[Change, ...]:
    """What matters since the last message. What comes and goes is compared with all that was ever said."""
    if told is None:
        return changes(None, incident, fleet)
    found = [
        change
        for change in changes(told.incident, incident, fleet)
        if change.what not in {What.CAUSE, What.EASED, What.AGAIN}
    ]
    eased = incident.eased
    own = {
        What.CAUSE: _unheard(incident, told) is not None,
        What.EASED: not told.eased and eased is not None and now >= eased + _SETTLE_SECONDS,
        What.AGAIN: (told.ended and not incident.closed)
        or (told.eased and not told.again and incident.ended is None and eased is None),
    }
    found += [Change(incident=incident.id, what=what) for what, is_so in own.items() if is_so]
    return tuple(found)


def explained(chat: Chat, incident: Incident, kind: Kind) -> tuple[Cause | None, bool]:
    """The cause that a message says, only a repetition again, and whether the chat has heard another."""
    told = chat.told_of(incident)
    heard = told.causes if told else frozenset()
    cause = incident.cause if kind is Kind.REPEAT else _unheard(incident, told)
    return cause, bool(cause and heard and cause_key(cause) not in heard)


def _unheard(incident: Incident, told: Told | None) -> Cause | None:
    """The cause, where it is news for those who were told.

    Another one that is found while alerts end and none begins is an echo of what recovers. So is what follows
    from the cause that they heard and began with it: a model that is loaded again leaves its errors behind.
    """
    cause, heard = incident.cause, told.causes if told else frozenset()
    if cause is None or cause_key(cause) in heard or (heard and _recovers(incident)):
        return None
    last = told.incident.cause if told else None
    return None if last and cause_key(last) in heard and _follows(cause, last) else cause


def _follows(cause: Cause, other: Cause) -> bool:
    """Whether it follows from the other: it may, and both began at once."""
    if cause.since is None or other.since is None or abs(cause.since - other.since) > _AT_ONCE_SECONDS:
        return False
    follows = answer("follows")
    return follows is not None and follows(cause.check, other.check)


def _recovers(incident: Incident) -> bool:
    counted = [one for one in incident.alerts if one.counts]
    ends = [one.ended for one in counted if one.ended is not None]
    return bool(ends) and max(ends) > max(one.latest for one in counted)


def message_of(chat: Chat, incident: Incident, kind: Kind, news: tuple[Change, ...] = ()) -> Message:
    """What the chat is to hear of the incident, if it gets a message of this kind."""
    cause, corrects = explained(chat, incident, kind)
    firing = [one for one in incident.alerts if one.firing and not _outlived(chat, one)]
    known = {one.key for one in firing if chat.named.get(one.key) == one.alert.state}
    ends = (one for one in incident.alerts if not one.firing)
    return Message(
        kind=kind,
        incident=incident,
        changes=news,
        cause=cause,
        corrects=corrects,
        new=tuple(one for one in firing if one.key not in known),
        going_on=tuple(one for one in firing if one.key in known),
        over=tuple(one for one in ends if kind is Kind.END or chat.named.get(one.key) != one.alert.state),
    )


def _newest(entries: dict[str, _Entry], most: int) -> dict[str, _Entry]:
    surplus = len(entries) - most
    return dict(list(entries.items())[surplus:]) if surplus > 0 else entries
