"""All robots together: one committer for each, lanes shared by those that stand in for one another."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tritonobs.serve.commit import Committer, Pace
from tritonobs.serve.composer import Composer
from tritonobs.serve.evidence import Evidence
from tritonobs.serve.lane import Lane
from tritonobs.serve.secrets import robot_secrets

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from tritonobs.clients.dingtalk import DingTalk, Markdown, Reply
    from tritonobs.plan.notify import Robot
    from tritonobs.serve.config import Served
    from tritonobs.serve.digest import DigestPage
    from tritonobs.serve.metrics import DeliveryMetrics
    from tritonobs.serve.payload import Alert


class Delivery:
    """Delivers alerts to the robots of the fleet file in use. Made and used inside one event loop."""

    def __init__(
        self, served: Served, dingtalk: DingTalk, metrics: DeliveryMetrics, pace: Pace | None = None
    ) -> None:
        self._dingtalk = dingtalk
        self._metrics = metrics
        self._pace = pace or Pace()
        self._lanes: dict[str, Lane] = {}
        self._committers: dict[str, Committer] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        self._evidence = Evidence(served.plan.addresses.prometheus_url, metrics)
        self.apply(served)

    def apply(self, served: Served) -> None:
        """Use this fleet file from now on. A robot that stays keeps its budget and its waiting calls."""
        self._composer = Composer(plan=served.plan, templates=served.templates)
        now = asyncio.get_running_loop().time()
        robots = {robot.name: robot for robot in served.plan.notify.robots}
        for name, robot in robots.items():
            if name in self._lanes:
                self._lanes[name].robot = robot
            else:
                self._lanes[name] = Lane(robot, self._send, self._metrics, now=now)
                self._committers[name] = self._committer(name)
                self._metrics.known(name)
        for name in self._committers.keys() - robots.keys():
            del self._lanes[name]
            self._metrics.forget(name)
            self._leave(self._committers.pop(name).close(f"robot {name} is no longer in the fleet file"))
        if served.plan.addresses.prometheus_url != self._evidence.url:
            self._evidence.close()
            self._evidence = Evidence(served.plan.addresses.prometheus_url, self._metrics)

    def committer(self, robot: str) -> Committer | None:
        """Where calls for this robot go, if the fleet file has it."""
        return self._committers.get(robot)

    def measure(self) -> None:
        """Bring the gauges up to now."""
        now = asyncio.get_running_loop().time()
        for name, lane in self._lanes.items():
            self._metrics.budget.labels(name).set(lane.remaining(now))
            self._metrics.mute.labels(name).set(lane.muted(now))
            self._metrics.waiting.labels(name).set(self._committers[name].waiting)

    async def close(self) -> None:
        """Finish the digests on their way; answer everybody else "come again"."""
        closing = [committer.close("tritonobs serve is stopping") for committer in self._committers.values()]
        await asyncio.gather(*closing, *self._leaving)
        self._evidence.close()

    def _committer(self, name: str) -> Committer:
        return Committer(name, lambda: self._line_of(name), self._compose, self._metrics, self._pace)

    def _line_of(self, name: str) -> Sequence[Lane]:
        """The robot and those that stand in for it."""
        lane = self._lanes.get(name)
        if lane is None:
            return ()
        return (lane, *(self._lanes[other] for other in lane.robot.failover if other in self._lanes))

    async def _send(self, robot: Robot, message: Markdown) -> Reply:
        def send() -> Reply:
            return self._dingtalk.send(*robot_secrets(robot), message)

        return await asyncio.to_thread(send)

    async def _compose(
        self, alerts: Sequence[Alert], robot: Robot, most_bytes: int
    ) -> tuple[DigestPage, ...]:
        composer = self._composer
        shares = await self._evidence.shares(composer.models(alerts))
        return composer.write(alerts, shares, robot, most_bytes)

    def _leave(self, closing: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(closing)
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)
