"""What a chat hears of a planted fault: rules, Alertmanager, incidents and triage, all in virtual time.

The incidents are those of `serve` itself, with its looks for the cause. What it asks over the network is
answered here: Prometheus really, at the time of the world; the rest from what is known of the scene.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

import yaml

from planted.fault import Named
from planted.world import Recorded, target
from support.alertmanager_sim.alertmanager import Alertmanager, Life
from support.fleet_sim.order import EVERY_ALERT
from support.fleet_sim.world import live, product_rules
from support.incidents.incident import COUNTED, lives_of
from support.incidents.shop import CHAT
from support.incidents.spoken import Conversation, listed
from support.virtual_time import run_virtual
from tritonobs.clients.triton import RepositoryEntry
from tritonobs.errors import ClientError
from tritonobs.extensions.incidents import part
from tritonobs.extensions.triage import snapshot
from tritonobs.extensions.triage.snapshot import alerts_question, alerts_then
from tritonobs.render.alertmanager import render_alertmanager
from tritonobs.tasks import Supervisor
from tritonobs.timings import promql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from planted.lived import Planted, Target
    from support.fleet_sim.engine import Engine
    from tritonobs.delivery.payload import Alert
    from tritonobs.plan.notify import Robot

EVALUATION_SECONDS: Final = 15.0
_LOOK_SECONDS: Final = 1.0
"""What a look takes where it is quick; a message waits for 1.7 s."""
_LAST_SECONDS: Final = 600.0


@dataclass(frozen=True, kw_only=True)
class Message:
    """A message of warnings or pages, at a second of the world, and the cause that it names, if any."""

    at: float
    page: bool
    alerts: tuple[str, ...]
    said: tuple[str, ...]
    named: Named | None


@dataclass(frozen=True, kw_only=True)
class Heard:
    """A fault lived through: the alerts that count and the messages; `zero` is when its world began."""

    zero: float
    lives: tuple[Life, ...]
    messages: tuple[Message, ...]


def heard(engine: Engine, world: Planted) -> Heard:
    """Live through it with the rules of production, and deliver as `serve` does."""
    groups = product_rules(world.scrape_seconds, EVALUATION_SECONDS)
    names = tuple(rule["alert"] for group in groups for rule in group["rules"] if "alert" in rule)
    lived = live(engine, world, *names, EVERY_ALERT, groups=groups)
    lives = lives_of(lived)
    zero = lived.start_ms / 1000
    messages = run_virtual(_delivered(engine.url, world, lives, zero))
    return Heard(
        zero=zero,
        lives=tuple(one for one in lives if one.labels.get("severity") in COUNTED),
        messages=tuple(messages),
    )


async def _delivered(url: str, world: Planted, lives: Sequence[Life], zero: float) -> list[Message]:
    clock = _Clock(zero)
    manager = Alertmanager(yaml.safe_load(render_alertmanager(world.plan)[0].text))
    calls = [one for one in manager.calls(lives, until=world.seconds) if one.receiver == CHAT]
    with _serving(url, world, _Listing(manager, lives, clock), clock):
        supervisor = Supervisor()
        incidents = part.Incidents(world.plan, supervisor)

        async def above(alerts: Sequence[Alert], robot: Robot) -> list[object]:
            lines = [one.text for one in await incidents.above(alerts, robot)]
            keys = {one.fingerprint for one in alerts}
            causes = [one.cause for one in incidents.incidents if one.keys & keys and one.cause]
            told = [one for one in causes if any(one.sentence in line for line in lines)]
            return [lines, [_named(one, world) for one in told]]

        chat = Conversation(incidents, zero=zero, above=above)

        async def say(_robot: str, alerts: Sequence[Alert]) -> None:
            chat.say(alerts)

        incidents.may_say(say, lambda: True)
        chat.expect(calls)
        await asyncio.sleep(world.seconds + _LAST_SECONDS)
        supervisor.close()
        chat.close()
        incidents.close()
    return [
        Message(
            at=one.at,
            page="critical" in one.severities,
            alerts=tuple(f"{alert.labels['alertname']} {alert.status}" for alert in one.alerts),
            said=tuple(one.above[0]),
            named=next(iter(one.above[1]), None),
        )
        for one in chat.said
        if one.severities & COUNTED
    ]


def _named(cause: Any, world: Planted) -> Named:  # noqa: ANN401 (the answer of an extension)
    # Scenes name servers by their addresses.
    addresses = {one.name: one.address for one in world.fleet.replicas}
    return Named(
        check=cause.check,
        place=tuple(addresses.get(part, part) for part in cause.place),
        sentence=cause.sentence,
        since=cause.since,
        steps=cause.next_steps,
    )


class _Clock:
    """The time of the world, in place of the module `time`. Made inside the event loop."""

    def __init__(self, zero: float) -> None:
        self._zero, self.second = zero, asyncio.get_running_loop().time

    def time(self) -> float:
        """The Unix time."""
        return self._zero + self.second()

    monotonic = time


@contextmanager
def _serving(url: str, world: Planted, listing: _Listing, clock: _Clock) -> Iterator[None]:
    """The clock, the threads and the servers of `serve` are those of the world."""
    asked = part._Asked(  # noqa: SLF001 (its servers are simulated)
        prometheus=_Prometheus(url, world, clock),
        alertmanager=listing,
        replicas=tuple(_Server(world, one, clock) for one in world.targets),
        called={one.address: one.name for one in world.fleet.replicas},
    )
    with (
        mock.patch.object(part, "time", clock),
        mock.patch.object(snapshot, "time", clock),
        mock.patch.object(part, "Threads", _Inline),
        mock.patch.object(part, "_clients", return_value=asked),
    ):
        yield


class _Inline:
    """Work that is done at once; a look takes a while."""

    def __init__(self, name: str) -> None:
        self._name = name

    async def run(self, call: Callable[[], Any], *, seconds: float) -> Any:  # noqa: ANN401 (as the work)
        """What the call gives."""
        del seconds
        if self._name == "cause":
            result = call()
            await asyncio.sleep(_LOOK_SECONDS)
            return result
        return call()


class _Prometheus(Recorded):
    """One that lives at the time of the world."""

    def __init__(self, url: str, world: Planted, clock: _Clock) -> None:
        super().__init__(url, timeout_seconds=60.0)
        self._world, self._clock = world, clock

    def targets(self) -> tuple[Any, ...]:
        """Those of now."""
        errors, second = self._world.scene.errors, self._clock.second()
        states = ((one.address, one.at(second)) for one in self._world.targets)
        return tuple(
            target(address, answers=up, error=errors.get(address, "connection refused"))
            for address, up in states
            if up is not None
        )

    def alerts(self) -> tuple[Any, ...]:
        """Those of now."""
        now = self._clock.time()
        since = {
            frozenset(one.labels.items()): datetime.fromtimestamp(one.value, timezone.utc).isoformat()
            for one in self.query("ALERTS_FOR_STATE", at=now)
        }
        return tuple(
            replace(one, active_at=since.get(frozenset(one.labels.items()), ""))
            for one in alerts_then(self.query(alerts_question(promql.Scope()), at=now))
        )


class _Listing:
    """What Alertmanager lists. It is never restarted, and nobody silences anything."""

    address = "http://alertmanager"

    def __init__(self, manager: Alertmanager, lives: Sequence[Life], clock: _Clock) -> None:
        self._manager, self._lives, self._clock = manager, lives, clock

    def alerts(self) -> tuple[Any, ...]:
        """Those of now."""
        return listed(self._manager, self._lives, self._clock.second())

    @staticmethod
    def up_since() -> str:
        """Always the same."""
        return "1"

    @staticmethod
    def ready() -> bool:
        """It always is."""
        return True

    @staticmethod
    def silences() -> tuple[()]:
        """None."""
        return ()

    def close(self) -> None:
        """Nothing is open."""


class _Server:
    """A Triton server: its index of models, as long as it answers."""

    def __init__(self, world: Planted, seen: Target, clock: _Clock) -> None:
        self.address = f"http://{seen.address}"
        self._world, self._seen, self._clock = world, seen, clock

    def ready(self) -> bool:
        """Whether it is.

        Raises:
            ClientError: it does not answer.
        """
        if not self._seen.at(self._clock.second()):
            raise ClientError(f"{self.address} does not answer")
        return True

    def repository_index(self) -> tuple[RepositoryEntry, ...]:
        """The models that are not loaded while the fault lasts."""
        self.ready()
        during = self._world.begins <= self._clock.second() < self._world.ends
        return self._world.scene.entries if during else ()

    def close(self) -> None:
        """Nothing is open."""
