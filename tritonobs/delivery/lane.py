"""The sending budget of one robot: what it may send in this minute, and when it may send again.

Vendors mute a robot that sends too fast, some of them for ten minutes. Nothing about it is kept on disk: a
process uses at most 70 % of a minute's messages, and the other 30 % in its first minute, so that the last
minute of a killed process and the first of its successor stay within the vendor's limit together.
"""

from __future__ import annotations

import asyncio
import enum
import logging
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from tritonobs.chats.chat import Message, Reply, RobotChat, Verdict
from tritonobs.chats.registry import robot_chat
from tritonobs.delivery.metrics import DeliveryMetrics
from tritonobs.delivery.payload import Alert
from tritonobs.errors import (
    BadAnswer,
    ConnectionBroken,
    SecretUnusable,
    TimedOut,
    TritonobsError,
    Unreachable,
)
from tritonobs.plan.notify import Robot

Send = Callable[[Robot, Message], Awaitable[Reply]]

_log = logging.getLogger(__name__)
_MINUTE = 60.0
_SHARE_OF_FIRST_MINUTE = 0.3
# Vendors do not document how they count messages to a muted robot, so none is sent too early. Where one says
# how long, it is within a second.
_MUTE_MARGIN_SECONDS, _SAID_MARGIN_SECONDS = 5.0, 1.0
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 2.0, 60.0
_SHRINK = 0.5
_SHRUNK_SECONDS = 3600.0
"""How long a robot gets shorter messages; the answer may have been about something else."""
_APART_SECONDS, _LONGEST_APART_SECONDS = 30.0, 900.0
_MOST_APART, _APART_FOR_SECONDS = 1000, 86_400.0
# A loop may wake a little before the time it was asked for.
_TICK_SECONDS = 0.001
_SMALLEST_BYTES = 200

_MOST = 50_000
_CLOCKS_DIFFER = timedelta(minutes=1)
"""The start of an alert is Prometheus' time, `since` is ours."""


class Outcome(enum.Enum):
    """The result of sending a message."""

    TAKEN = "taken"
    REFUSED = "refused"
    """The robot answered with an error, or never got it."""
    CONTENT = "content"
    """The robot takes other messages, and not this one."""
    SHORT = "short"
    """The same, and it calls a short message too long."""
    ODD = "odd"
    """The answer is not documented: it may be about the message, or about the robot."""
    UNKNOWN = "unknown"
    """It may have been accepted: the answer did not arrive."""


