"""All robots together: one committer for each, lanes shared by robots that replace each other.

Secrets are read each at the moment it is used: a new one in its file needs no restart. The evidence of their
messages is where a model's time goes, from Prometheus' records: no message waits long for it, or fails
without it.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from jinja2 import Template

from tritonobs import names
from tritonobs.chats.chat import Message, Reply
from tritonobs.chats.registry import robot_chat
from tritonobs.clients.chat import ChatClient, require_webhook
from tritonobs.clients.prometheus import PrometheusClient, Reading
from tritonobs.clients.secrets import Secret, read_secret
from tritonobs.delivery.commit import Committer, Pace
from tritonobs.delivery.composer import Composer, DigestPage, Said
from tritonobs.delivery.lane import Lane
from tritonobs.delivery.metrics import DeliveryMetrics
from tritonobs.delivery.payload import Alert, Sieve
from tritonobs.delivery.view import plain
from tritonobs.errors import SecretUnusable
from tritonobs.plan.fleet import Plan
from tritonobs.plan.notify import Notify, Robot
from tritonobs.tasks import Supervisor, Threads
from tritonobs.units import format_percent, literal

_log = logging.getLogger(__name__)
_SEND_SECONDS = 10.0
"""More than the client's own patience: what is left is the name service and the disk."""
_WRITE_SECONDS = 20.0
_ABOVE_SECONDS = 2.0
"""How long a message waits for what stands above its alerts."""
Above = Callable[[Sequence[Alert], Robot], Awaitable[Sequence[Said]]]
"""Lines above the alerts of a robot's message: what is wrong, and what to do. Names in them are data."""
Subject = tuple[str, str, str]
"""A cluster ("" where there is only one), a model of it, and its version."""
_PATIENCE_SECONDS = 1.5
_MOST_MODELS = 20
_MOST_STAGES = 3
_SMALLEST_SHARE = 0.05


