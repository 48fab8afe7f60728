"""All robots together: one committer for each, lanes shared by those that stand in for one another."""

from __future__ import annotations

import asyncio
import zoneinfo
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from tritonobs import names
from tritonobs.serve.commit import Committer, Pace
from tritonobs.serve.digest import DigestPage, Style, compose
from tritonobs.serve.evidence import Evidence
from tritonobs.serve.lane import Lane
from tritonobs.serve.secrets import robot_secrets
from tritonobs.serve.view import Reader, view
from tritonobs.serve.words import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping, Sequence

    from tritonobs.clients.dingtalk import DingTalk, Markdown, Reply
    from tritonobs.plan.notify import Robot
    from tritonobs.serve.config import Served
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
        self._served = served
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
        plan, words = self._served.plan, LANGUAGES[robot.language]
        firing = [alert for alert in alerts if alert.firing]
        shares = await self._evidence.shares(alert.labels.get(names.MODEL, "") for alert in firing)
        reader = Reader(
            words=words,
            zone=zoneinfo.ZoneInfo(plan.notify.timezone),
            now=datetime.now(timezone.utc),
            alertmanager_url=plan.addresses.alertmanager_url,
            chinese=robot.language == "zh",
            mentions=robot.mentions,
        )
        style = Style(
            words=words,
            place=plan.fleet if plan.cluster in {"", "default"} else f"{plan.fleet} / {plan.cluster}",
            template=self._served.templates.get(robot.name),
            keyword=robot.keyword,
        )
        views = [view(alert, reader, _evidence_line(alert, shares, reader)) for alert in alerts]
        return compose(views, style, most_bytes)

    def _leave(self, closing: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(closing)
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)


def _evidence_line(alert: Alert, shares: Mapping[tuple[str, str], str], reader: Reader) -> str:
    """The stages of the alert's own version, or of the only version there is evidence for."""
    model, version = alert.labels.get(names.MODEL, ""), alert.labels.get(names.VERSION, "")
    told = shares.get((model, version), "")
    if not told and not version:
        found = [(key, text) for key, text in shares.items() if key[0] == model]
        (_, version), told = found[0] if len(found) == 1 else (("", ""), "")
    return reader.words.evidence.format(told) if told else ""
