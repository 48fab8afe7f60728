"""The messages that `serve` sends to a chat, with incidents and without a verdict: in virtual time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Final

from support.dingtalk import markdown, reply
from support.incidents.conversations import EPOCH, alert_of
from support.incidents.sieve import PureSieve
from support.virtual_time import run_virtual
from tritonobs.clients.alertmanager import ManagedAlert
from tritonobs.delivery.commit import Committer, Pace
from tritonobs.delivery.lane import Lane, Sent
from tritonobs.delivery.metrics import DeliveryMetrics
from tritonobs.delivery.payload import Payload
from tritonobs.extensions.incidents.ends import Answer
from tritonobs.plan.notify import Robot, SecretSource
from tritonobs.tasks import Supervisor

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from support.alertmanager_sim.alertmanager import Alertmanager, Call, Life
    from tritonobs.chats.chat import Message
    from tritonobs.delivery.payload import Alert, Sieve, State
    from tritonobs.extensions.incidents.incident import Fleet

    Above = Callable[[Sequence[Alert], Robot], Awaitable[Sequence[object]]]

_ROUND_SECONDS, _LIST_SECONDS, _AGAIN_SECONDS = 5.0, 60.0, 15.0
"""As `serve` does, and Alertmanager, which calls again what was not accepted."""
_LAST_SECONDS: Final = 600.0
"""What waits is sent by then."""
ROBOT: Final = Robot(chat="dingtalk", name="oncall", webhook=SecretSource(env="NOWHERE"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A message that the chat accepted, at a moment of its world."""

    at: float
    alerts: tuple[Alert, ...]
    above: tuple[object, ...] = ()
    """What stands above them."""

    @property
    def severities(self) -> frozenset[str]:
        """Those of all alerts it names."""
        return frozenset(one.labels.get("severity", "") for one in self.alerts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    message: Message
    states: frozenset[State]


def spoken(
    manager: Alertmanager, lives: Sequence[Life], fleet: Fleet, *, receiver: str, until: float
) -> tuple[Spoken, ...]:
    """Every message to a receiver until a moment, of alerts whose lives are known."""
    calls = [one for one in manager.calls(lives, until=until) if one.receiver == receiver]
    return run_virtual(_heard(manager, lives, calls, PureSieve(fleet), until))


class Conversation:
    """A chat that takes every message at once, and the delivery to it, in virtual time.

    Made inside an event loop. Its world begins at `zero`, a Unix time. `above` is asked what stands above the
    alerts of each message.
    """

    def __init__(self, sieve: Sieve, *, zero: float = EPOCH, above: Above | None = None) -> None:
        self.said: list[Spoken] = []
        self._zero, self._above = zero, above
        self._written: dict[str, Spoken] = {}
        self._newest: dict[str, Call] = {}
        metrics = DeliveryMetrics()
        lane = Lane(ROBOT, self._send, metrics, now=0.0)
        # Everything of this world began after its process did.
        lane._chats.default_factory = lambda: Sent(since=datetime.fromtimestamp(zero - 3600, timezone.utc))
        self._committer = Committer(ROBOT.name, lambda: [lane], self._compose, metrics, Pace(), sieve=sieve)
        self._supervisor = Supervisor()
        self._supervisor.keep(ROBOT.name, self._committer.deliver)
        self._tasks = set[asyncio.Task[None]]()

    def close(self) -> None:
        """Deliver no more."""
        self._supervisor.close()
        for task in self._tasks:
            task.cancel()

    def expect(self, calls: Iterable[Call]) -> None:
        """Take these calls of Alertmanager when they come."""
        self._tasks.update(asyncio.create_task(self._call(one)) for one in calls)

    def say(self, alerts: Sequence[Alert]) -> None:
        """Deliver a message about these that no call brought."""
        self._tasks.add(asyncio.create_task(self._say(tuple(alerts))))

    async def _say(self, alerts: tuple[Alert, ...]) -> None:
        await self._committer.commit(Payload(alerts=alerts))

    async def _call(self, one: Call) -> None:
        await asyncio.sleep(one.at)
        self._newest[one.group] = one
        alerts = tuple(alert_of(life, one.at, self._zero) for life in (*one.firing, *one.resolved))
        payload = Payload(groupKey=one.group, alerts=alerts)
        accepted = False
        # The next call of a group has all its alerts.
        while not accepted and self._newest[one.group] is one:
            accepted = (await self._committer.commit(payload)).accepted
            await asyncio.sleep(0.0 if accepted else _AGAIN_SECONDS)

    async def _compose(self, alerts: Sequence[Alert], robot: Robot, _most: int) -> list[_Page]:
        above = await self._above(alerts, robot) if self._above else ()
        number = str(len(self._written))
        self._written[number] = Spoken(at=0.0, alerts=tuple(alerts), above=tuple(above))
        message = markdown(title="", text=number)
        return [_Page(message=message, states=frozenset(one.state for one in alerts))]

    async def _send(self, _robot: Robot, message: Message) -> object:
        now = asyncio.get_running_loop().time()
        self.said.append(replace(self._written.pop(message.text), at=now))
        return reply(errcode=0, errmsg="ok")


async def _heard(
    manager: Alertmanager, lives: Sequence[Life], calls: Iterable[Call], sieve: PureSieve, until: float
) -> tuple[Spoken, ...]:
    loop = asyncio.get_running_loop()
    chat = Conversation(sieve)
    chat.expect(calls)
    read_at = 0.0
    while loop.time() < until + _LAST_SECONDS:
        await asyncio.sleep(_ROUND_SECONDS)
        if not sieve.knows:
            continue
        if loop.time() - read_at >= _LIST_SECONDS:
            read_at = loop.time()
            sieve.read(Answer(run="1", alerts=listed(manager, lives, loop.time())))
        for _, alerts in sieve.unasked():
            chat.say(alerts)
    chat.close()
    return tuple(chat.said)


def listed(manager: Alertmanager, lives: Iterable[Life], at: float) -> tuple[ManagedAlert, ...]:
    """What Alertmanager lists at a moment of its world."""
    return tuple(
        ManagedAlert(
            fingerprint=alert_of(life, at).fingerprint,
            state="suppressed" if inhibited else "active",
            starts_at="",
            ends_at="",
            labels=life.labels,
            annotations={},
            silenced_by=(),
            inhibited_by=("1",) if inhibited else (),
        )
        for life, inhibited in manager.listed(lives, at)
    )
