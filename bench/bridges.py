"""Three ways from Alertmanager's calls to a robot, in virtual time: two common ones of DingTalk, and ours."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from support.dingtalk import markdown
from support.incidents.sieve import PureSieve
from tritonobs.chats.chat import Heard, Message, Reply, Verdict
from tritonobs.chats.registry import robot_chat
from tritonobs.delivery.commit import Committer, Pace
from tritonobs.delivery.composer import Composer
from tritonobs.delivery.lane import Lane
from tritonobs.delivery.metrics import DeliveryMetrics
from tritonobs.extensions.incidents.incident import Fleet
from tritonobs.extensions.lab.robot import RobotRules
from tritonobs.extensions.lab.vendors import VENDORS
from tritonobs.plan.build import build_plan
from tritonobs.spec.load import load_fleet
from tritonobs.tasks import Supervisor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tritonobs.delivery.composer import DigestPage
    from tritonobs.delivery.payload import Alert, Payload, Sieve
    from tritonobs.plan.fleet import Plan
    from tritonobs.plan.notify import Robot

_ANSWER_SECONDS = 0.2
_EXAMPLE = Path(__file__).parent.parent / "examples" / "fleet.yaml"


class Vendor:
    """One robot, as strict as its vendor's; `shown` is (second, text) of every message in the group."""

    def __init__(self, chat: str = "dingtalk") -> None:
        self.chat = chat
        self.rules = RobotRules(token="", vendor=VENDORS[chat])
        self.shown: list[tuple[float, str]] = []
        self.attempts = 0

    async def send(self, message: Message) -> Reply:
        """Judge one message; the answer takes a fifth of a second."""
        await asyncio.sleep(_ANSWER_SECONDS)
        self.attempts += 1
        now = asyncio.get_running_loop().time()
        vendor = self.rules.vendor
        judgement, seen = self.rules.judge({vendor.token_field: ""}, message.body(), now)
        if seen:
            self.shown.append((now, seen.text))
        headers = {name.lower(): value for name, value in judgement.headers.items()}
        return robot_chat(self.chat).read(
            Heard(status=judgement.status, headers=headers, body=vendor.written(judgement))
        )


class PerGroup:
    """One message for each call; DingTalk's refusal becomes a 400."""

    name = "one message per group, 400 on error"

    def __init__(self, vendor: Vendor) -> None:
        self._vendor = vendor

    async def webhook(self, payload: Payload) -> int:
        """Send and pass the verdict on."""
        text = "\n".join(alert.labels["model"] for alert in payload.alerts)
        answer = await self._vendor.send(markdown(title="alerts", text=text))
        return 200 if answer.verdict is Verdict.ACCEPTED else 400


class PerAlert:
    """One message for each alert; 200 for every answer of DingTalk."""

    name = "one message per alert, 200 always"

    def __init__(self, vendor: Vendor) -> None:
        self._vendor = vendor

    async def webhook(self, payload: Payload) -> int:
        """Send and forget."""
        for alert in payload.alerts:
            await self._vendor.send(markdown(title="alert", text=alert.labels["model"]))
        return 200


class GroupCommit:
    """What `tritonobs serve` runs, without its sockets."""

    name = "tritonobs (group commit)"

    def __init__(self, vendor: Vendor) -> None:
        plan = build_plan(load_fleet(_EXAMPLE), _EXAMPLE.parent)
        self._vendor = vendor
        self._composer = Composer(plan=plan, templates={})
        metrics = DeliveryMetrics()
        (robot,) = plan.notify.robots
        chat = robot_chat(vendor.chat)
        robot = replace(robot, chat=chat.name, messages_per_minute=chat.per_minute())
        lane = Lane(robot, self._send, metrics, now=asyncio.get_running_loop().time())
        self._committer = Committer(
            robot.name, lambda: (lane,), self._compose, metrics, Pace(), sieve=self._sieve(plan)
        )
        Supervisor().keep(robot.name, self._committer.deliver)

    @staticmethod
    def _sieve(plan: Plan) -> Sieve | None:
        """Every alert is sent as it comes."""
        del plan

    async def webhook(self, payload: Payload) -> int:
        """200 when every alert of the call stands in an accepted message, else 503."""
        answer = await self._committer.commit(payload)
        return 200 if answer.accepted else 503

    async def _send(self, _: Robot, message: Message) -> Reply:
        return await self._vendor.send(message)

    async def _compose(
        self, alerts: Sequence[Alert], robot: Robot, most_bytes: int
    ) -> tuple[DigestPage, ...]:
        return self._composer.write(alerts, {}, robot, most_bytes)


class Conversations(GroupCommit):
    """The same with incidents: what can wait for the next message of its incident waits."""

    name = "tritonobs (incidents)"

    @staticmethod
    def _sieve(plan: Plan) -> Sieve | None:
        """That of `serve`, without its threads."""
        return PureSieve(Fleet.of(plan))