class Delivery:
    """Delivers alerts to the robots of the fleet file in use. Made and used inside one event loop."""

    def __init__(
        self,
        plan: Plan,
        templates: Mapping[str, Template],
        client: ChatClient,
        *,
        metrics: DeliveryMetrics,
        supervisor: Supervisor,
        pace: Pace | None = None,
        above: Above | None = None,
        sieve: Sieve | None = None,
    ) -> None:
        self._sieve = sieve
        self._supervisor = supervisor
        self._above = above
        self._client = client
        self._metrics = metrics
        self._pace = pace or Pace()
        self._writing = Threads("messages")
        self._sending: dict[str, Threads] = {}
        self._lanes: dict[str, Lane] = {}
        self._committers: dict[str, Committer] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        self._evidence = Evidence(plan.addresses.prometheus_url, metrics)
        self.apply(plan, templates)

    def apply(self, plan: Plan, templates: Mapping[str, Template]) -> None:
        """Use this fleet file from now on. A robot that stays keeps its budget and its waiting calls."""
        self._composer = Composer(
            plan=plan, templates=templates, unshown=lambda robot: self._metrics.unshown(robot.name)
        )
        now = asyncio.get_running_loop().time()
        robots = {robot.name: robot for robot in plan.notify.robots}
        for name, robot in robots.items():
            lane = self._lanes.get(name)
            if lane and lane.robot.chat == robot.chat:
                lane.robot = robot
                continue
            # Also where the name is now that of a robot of another chat, which has a budget of its own.
            self._lanes[name] = Lane(robot, self._send, self._metrics, now=now)
            self._metrics.known(name, robot.chat)
            if lane is None:
                self._sending[name] = Threads(f"robot {name}")
                self._committers[name] = self._committer(name)
                self._supervisor.keep(_task(name), self._committers[name].deliver)
        for name in self._committers.keys() - robots.keys():
            del self._lanes[name], self._sending[name]
            self._metrics.forget(name)
            self._leave(self._retire(name, self._committers.pop(name)))
        if plan.addresses.prometheus_url != self._evidence.url:
            self._evidence.close()
            self._evidence = Evidence(plan.addresses.prometheus_url, self._metrics)

    def begin(self) -> None:
        """Deliver from now on, instead of another process.

        Its last minute and our first one share the robots' budgets, as after a restart. What it sent to its
        chats is not known here.
        """
        now = asyncio.get_running_loop().time()
        for name, lane in self._lanes.items():
            self._lanes[name] = Lane(lane.robot, self._send, self._metrics, now=now)

    def committer(self, robot: str, chat: str = "") -> Committer | None:
        """Where calls for this robot go, if the fleet file has it, and in this chat where one is said."""
        lane = self._lanes.get(robot)
        return self._committers.get(robot) if lane and chat in {"", lane.robot.chat} else None

    def measure(self) -> None:
        """Bring the gauges up to now."""
        now = asyncio.get_running_loop().time()
        for name, lane in self._lanes.items():
            self._metrics.budget.labels(name).set(lane.remaining(now))
            self._metrics.mute.labels(name).set(lane.muted(now))
            self._metrics.waiting.labels(name).set(self._committers[name].waiting)

    async def close(self) -> None:
        """Finish the digests on their way; answer all others with 503, so that they try again."""
        closing = [committer.close("tritonobs serve is stopping") for committer in self._committers.values()]
        await asyncio.gather(*closing, *self._leaving)
        self._evidence.close()

    def _committer(self, name: str) -> Committer:
        # The lanes are looked up for every digest: reloads and `begin` replace them.
        return Committer(
            name, lambda: self._line_of(name), self._compose, self._metrics, self._pace, sieve=self._sieve
        )

    def _line_of(self, name: str) -> Sequence[Lane]:
        """The robot and its failover robots."""
        lane = self._lanes.get(name)
        if lane is None:
            return ()
        return (lane, *(self._lanes[other] for other in lane.robot.failover if other in self._lanes))

    async def _send(self, robot: Robot, message: Message) -> Reply:
        def send() -> Reply:
            return self._client.send(robot_chat(robot.chat), *robot_secrets(robot), message)

        # The lane may have gone while its last message waited.
        threads = self._sending.get(robot.name) or Threads(f"robot {robot.name}")
        return await threads.run(send, seconds=_SEND_SECONDS)

    async def _compose(
        self, alerts: Sequence[Alert], robot: Robot, most_bytes: int
    ) -> tuple[DigestPage, ...]:
        composer = self._composer
        models = [alert.labels.get(names.MODEL, "") for alert in alerts if alert.firing]
        label = composer.plan.rules.cluster_label
        shares, above = await asyncio.gather(self._evidence.shares(models, label), self._lines(alerts, robot))
        # Thousands of alerts take seconds; other callers are answered meanwhile.
        return await self._writing.run(
            lambda: composer.write(alerts, shares, robot, most_bytes, above), seconds=_WRITE_SECONDS
        )

    async def _lines(self, alerts: Sequence[Alert], robot: Robot) -> Sequence[Said]:
        """What stands above these alerts; nothing where it is not known in time."""
        if self._above is None:
            return ()
        try:
            return await asyncio.wait_for(self._above(alerts, robot), _ABOVE_SECONDS)
        except asyncio.TimeoutError:
            return ()
        except Exception:  # noqa: BLE001 (the message is sent in any case)
            _log.exception("the lines above the alerts of this message failed")
            return ()

    async def _retire(self, name: str, committer: Committer) -> None:
        await committer.close(f"robot {name} is no longer in the fleet file")
        # A robot that came back meanwhile has a new task of the same name.
        if name not in self._committers:
            self._supervisor.drop(_task(name))

    def _leave(self, closing: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(closing)
        # asyncio itself keeps only a weak reference to a task.
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)


def _task(robot: str) -> str:
    return f"robot {robot}"


def robot_secrets(robot: Robot) -> tuple[Secret, Secret | None]:
    """Webhook and signing secret (None for an unsigned robot).

    Raises:
        SecretUnusable: one is missing, empty or readable by every user.
    """
    return _webhook(robot), _signing_secret(robot)


def _webhook(robot: Robot) -> Secret:
    return read_secret(robot.webhook, owner=f"robot {robot.name}: webhook")


def _signing_secret(robot: Robot) -> Secret | None:
    source = robot.secret
    return read_secret(source, owner=f"robot {robot.name}: signing secret") if source else None


def robot_faults(robot: Robot) -> Iterator[str]:
    """Every reason why a robot cannot be used: a secret that cannot be read, a webhook of another chat."""
    try:
        webhook = _webhook(robot)
    except SecretUnusable as error:
        yield str(error)
    else:
        try:
            # An address that replaces the vendor's may have any scheme.
            require_webhook(robot_chat(robot.chat), webhook, anywhere=True)
        except SecretUnusable as error:
            yield f"robot {robot.name}: {error}"
    try:
        _signing_secret(robot)
    except SecretUnusable as error:
        yield str(error)


