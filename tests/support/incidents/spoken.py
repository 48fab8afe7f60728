"""The messages that `serve` sends to a chat, with incidents and without a verdict: in virtual time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Final

from support.incidents.conversations import EPOCH, alert_of
from support.incidents.sieve import PureSieve
from support.virtual_time import run_virtual
from tritonobs.chats.dingtalk import Markdown, reply
from tritonobs.clients.alertmanager import ManagedAlert
from tritonobs.delivery.commit import Committer, Pace
from tritonobs.delivery.lane import Lane, Sent
from tritonobs.delivery.metrics import DeliveryMetrics
from tritonobs.delivery.payload import Payload
from tritonobs.extensions.incidents.ends import Answer
from tritonobs.plan.notify import Robot, SecretSource
from tritonobs.tasks import Supervisor

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from support.alertmanager_sim.alertmanager import Alertmanager, Call, Life
    from tritonobs.delivery.payload import Alert, State
    from tritonobs.extensions.incidents.incident import Fleet

_ROUND_SECONDS, _LIST_SECONDS, _AGAIN_SECONDS = 5.0, 60.0, 15.0
"""As `serve` does, and Alertmanager, which calls again what was not accepted."""
_LAST_SECONDS: Final = 600.0
"""What waits is sent by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A message that the chat accepted, at a moment of its world."""

    at: float
    alerts: tuple[Alert, ...]

    @property
    def severities(self) -> frozenset[str]:
        """Those of all alerts it names."""
        return frozenset(one.labels.get("severity", "") for one in self.alerts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    message: Markdown
    states: frozenset[State]


def spoken(
    manager: Alertmanager, lives: Sequence[Life], fleet: Fleet, *, receiver: str, until: float
) -> tuple[Spoken, ...]:
    """Every message to a receiver until a moment, of alerts whose lives are known."""
    calls = [one for one in manager.calls(lives, until=until) if one.receiver == receiver]
    return run_virtual(_heard(manager, lives, calls, PureSieve(fleet), until))


async def _heard(
    manager: Alertmanager, lives: Sequence[Life], calls: Iterable[Call], sieve: PureSieve, until: float
) -> tuple[Spoken, ...]:
    loop = asyncio.get_running_loop()
    said: list[Spoken] = []
    written: dict[str, tuple[Alert, ...]] = {}

    async def compose(alerts: Sequence[Alert], _robot: Robot, _most: int) -> list[_Page]:
        written[str(len(written))] = tuple(alerts)
        message = Markdown(title="", text=str(len(written) - 1))
        return [_Page(message=message, states=frozenset(one.state for one in alerts))]

    async def send(_robot: Robot, message: Markdown) -> object:
        said.append(Spoken(at=loop.time(), alerts=written.pop(message.text)))
        return reply(errcode=0, errmsg="ok")

    newest: dict[str, Call] = {}

    async def call(one: Call) -> None:
        await asyncio.sleep(one.at)
        newest[one.group] = one
        alerts = tuple(alert_of(life, one.at) for life in (*one.firing, *one.resolved))
        payload = Payload(groupKey=one.group, alerts=alerts)
        accepted = False
        # The next call of a group has all its alerts.
        while not accepted and newest[one.group] is one:
            accepted = (await committer.commit(payload)).accepted
            await asyncio.sleep(0.0 if accepted else _AGAIN_SECONDS)

    robot, metrics = (
        Robot(chat="dingtalk", name="oncall", webhook=SecretSource(env="NOWHERE")),
        DeliveryMetrics(),
    )
    lane = Lane(robot, send, metrics, now=0.0)
    # Everything of this world began after its process did.
    lane._chats.default_factory = lambda: Sent(since=datetime.fromtimestamp(EPOCH - 3600, timezone.utc))
    committer = Committer(robot.name, lambda: [lane], compose, metrics, Pace(), sieve=sieve)
    supervisor = Supervisor()
    supervisor.keep(robot.name, committer.deliver)
    tasks = [asyncio.create_task(call(one)) for one in calls]
    read_at = 0.0
    while loop.time() < until + _LAST_SECONDS:
        await asyncio.sleep(_ROUND_SECONDS)
        if not sieve.knows:
            continue
        if loop.time() - read_at >= _LIST_SECONDS:
            read_at = loop.time()
            sieve.read(_answer(manager, lives, loop.time()))
        for _, alerts in sieve.unasked():
            tasks.append(asyncio.create_task(committer.commit(Payload(alerts=alerts))))
    supervisor.close()
    for task in tasks:
        task.cancel()
    return tuple(said)


def _answer(manager: Alertmanager, lives: Iterable[Life], at: float) -> Answer:
    return Answer(
        run="1",
        alerts=tuple(
            ManagedAlert(
                fingerprint=alert_of(life, at).fingerprint,
                state="suppressed" if inhibited else "active",
                starts_at="",
                ends_at="",
                labels=life.labels,
                annotations={},
                receivers=(),
                silenced_by=(),
                inhibited_by=("1",) if inhibited else (),
            )
            for life, inhibited in manager.listed(lives, at)
        ),
    )
