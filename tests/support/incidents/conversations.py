"""What a chat hears of incidents: lives of alerts, or calls of Alertmanager, joined to conversations.

No server and no clock: `bench/incidents.py` can hand over the calls that it has anyway.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Final

from tritonobs.delivery.payload import Alert
from tritonobs.extensions.incidents.incident import chat_incidents
from tritonobs.extensions.incidents.join import State, Step, join
from tritonobs.extensions.incidents.news import Chat, Kind, Message, accepted, due, named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from support.alertmanager_sim.alertmanager import Call, Life
    from tritonobs.extensions.incidents.groups import Judged
    from tritonobs.extensions.incidents.incident import Fleet

EPOCH: Final = 1_800_000_000.0
"""The Unix time at which a world begins."""
TICK_SECONDS: Final = 15.0


def alert_of(life: Life, at: float, zero: float = EPOCH) -> Alert:
    """The alert as Alertmanager posts it at a moment of its world, which began at `zero`."""
    over = life.until is not None and life.until <= at
    return Alert(
        status="resolved" if over else "firing",
        labels=dict(life.labels),
        startsAt=_moment(zero + life.since),
        endsAt=_moment(zero + life.until) if over and life.until is not None else "0001-01-01T00:00:00Z",
    )


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat()


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A message to the chat, at a moment of its world; None as `message` is a digest as today."""

    at: float
    message: Message | None
    alerts: tuple[Alert, ...]

    @property
    def names(self) -> frozenset[str]:
        """Which alerts it names."""
        return frozenset(one.labels.get("alertname", "") for one in self.alerts)


@dataclass(slots=True, kw_only=True)
class Listener:
    """A chat and the incidents behind it; times are of its world. It takes messages when `takes` says so."""

    fleet: Fleet
    state: State = field(default_factory=State)
    chat: Chat = field(default_factory=Chat)
    said: list[Said] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    takes: Callable[[float], bool] = lambda _: True

    def hear(self, at: float, alerts: Sequence[Alert] = (), verdict: Judged | None = None) -> Step:
        """One step: these alerts come, and what is due is sent."""
        now = EPOCH + at
        step = join(self.state, now, alerts, self.fleet, verdict)
        self.state = step.state
        self.keys.update(one.fingerprint for one in alerts)
        fresh = tuple(one for one in step.outside if self.chat.named.get(one.fingerprint) != one.state)
        # The end of an alert that the chat never heard of is no news: so it is today.
        fresh = tuple(one for one in fresh if one.firing or one.fingerprint in self.chat.named)
        if fresh:
            self.said.append(Said(at=at, message=None, alerts=fresh))
        self.chat = named(self.chat, (one.state for one in step.outside))
        for message in due(self.chat, chat_incidents(step.incidents, self.keys, now), now, self.fleet):
            if not self.takes(at):
                continue
            every = (*message.new, *message.going_on, *message.over)
            self.said.append(Said(at=at, message=message, alerts=tuple(one.alert for one in every)))
            self.chat = accepted(self.chat, message, now)
        return step

    @property
    def messages(self) -> dict[str, list[tuple[float, Kind]]]:
        """When each incident spoke, and what kind of message it was."""
        found: dict[str, list[tuple[float, Kind]]] = {}
        for one in self.said:
            if one.message is not None:
                found.setdefault(one.message.incident.id, []).append((one.at, one.message.kind))
        return found


def conversations(
    calls: Iterable[Call],
    fleet: Fleet,
    *,
    receiver: str,
    until: float,
    verdicts: Mapping[float, Judged] | None = None,
) -> Listener:
    """What the chat behind a receiver heard of incidents until a moment; `verdicts` by when they come."""
    coming: dict[float, list[Alert]] = {}
    for call in (one for one in calls if one.receiver == receiver and one.at <= until):
        coming.setdefault(call.at, []).extend(
            alert_of(life, call.at) for life in (*call.firing, *call.resolved)
        )
    listener = Listener(fleet=fleet)
    return _listened(listener, coming, until, verdicts or {}, TICK_SECONDS)


def heard(
    lives: Iterable[Life],
    fleet: Fleet,
    *,
    until: float,
    verdicts: Mapping[float, Judged] | None = None,
    tick_seconds: float = TICK_SECONDS,
    takes: Callable[[float], bool] = lambda _: True,
) -> Listener:
    """The same of alerts that are heard of as they begin and end, with no Alertmanager in between."""
    coming: dict[float, list[Alert]] = {}
    for life in lives:
        for at in (life.since, life.until):
            if at is not None and at <= until:
                coming.setdefault(at, []).append(alert_of(life, at))
    listener = Listener(fleet=fleet, takes=takes)
    return _listened(listener, coming, until, verdicts or {}, tick_seconds)


def _listened(
    listener: Listener,
    coming: Mapping[float, Sequence[Alert]],
    until: float,
    verdicts: Mapping[float, Judged],
    tick_seconds: float,
) -> Listener:
    last = 0.0
    for moment in sorted({*coming, *verdicts, until}):
        # Without anything open a tick finds nothing.
        while listener.state.alerts and last + tick_seconds < moment:
            last += tick_seconds
            listener.hear(last)
        listener.hear(moment, coming.get(moment, ()), verdicts.get(moment))
        last = moment
    return listener
