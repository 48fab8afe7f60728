"""Group commit: calls that arrive together share one digest, and none is answered before it was accepted.

Nothing is stored. A call that cannot be delivered is answered "come again" (503), and Alertmanager does.
What was accepted but could not be acknowledged (the caller had gone, or another part of its call failed) is
remembered for some minutes in memory, so that the repeated call does not tell it twice.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tritonobs.serve.flush import flush
from tritonobs.serve.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tritonobs.serve.flush import Compose
    from tritonobs.serve.lane import Lane
    from tritonobs.serve.metrics import DeliveryMetrics
    from tritonobs.serve.payload import Alert, Payload

_log = logging.getLogger(__name__)
_LAST_SEND_SECONDS = 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the caller is told; not accepted means: come again."""

    accepted: bool
    reason: str = ""


@dataclass(slots=True, kw_only=True, eq=False)
class _Call:
    group_key: str
    alerts: tuple[Alert, ...]
    answer: asyncio.Future[Answer] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long calls wait for company, and how long for a robot."""

    linger_seconds: float = 0.5
    hold_seconds: float = 30.0


class Committer:
    """Everything that is delivered to one robot, or to those that stand in for it."""

    def __init__(
        self,
        name: str,
        lanes: Callable[[], Sequence[Lane]],
        compose: Compose,
        metrics: DeliveryMetrics,
        pace: Pace,
    ) -> None:
        self._name = name
        self._lanes = lanes
        self._compose = compose
        self._metrics = metrics
        self._pace = pace
        self._ledger = Ledger()
        self._waiting: list[_Call] = []
        self._leaving: list[_Call] = []
        self._arrived = asyncio.Event()
        self._closed = ""
        self._task = asyncio.create_task(self._run(), name=f"deliver to {name}")

    @property
    def waiting(self) -> int:
        """Calls without an answer."""
        return len(self._waiting)

    async def commit(self, payload: Payload) -> Answer:
        """Deliver the call's alerts; return when they were accepted, or when the caller should come again."""
        now = asyncio.get_running_loop().time()
        if self._closed:
            return self._answered(Answer(accepted=False, reason=self._closed), now)
        untold = tuple(
            one for one in payload.alerts if not self._ledger.told(payload.group_key, one.state, now)
        )
        if not untold:
            self._ledger.acknowledge(payload.group_key, [one.state for one in payload.alerts])
            return self._answered(Answer(accepted=True), now)
        call = _Call(group_key=payload.group_key, alerts=untold)
        self._waiting.append(call)
        self._arrived.set()
        try:
            answer = await asyncio.wait_for(call.answer, self._pace.hold_seconds)
        except asyncio.TimeoutError:
            answer = Answer(accepted=False, reason=self._why())
        finally:
            if call in self._waiting:
                self._waiting.remove(call)
        return self._answered(answer, now)

    async def close(self, reason: str) -> None:
        """Let a digest on its way arrive; answer every waiting call, and every later one, "come again"."""
        self._closed = reason
        for call in self._waiting:
            if call not in self._leaving:
                _settle(call, Answer(accepted=False, reason=reason))
        await asyncio.wait([self._task], timeout=_LAST_SEND_SECONDS if self._leaving else 0)
        self._task.cancel()
        for call in self._waiting:
            _settle(call, Answer(accepted=False, reason=reason))

    async def _run(self) -> None:
        while not self._closed:
            await self._arrived.wait()
            await asyncio.sleep(self._pace.linger_seconds)
            await self._until_a_lane_is_ready()
            self._arrived.clear()
            calls = [call for call in self._waiting if not call.answer.done()]
            self._leaving = calls
            if calls:
                await self._try_flush(calls)
            self._leaving = []
            if any(not call.answer.done() for call in self._waiting):
                self._arrived.set()

    async def _until_a_lane_is_ready(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            wait = min((lane.ready_at(loop.time()) for lane in self._lanes()), default=0.0) - loop.time()
            if wait <= 0:
                return
            # In steps: a reload may bring another robot, a caller may give up.
            await asyncio.sleep(min(wait, 1.0))

    async def _try_flush(self, calls: Sequence[_Call]) -> None:
        """Whatever goes wrong inside, the callers get an answer and the next digest its turn."""
        try:
            await self._flush(calls)
        except Exception:  # noqa: BLE001 (a slip of ours must not end all deliveries)
            _log.exception("the digest for robot %s could not be made", self._name)
            self._metrics.failed(self._name, "internal")
            for call in calls:
                _settle(call, Answer(accepted=False, reason="internal error, see the log of tritonobs serve"))

    async def _flush(self, calls: Sequence[_Call]) -> None:
        newest: dict[str, Alert] = {}
        for call in calls:
            newest.update({alert.fingerprint: alert for alert in call.alerts})
        named = await flush(tuple(newest.values()), self._lanes(), self._compose)
        told = {alert.fingerprint for alert in newest.values() if alert.state in named}
        for call in calls:
            self._close_call(call, told)

    def _close_call(self, call: _Call, told: set[str]) -> None:
        now = asyncio.get_running_loop().time()
        states = [alert.state for alert in call.alerts if alert.fingerprint in told]
        whole = len(states) == len(call.alerts)
        if whole and not call.answer.done():
            _settle(call, Answer(accepted=True))
            self._metrics.named(self._name, call.alerts)
            return
        self._ledger.remember(call.group_key, states, now)
        _settle(call, Answer(accepted=False, reason=self._why()))

    def _why(self) -> str:
        spent = "no messages left in this minute"
        return (
            "; ".join(f"robot {lane.robot.name}: {lane.trouble or spent}" for lane in self._lanes())
            or "no robot"
        )

    def _answered(self, answer: Answer, arrived: float) -> Answer:
        self._metrics.answered(
            self._name, accepted=answer.accepted, seconds=asyncio.get_running_loop().time() - arrived
        )
        return answer


def _settle(call: _Call, answer: Answer) -> None:
    if not call.answer.done():
        call.answer.set_result(answer)