def check_secrets(notify: Notify) -> None:
    """Nothing, when the secrets of every robot and webhook can be used.

    Raises:
        SecretUnusable: as above, for the first that cannot.
    """
    for robot in notify.robots:
        robot_secrets(robot)
    for webhook in notify.relayed:
        if webhook.secret:
            read_secret(webhook.secret, owner=f"webhook {webhook.name}")


class Evidence:
    """Asks one Prometheus where a model's time goes."""

    def __init__(self, url: str, metrics: DeliveryMetrics) -> None:
        self.url = url
        self._client = PrometheusClient(url, timeout_seconds=_PATIENCE_SECONDS, retries=0)
        self._metrics = metrics
        self._threads = Threads("evidence", most=4)

    async def shares(
        self, models: Iterable[str], cluster_label: str = names.CLUSTER
    ) -> Mapping[Subject, str]:
        """`queue 64%, detector 23%` by cluster, model and version; empty without an answer at once."""
        asked = sorted({model for model in models if model})[:_MOST_MODELS]
        if not asked:
            return {}
        try:
            # A limit of its own: the client's covers neither the name service nor the wait for a thread.
            found = await self._threads.run(
                lambda: _told(self._client.query(_query(asked)), cluster_label), seconds=_PATIENCE_SECONDS
            )
        except Exception as error:  # noqa: BLE001 (the message is sent in any case)
            self._metrics.evidence.labels("failed").inc()
            _log.debug("no latency breakdown for this message: %s", error)
            return {}
        self._metrics.evidence.labels("answered").inc()
        return found

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()


def _query(models: Iterable[str]) -> str:
    pattern = "|".join(re.escape(model) for model in models)
    wanted = f"{names.STAGE_SHARE}|{names.STAGE_MEAN}|{names.QUEUE_MEAN}|{names.REQUEST_MEAN}"
    return f'{{__name__=~"{wanted}",model=~{literal(pattern)}}}'


def _told(readings: Iterable[Reading], cluster_label: str) -> Mapping[Subject, str]:
    known: dict[Subject, _Spent] = defaultdict(_Spent)
    for reading in readings:
        cluster, model, version = (
            reading.labels.get(label, "") for label in (cluster_label, names.MODEL, names.VERSION)
        )
        spent = known[cluster, model, version]
        stage = reading.labels.get(names.STAGE, "")
        record = reading.labels.get("__name__", names.STAGE_SHARE)
        if record == names.STAGE_SHARE:
            spent.shares[stage] = reading.value
        elif record == names.STAGE_MEAN and stage == names.TOTAL_STAGE:
            spent.total = reading.value
        elif record == names.QUEUE_MEAN:
            spent.queue = reading.value
        elif record == names.REQUEST_MEAN:
            spent.request = reading.value
    return {key: phase for key, spent in known.items() if (phase := _largest(spent.parts()))}


@dataclass(slots=True)
class _Spent:
    """What the records say of one model version: seconds, and shares of the time in the model."""

    shares: dict[str, float] = field(default_factory=dict)
    total: float = 0.0
    queue: float = 0.0
    request: float = 0.0

    def parts(self) -> list[tuple[float, str]]:
        """Every part with its share of a whole request, the wait in Triton's queue among them."""
        inside = self.total or max(0.0, self.request - self.queue)
        whole = inside + self.queue
        if whole <= 0:
            return [(share, stage) for stage, share in self.shares.items()]
        # While traffic grows, stages are counted before their requests are; side by side they add up to more.
        scale = inside / whole / max(1.0, sum(self.shares.values()))
        parts = [(share * scale, stage) for stage, share in self.shares.items()]
        if not self.shares and inside:
            parts = [(inside / whole, "compute")]
        return [*parts, (self.queue / whole, "queue")] if self.queue else parts


def _largest(parts: list[tuple[float, str]]) -> str:
    """`queue 64%, detector 23%`: shares of a request, the largest first."""
    whole = max(1.0, sum(share for share, _ in parts))
    return ", ".join(
        f"{plain(stage, 60)} {format_percent(round(share / whole, 2))}"
        for share, stage in sorted(parts, reverse=True)[:_MOST_STAGES]
        if share / whole >= _SMALLEST_SHARE
    )
