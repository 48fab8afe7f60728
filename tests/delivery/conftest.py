"""A committer with robots that answer as a test tells them, in virtual time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from support.dingtalk import markdown, reply
from tritonobs.chats.chat import Message, Reply
from tritonobs.chats.dingtalk import MOST_BYTES
from tritonobs.delivery.commit import Committer, Pace
from tritonobs.delivery.lane import Lane
from tritonobs.delivery.metrics import DeliveryMetrics
from tritonobs.errors import TimedOut
from tritonobs.tasks import Supervisor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tritonobs.delivery.payload import Alert
    from tritonobs.plan.notify import Robot

ACCEPTED = reply(errcode=0, errmsg="ok")


class AnswerLost(TimedOut):
    """What the sender sees of a message that the robot accepted."""


@dataclass(frozen=True, kw_only=True)
class _Page:
    message: Message
    states: frozenset[tuple[str, str, str]]


@dataclass(kw_only=True)
class Bench:
    """A committer with robots that answer as told; `sent` is (second, robot, names in the message)."""

    committer: Committer
    lanes: list[Lane]
    sent: list[tuple[float, str, list[str]]] = field(default_factory=list)
    answers: dict[str, list[Reply | Exception]] = field(default_factory=dict)
    delay_seconds: float = 0.0
    page_size: int = 100
    poison: dict[str, Reply] = field(default_factory=dict)
    """Words, and what every robot answers to a message that has one."""
    most_taken: int = MOST_BYTES
    """What every robot takes, in bytes."""
    refused: int = 0
    slips: dict[str, Exception] = field(default_factory=dict)
    supervisor: Supervisor = field(default_factory=Supervisor)
    metrics: DeliveryMetrics = field(default_factory=DeliveryMetrics)

    async def send(self, robot: Robot, message: Message) -> Reply:
        """The robot's next answer; accepted when it has none left."""
        await asyncio.sleep(self.delay_seconds)
        queue = self.answers.get(robot.name, [])
        answer = queue.pop(0) if queue else ACCEPTED
        for word, said in self.poison.items():
            answer = said if word in message.text else answer
        if len(message.body()) > self.most_taken:
            answer = reply(errcode=460101, errmsg="too long")
        self.refused += answer != ACCEPTED
        if isinstance(answer, AnswerLost) or answer == ACCEPTED:
            names = message.text.split()
            self.sent.append((asyncio.get_running_loop().time(), robot.name, names))
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def compose(self, alerts: Sequence[Alert], robot: Robot, most_bytes: int) -> list[_Page]:
        """Pages of `page_size` names."""
        assert robot.language == "en"
        assert most_bytes == MOST_BYTES or self.most_taken < MOST_BYTES
        if robot.name in self.slips:
            raise self.slips.pop(robot.name)
        pages = [alerts[at : at + self.page_size] for at in range(0, len(alerts), self.page_size)]
        return [
            _Page(
                message=_shortened(" ".join(map(_named, page)), most_bytes),
                states=frozenset(one.state for one in page),
            )
            for page in pages
        ]

    @property
    def named(self) -> list[str]:
        """Every name in every accepted message."""
        return [name for _, _, names in self.sent for name in names]

    @property
    def counted(self) -> tuple[float | None, ...]:
        """`tritonobs_delivery_alerts_total`: firing alerts, and resolved ones."""
        name, value = "tritonobs_delivery_alerts_total", self.metrics.registry.get_sample_value
        return tuple(value(name, {"robot": "oncall", "status": status}) for status in ("firing", "resolved"))


def _shortened(text: str, most_bytes: int) -> Message:
    """What is too long loses its end."""
    bare = len(markdown(title="t", text="").body())
    return markdown(title="t", text=text[: most_bytes - bare])


def _named(alert: Alert) -> str:
    """`detector:firing`, and behind it what a chat may not take."""
    return f"{alert.labels['model']}:{alert.status}{alert.annotations.get('poison', '')}"


@pytest.fixture
def answer_lost() -> AnswerLost:
    """A message that arrived, and an answer that did not."""
    return AnswerLost("no answer within 5 s")


@pytest.fixture
def bench(robot) -> Callable[..., Bench]:
    """Makes a bench, with robots of these names, the first preferred."""

    def make(*names: str, hold_seconds: float = 30.0, **more: object) -> Bench:
        made = Bench(committer=None, lanes=[], **more)  # type: ignore[arg-type] # filled in two lines below
        now, metrics = asyncio.get_running_loop().time(), made.metrics
        made.lanes = [Lane(robot(name), made.send, metrics, now=now) for name in names or ("oncall",)]
        made.committer = Committer(
            "oncall", lambda: made.lanes, made.compose, metrics, Pace(hold_seconds=hold_seconds)
        )
        made.supervisor.keep("oncall", made.committer.deliver)
        return made

    return make