@dataclass(slots=True, kw_only=True)
class _Apart:
    """An alert that the chat refused alone: how often, when it is next sent, and how long it may be.

    It is sent with others again after `until`.
    """

    most_bytes: int
    until: float
    refusals: int = 0
    due: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Alerts that are sent together, in messages of at most so many bytes."""

    alerts: Sequence[Alert]
    most_bytes: int


def _bare(alert: Alert) -> Alert:
    """The same alert without its texts."""
    return alert.model_copy(update={"annotations": {}, "generator_url": ""})


class Lane:
    """One robot. It outlives reloads of the fleet file, as its budget does. Times are the event loop's."""

    def __init__(self, robot: Robot, send: Send, metrics: DeliveryMetrics, *, now: float) -> None:
        self.robot = robot
        self.most_bytes = self.chat.most_bytes
        self.trouble = ""
        since = datetime.now(timezone.utc)
        self._chats: defaultdict[str, Sent] = defaultdict(lambda: Sent(since=since))
        self._send = send
        self._metrics = metrics
        self._started = now
        self._sent: deque[float] = deque()
        self._muted_until = self._paused_until = now
        self._failures = 0
        self._shrunk = -_SHRUNK_SECONDS
        self._apart: dict[str, _Apart] = {}
        self._busy = asyncio.Lock()

    @property
    def chat(self) -> RobotChat:
        """Its chat."""
        return robot_chat(self.robot.chat)

    def sent(self, robot: str) -> Sent:
        """What this robot's chat was sent of the alerts for `robot`: itself, or one that it replaces."""
        return self._chats[robot]

    def allowed(self, now: float) -> int:
        """Messages a minute at this moment."""
        first = max(1, int(self.robot.messages_per_minute * _SHARE_OF_FIRST_MINUTE))
        return first if now - self._started < _MINUTE else self.robot.messages_per_minute - first

    def remaining(self, now: float) -> int:
        """Messages left in this minute; 0 while muted."""
        self._forget(now)
        return 0 if now < self._muted_until else max(0, self.allowed(now) - len(self._sent))

    def batches(self, alerts: Sequence[Alert]) -> list[Batch]:
        """The alerts as they are sent: together; then, alone, those that the chat refused, when due."""
        now = asyncio.get_running_loop().time()
        self._apart = {key: held for key, held in self._apart.items() if now < held.until}
        rest = [one for one in alerts if one.fingerprint not in self._apart]
        alone = [(one, held) for one in alerts if (held := self._apart.get(one.fingerprint))]
        return [
            *([Batch(alerts=rest, most_bytes=self.most_bytes)] if rest else []),
            *(
                Batch(alerts=[_bare(one)], most_bytes=held.most_bytes)
                for one, held in alone
                if held.due <= now
            ),
        ]

    def instead(self, alerts: Sequence[Alert], outcome: Outcome, size: int) -> list[Batch]:
        """What to send instead of a message of so many bytes that the chat refused for what it says.

        Its halves; of one alert the labels, and of what the chat calls too long a shorter message.
        """
        half = len(alerts) // 2
        if half:
            return [Batch(alerts=part, most_bytes=self.most_bytes) for part in (alerts[:half], alerts[half:])]
        (alert,) = alerts
        most_bytes = (
            max(_SMALLEST_BYTES, int(size * _SHRINK)) if outcome is Outcome.SHORT else self.most_bytes
        )
        again = self._refused(alert, most_bytes)
        return [Batch(alerts=[_bare(alert)], most_bytes=most_bytes)] if again else []

    def _refused(self, alert: Alert, most_bytes: int) -> bool:
        """The chat refused this alert alone: whether to send it at once without its texts, or shorter."""
        now = asyncio.get_running_loop().time()
        fresh = _Apart(most_bytes=self.most_bytes, until=now + _APART_FOR_SECONDS)
        held = self._apart.pop(alert.fingerprint, fresh)
        # Labels cannot be shortened: what became no shorter is tried again later.
        again = most_bytes < held.most_bytes or (held is fresh and bool(alert.annotations))
        held.most_bytes = min(most_bytes, held.most_bytes)
        if not again:
            held.due = now + min(_LONGEST_APART_SECONDS, _APART_SECONDS * 2**held.refusals)
        held.refusals = min(held.refusals + 1, 10)
        self._apart[alert.fingerprint] = held
        if len(self._apart) > _MOST_APART:
            del self._apart[next(iter(self._apart))]
        if held is fresh:
            self._metrics.unshown(self.robot.name)
        _log.warning(
            "robot %s: the chat refuses alert %r%s",
            self.robot.name,
            alert.labels.get("alertname", ""),
            "; it is sent without its texts" if again else ", also without its texts",
        )
        return again

    def muted(self, now: float) -> bool:
        """Whether the vendor mutes it."""
        return now < self._muted_until

    def open_at(self, now: float, *, probing: bool = False) -> float:
        """The first moment from `now` on at which the vendor would take a message.

        A part of one that was refused is sent without the pause after it.
        """
        self._forget(now)
        allowed, used = self.allowed(now), len(self._sent)
        last = self._sent[-1] + self.chat.spacing_seconds if self._sent else now
        opens = max(now, self._muted_until, last if probing else max(last, self._paused_until))
        if used < allowed:
            return opens
        freed = self._sent[used - allowed] + _MINUTE
        # The end of the first minute allows more messages before the oldest of them is a minute old.
        ramp = self._started + _MINUTE
        return max(opens, min(freed, ramp) if now < ramp else freed)

    def ready_at(self, now: float) -> float:
        """The first moment from `now` on at which a new digest may begin.

        After the first few of a minute, what is left is spread over the rest of it: no alert has to wait for
        the whole window.
        """
        opens = self.open_at(now)
        allowed, used = self.allowed(now), len(self._sent)
        if not used or used >= allowed or used <= (0 if now - self._started < _MINUTE else allowed // 4):
            return opens
        rest = self._sent[0] + _MINUTE - self._sent[-1]
        return max(opens, self._sent[-1] + rest / (allowed - used))

    async def send(self, message: Message) -> Outcome:
        """Send a message. If it was not accepted, `trouble` says why and `ready_at` when to try again."""
        async with self._busy:
            # Callers before us in the queue may have used the rest of the budget meanwhile.
            if not self.remaining(asyncio.get_running_loop().time() + _TICK_SECONDS):
                return Outcome.REFUSED
            try:
                reply = await self._send(self.robot, message)
            except TritonobsError as error:
                # Counted although it failed: the vendor may have had the message.
                self._spent()
                self._pause(str(error), _code(error))
                lost = isinstance(error, TimedOut | ConnectionBroken | BadAnswer)
                return Outcome.UNKNOWN if lost else Outcome.REFUSED
            except Exception as error:  # noqa: BLE001 (every failure of the sender)
                # A slip of ours with one robot must not keep its failover robots from sending.
                _log.exception("robot %s: a message could not be sent", self.robot.name)
                self._spent()
                self._pause(f"internal error: {type(error).__name__}", "internal")
                return Outcome.UNKNOWN
            self._spent()
            return self._judge(reply, message)

    def _judge(self, reply: Reply, message: Message) -> Outcome:
        now = asyncio.get_running_loop().time()
        verdict = reply.verdict
        if verdict is Verdict.ACCEPTED:
            self._failures, self.trouble = 0, ""
            if now - self._shrunk > _SHRUNK_SECONDS:
                self.most_bytes = self.chat.most_bytes
            self._metrics.accepted(self.robot.name)
            _log.info("robot %s accepted a message of %d bytes", self.robot.name, len(message.body()))
            return Outcome.TAKEN
        self._pause(f"{self.chat.title} said {reply.said}", reply.code)
        if verdict is Verdict.TOO_FAST:
            said = reply.pause_seconds
            margin = _MUTE_MARGIN_SECONDS if said is None else _SAID_MARGIN_SECONDS
            self._muted_until = now + (self.chat.mute_seconds if said is None else said) + margin
            self._metrics.muted(self.robot.name)
        elif verdict is Verdict.CONTENT or (verdict is Verdict.TOO_LONG and not self._long(message)):
            self._paused_until = now
            return Outcome.CONTENT if verdict is Verdict.CONTENT else Outcome.SHORT
        elif verdict is Verdict.TOO_LONG:
            # The vendor counts bytes otherwise than we do: a shorter message may go at once.
            self.most_bytes = max(_SMALLEST_BYTES, int(len(message.body()) * _SHRINK))
            self._paused_until = self._shrunk = now
        return Outcome.ODD if verdict is Verdict.UNKNOWN else Outcome.REFUSED

    def _long(self, message: Message) -> bool:
        """Whether its length may be what a chat does not take."""
        return self.most_bytes > _SMALLEST_BYTES and len(message.body()) > self.most_bytes * _SHRINK

    def _pause(self, trouble: str, code: str) -> None:
        self.trouble = trouble
        _log.warning("robot %s did not accept a message: %s", self.robot.name, trouble)
        pause = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2**self._failures)
        # A robot may fail for days, and 2**1024 no longer fits into a float.
        self._failures = min(self._failures + 1, 10)
        self._paused_until = asyncio.get_running_loop().time() + pause
        self._metrics.failed(self.robot.name, code)

    def _spent(self) -> None:
        # Counted when it is over, not when it began: the vendor counts somewhere between the two.
        self._sent.append(asyncio.get_running_loop().time())

    def _forget(self, now: float) -> None:
        while self._sent and self._sent[0] <= now - _MINUTE:
            self._sent.popleft()


