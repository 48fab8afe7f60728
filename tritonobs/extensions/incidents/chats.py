"""What of a digest a message names now: an incident is one conversation, and not a message for each alert.

Some things are not sent at once. What a message of the incident named already, in the same state, needs no
other one: Alertmanager tells a whole group again when one alert of it changes. What begins or ends of a
ticket while its incident goes on waits for the next message, some minutes at most, and the end of a page some
seconds. And what is repeated is said once an hour, not once for every group of the incident. All else goes at
once: an incident's first message, every page that begins, the end, and what no incident has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from tritonobs.delivery.payload import Alert, Sifted, State
from tritonobs.extensions.incidents.incident import (
    PAGE,
    SEVERITIES,
    Fleet,
    Incident,
    What,
    cause_key,
    chat_incidents,
    rank,
)
from tritonobs.extensions.incidents.news import (
    MOST_NAMED,
    Chat,
    Kind,
    Message,
    Policy,
    Told,
    accepted,
    due,
    explained,
    message_of,
    named,
)
from tritonobs.extensions.incidents.recorder import MOST_ALERTS, Entry, KeptTold, incident_of

LONGEST_WAIT_SECONDS: Final = 240.0
"""Alertmanager gives a call about tickets five minutes (`render/alertmanager.py`), answers included."""
END_WAIT_SECONDS: Final = 5.0
"""Pages of one fault end within seconds of each other. Alertmanager gives a call about pages ten seconds."""
REPEAT_SECONDS: Final[Mapping[str, float]] = MappingProxyType(dict.fromkeys(SEVERITIES, 3600.0))
"""When to repeat is Alertmanager's to say; of several groups of one incident, one is heard in an hour."""
_ALONE: Final = frozenset({What.CAUSE, What.EASED})
"""What is worth a message although no alert came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How incidents speak: of which fleet, and how often."""

    fleet: Fleet
    policy: Policy

    @classmethod
    def of(cls, fleet: Fleet, update_seconds: float) -> Manner:
        """That of `serve`: every alert is in a call that waits for its answer."""
        policy = Policy(update_seconds=update_seconds, repeat_seconds=REPEAT_SECONDS, at_once=True)
        return cls(fleet=fleet, policy=policy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """What one robot's chat has accepted, which alerts are for it, and since when those wait that do."""

    chat: Chat = field(default_factory=Chat)
    keys: Mapping[str, None] = field(default_factory=dict)
    since: Mapping[str, float] = field(default_factory=dict)
    """By fingerprint, until the chat has it: what comes and goes does not wait longer each time."""
    messages: Mapping[str, Message] = field(default_factory=dict)
    """Of the digest that is on its way, by incident: what is true of them once the chat accepted it."""
    asked: frozenset[str] = frozenset()
    """Incidents of which everything is said in the next digest, also what is known."""


def sift(
    talk: Talk, alerts: Sequence[Alert], incidents: Iterable[Incident], now: float, manner: Manner
) -> tuple[Talk, Sifted]:
    """What of these alerts a message need not name now, and the talk with the messages that it names."""
    keys = dict(list({**talk.keys, **{one.fingerprint: None for one in alerts}}.items())[-MOST_NAMED:])
    own = chat_incidents(incidents, keys, now)
    owner = {one.key: incident for incident in own for one in incident.alerts}
    policy = manner.policy
    since = {key: at for key, at in talk.since.items() if key in owner}
    held = {
        key
        for alert in alerts
        if (incident := owner.get(key := alert.fingerprint))
        and _end_waits(talk.chat, alert, incident)
        and now - since.setdefault(key, now) < END_WAIT_SECONDS
    }
    talks = {one.incident.id: one for one in due(talk.chat, own, now, manner.fleet, policy, held=held)}
    longest = min(policy.update_seconds, LONGEST_WAIT_SECONDS)
    known, waiting, speaking = set[State](), dict[str, list[Alert]](), set(talks)
    for alert in alerts:
        incident = owner.get(alert.fingerprint)
        if incident is None:
            continue
        if not alert.firing and not talk.chat.thinks_firing(alert.fingerprint):
            # Delivery knows whether this end needs a message.
            continue
        message = talks.get(incident.id)
        if talk.chat.named.get(alert.fingerprint) == alert.state and talk.chat.told_of(incident):
            repeated = message is not None and message.kind is Kind.REPEAT
            if not repeated and incident.id not in talk.asked:
                known.add(alert.state)
        elif message is None and (
            alert.fingerprint in held
            or (
                _waits(talk.chat, alert, incident)
                and now - since.setdefault(alert.fingerprint, now) < longest
            )
        ):
            waiting.setdefault(incident.id, []).append(alert)
        else:
            speaking.add(incident.id)
    # What goes out takes along what waits of the same incident.
    later = {
        one.state: (END_WAIT_SECONDS if one.fingerprint in held else longest) - (now - since[one.fingerprint])
        for ident, those in waiting.items()
        if ident not in speaking
        for one in those
    }
    said = {one.fingerprint for one in alerts if one.state not in known and one.state not in later}
    return (
        replace(
            talk,
            keys=keys,
            since=since,
            messages={
                # Without another reason, its alerts waited long enough.
                one.id: _part(talks.get(one.id) or message_of(talk.chat, one, Kind.UPDATE), said)
                for one in own
                if one.id in speaking and one.keys & said
            },
        ),
        Sifted(known=frozenset(known), later=later),
    )


def telling(talk: Talk, incidents: Iterable[Incident], stale: Collection[str] = ()) -> Talk:
    """The talk whose digest says what is known now: a look for the cause may have ended meanwhile.

    Of the `stale` ones it says no cause.
    """
    now_is = {one.id: one for one in incidents}
    messages = dict(talk.messages)
    for ident, message in talk.messages.items():
        incident = now_is.get(ident)
        if ident in stale:
            messages[ident] = replace(message, cause=None, corrects=False)
        elif incident and incident.cause:
            cause, corrects = explained(talk.chat, incident, message.kind)
            messages[ident] = replace(message, incident=incident, cause=cause, corrects=corrects)
    return replace(talk, messages=messages)


def heard(talk: Talk, states: Collection[State], now: float) -> Talk:
    """The talk after the chat accepted messages that name these."""
    chat, keys = named(talk.chat, states), {state[0] for state in states}
    for message in talk.messages.values():
        if message.states & frozenset(states):
            chat = accepted(chat, message, now, states)
    gone = {one.incident.id for one in talk.messages.values() if one.incident.id in chat.told}
    since = {key: at for key, at in talk.since.items() if key not in keys}
    return replace(talk, chat=chat, since=since, messages={}, asked=talk.asked - gone)


def unasked(talk: Talk, incidents: Iterable[Incident], now: float, manner: Manner) -> tuple[Message, ...]:
    """What the chat should hear although no call came: another cause than before, or that it goes back."""
    own = chat_incidents(incidents, talk.keys, now)
    return tuple(
        message
        for message in due(talk.chat, own, now, manner.fleet, manner.policy)
        if message.kind is Kind.UPDATE
        and message.going_on
        and {change.what for change in message.changes} & _ALONE
    )


def kept(talks: Mapping[str, Talk], incident: Incident) -> tuple[KeptTold, ...]:
    """What every robot's chat has of an incident, for the process that takes over."""
    found = []
    for robot, talk in talks.items():
        told = talk.chat.told.get(incident.id)
        if told:
            states = (talk.chat.named.get(one.key) for one in incident.alerts[:MOST_ALERTS])
            found.append(KeptTold(robot=robot, at=told.at, states=tuple(filter(None, states))))
    return tuple(found)


def resumed(entries: Iterable[Entry], now: float) -> dict[str, Talk]:
    """What another process told the chats of incidents that go on: none of it is said a second time."""
    talks: dict[str, Talk] = {}
    for entry in entries:
        for one in entry.told if entry.goes_on(now) else ():
            talk = talks.get(one.robot, Talk())
            incident = incident_of(entry)
            told = Told(incident=incident, at=one.at, causes=frozenset(map(cause_key, incident.causes)))
            talks[one.robot] = replace(
                talk,
                chat=replace(named(talk.chat, one.states), told={**talk.chat.told, entry.id: told}),
                keys={**talk.keys, **{state[0]: None for state in one.states}},
            )
    return talks


def _waits(chat: Chat, alert: Alert, incident: Incident) -> bool:
    """Whether a ticket may wait: it begins, or ends for a chat that has it, and the incident is known."""
    if rank(alert.labels) >= PAGE or incident.ended is not None or not chat.told_of(incident):
        return False
    return alert.firing or chat.thinks_firing(alert.fingerprint)


def _end_waits(chat: Chat, alert: Alert, incident: Incident) -> bool:
    """Whether the end of a page, which the chat thinks fires, may wait for other pages of its incident."""
    ends = rank(alert.labels) >= PAGE and not alert.firing and chat.thinks_firing(alert.fingerprint)
    pages = any(one.firing and one.rank >= PAGE for one in incident.alerts)
    return ends and pages and chat.told_of(incident) is not None


def _part(message: Message, said: Collection[str]) -> Message:
    """The message with those of its alerts that the digest names."""
    return replace(
        message,
        new=tuple(one for one in message.new if one.key in said),
        going_on=tuple(one for one in message.going_on if one.key in said),
        over=tuple(one for one in message.over if one.key in said),
    )
