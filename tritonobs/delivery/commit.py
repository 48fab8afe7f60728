"""Group commit: calls that arrive together share one digest, and are answered once it was accepted.

Nothing is stored. A call that cannot be delivered is answered "come again" (503), and Alertmanager does.
What was accepted but could not be acknowledged (the caller had gone, or another part of its call failed) is
remembered for some minutes in memory, so that the repeated call does not tell it twice.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tritonobs.delivery.flush import Line
from tritonobs.delivery.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tritonobs.delivery.flush import Compose
    from tritonobs.delivery.lane import Lane
    from tritonobs.delivery.metrics import DeliveryMetrics
    from tritonobs.delivery.payload import Alert, Payload

    State = tuple[str, str, str]

# With 5 s for the Lease and 10 s for last answers this stays below the 30 s that Kubernetes waits.
_LAST_SEND_SECONDS = 8.0
_MOST_IN_DIGEST = 10_000
"""Alerts, or those of one call: to write more takes longer than a digest may take."""
_MOST_WAITING = 50_000
"""Alerts: what comes above that comes again."""
_INTERNAL = "internal error, see the log of tritonobs serve"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to the caller; when it is not accepted, Alertmanager tries again."""

    accepted: bool
    reason: str = ""


@dataclass(slots=True, kw_only=True, eq=False)
class _Call:
    group_key: str
    alerts: tuple[Alert, ...]
    accepted: frozenset[State]
    """What else the call named: accepted already, and not acknowledged until now."""
    answer: asyncio.Future[Answer] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long calls wait to be grouped, and how long for a robot."""

    linger_seconds: float = 0.5
    hold_seconds: float = 30.0


class Committer:
    """Everything that is delivered to one robot, or to its failover robots.

    The caller calls `deliver` again and again; nothing is delivered otherwise.
    """

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
        self._sending = asyncio.Lock()
        self._closed = ""

    @property
    def waiting(self) -> int:
        """Calls without an answer."""
        return len(self._waiting)

    async def commit(self, payload: Payload) -> Answer:
        """Deliver the call's alerts; return when they were accepted, or when the caller should come again."""
        now = asyncio.get_running_loop().time()
        if self._closed:
            return self._answered(Answer(accepted=False, reason=self._closed), now)
        states = (one.state for one in payload.alerts)
        known = {state for state in states if self._ledger.accepted(payload.group_key, state, now)}
        fresh = tuple(one for one in payload.alerts if one.state not in known)
        if not fresh:
            self._ledger.acknowledge(payload.group_key, known)
            return self._answered(Answer(accepted=True), now)
        # For as long as the rest fails the call comes again, with these in it.
        self._ledger.remember(payload.group_key, known, now)
        if sum(len(one.alerts) for one in self._waiting) + len(fresh) > _MOST_WAITING:
            return self._answered(Answer(accepted=False, reason="too many alerts wait already"), now)
        call = _Call(group_key=payload.group_key, alerts=fresh, accepted=frozenset(known))
        self._waiting.append(call)
        self._arrived.set()
        try:
            answer = await asyncio.wait_for(call.answer, self._pace.hold_seconds)
        except asyncio.TimeoutError:
            answer = Answer(accepted=False, reason=self._why())
        finally:
            # Also where the caller left: Alertmanager comes again if its alerts still matter.
            if call in self._waiting:
                self._waiting.remove(call)
        return self._answered(answer, now)

    async def close(self, reason: str) -> None:
        """Let a digest on its way arrive; answer every waiting call, and every later one, "come again"."""
        self._closed = reason
        for call in self._waiting:
            if call not in self._leaving:
                _settle(call, Answer(accepted=False, reason=reason))
        # The lock is kept: no other digest begins. Who waits for one that takes too long comes again.
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._sending.acquire(), _LAST_SEND_SECONDS)
        for call in self._waiting:
            _settle(call, Answer(accepted=False, reason=reason))

    async def deliver(self) -> None:
        """One round: wait for calls, for others to group with and for a robot; send one digest.

        Raises:
            Exception: the digest could not be made; its callers were asked to try again.
        """
        await self._arrived.wait()
        await asyncio.sleep(self._pace.linger_seconds)
        await self._until_a_lane_is_ready()
        async with self._sending:
            self._arrived.clear()
            self._leaving = self._first()
            try:
                if self._leaving:
                    await self._flush(self._leaving)
            except Exception:
                self._metrics.failed(self._name, "internal")
                for call in self._leaving:
                    _settle(call, Answer(accepted=False, reason=_INTERNAL))
                raise
            finally:
                self._leaving = []
                # What did not fit into this digest has set no event since; it needs another round.
                if any(not call.answer.done() for call in self._waiting):
                    self._arrived.set()

    def _first(self) -> list[_Call]:
        """The calls of the next digest: who came first goes first."""
        calls: list[_Call] = []
        alerts = 0
        for call in self._waiting:
            if alerts >= _MOST_IN_DIGEST:
                break
            if not call.answer.done():
                calls.append(call)
                alerts += len(call.alerts)
        return calls

    async def _until_a_lane_is_ready(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            wait = min((lane.ready_at(loop.time()) for lane in self._lanes()), default=0.0) - loop.time()
            if wait <= 0:
                return
            # In steps: a reload may bring another robot, a caller may give up.
            await asyncio.sleep(min(wait, 1.0))

    async def _flush(self, calls: Sequence[_Call]) -> None:
        # Of two calls about one alert the later has its newer state, and both are settled by it.
        newest: dict[str, Alert] = {}
        for call in calls:
            newest.update({alert.fingerprint: alert for alert in call.alerts})
        line = Line(robot=self._name, lanes=self._lanes(), compose=self._compose)
        flushed = await line.flush(tuple(newest.values()))
        settled = flushed.named | flushed.needless
        accepted = {alert.fingerprint for alert in newest.values() if alert.state in settled}
        needless = {alert.fingerprint for alert in newest.values() if alert.state in flushed.needless}
        reason = _INTERNAL if flushed.slip else self._why()
        for call in calls:
            self._close_call(call, accepted, needless, reason)
        if flushed.slip:
            raise flushed.slip

    def _close_call(self, call: _Call, accepted: set[str], needless: set[str], reason: str) -> None:
        now = asyncio.get_running_loop().time()
        states = [alert.state for alert in call.alerts if alert.fingerprint in accepted]
        whole = len(states) == len(call.alerts)
        # Who left while the message was on its way gets no answer: what was accepted is remembered.
        if whole and not call.answer.done():
            _settle(call, Answer(accepted=True))
            self._ledger.acknowledge(call.group_key, call.accepted)
            self._metrics.named(
                self._name, [alert for alert in call.alerts if alert.fingerprint not in needless]
            )
            return
        self._ledger.remember(call.group_key, states, now)
        _settle(call, Answer(accepted=False, reason=reason))

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