def _code(error: TritonobsError) -> str:
    if isinstance(error, TimedOut):
        return "timeout"
    if isinstance(error, SecretUnusable):
        return "secret"
    return "unreachable" if isinstance(error, Unreachable) else "bad_answer"


class Sent:
    """In memory only: alerts that began before `since` may have been sent, which is not known.

    An alert is known by its labels, not by its start: a restarted Alertmanager may give another one.
    """

    def __init__(self, *, since: datetime | None = None, most: int = _MOST) -> None:
        self._most = most
        self._since = since or datetime.now(timezone.utc)
        self._firing: dict[str, tuple[datetime | None, datetime | None]] = {}

    def add(self, alert: Alert) -> None:
        """An alert was sent; once it is resolved, it is forgotten."""
        key = alert.fingerprint
        # Also where it fires: it moves to the end, because the first one is the next to be forgotten.
        self._firing.pop(key, None)
        if not alert.firing:
            return
        self._firing[key] = alert.starts_at, alert.began
        if len(self._firing) > self._most:
            # The forgotten alert was sent, so from now on everything as old may have been sent.
            starts, _ = self._firing.pop(next(iter(self._firing)))
            self._since = max(self._since, starts or self._since)

    def add_unsure(self, alert: Alert) -> None:
        """An alert may have been sent: if it fires, it counts as sent; if it is resolved, it does not."""
        if alert.firing:
            self.add(alert)

    def has(self, alert: Alert) -> bool:
        """Whether it was, or may have been, sent while firing, and not sent as resolved."""
        return alert.fingerprint in self._firing and not self.has_later(alert)

    def has_later(self, alert: Alert) -> bool:
        """Whether it is an end that comes late: the alert fires again, and this was sent."""
        _, began = self._firing.get(alert.fingerprint, (None, None))
        return alert.ended_before(began)

    def may_have(self, alert: Alert) -> bool:
        """Whether it began before this record did."""
        return alert.starts_at is None or alert.starts_at <= self._since + _CLOCKS_DIFFER
