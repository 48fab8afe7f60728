"""Group commit: calls that arrive together share one digest, and are answered once it was accepted.

Nothing is stored. A call that cannot be delivered is answered "come again" (503), and Alertmanager repeats
it. Alerts that were accepted but could not be acknowledged (the caller had gone, or another part of its call
failed) are remembered for some minutes in memory, so that the repeated call does not send them twice. A call
with alerts that a later message is to name waits for that message, and is answered like any other.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tritonobs.delivery.lane import Lane
from tritonobs.delivery.line import Compose, Flushed, Line
from tritonobs.delivery.metrics import DeliveryMetrics
from tritonobs.delivery.payload import Alert, Payload, Sieve, State, Unsifted

# With 5 s for the Lease and 10 s for last answers this stays below the 30 s that Kubernetes waits.
_LAST_SEND_SECONDS = 8.0
_MOST_IN_DIGEST = 10_000
"""Alerts, or those of one call: to write more takes longer than a digest may take."""
_MOST_WAITING = 50_000
"""Alerts; calls above that number must come again."""
_INTERNAL = "internal error, see the log of tritonobs serve"

REMEMBERED_SECONDS = 900.0
"""Longer than any retry of Alertmanager's, far shorter than its repeat interval."""
_LATER = "some of its alerts wait for the next message of their incident"


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
    """Other alerts of the call: accepted already, and not acknowledged until now."""
    later: float = 0.0
    """When its alerts, which wait for a later message, are read again; the event loop's time."""
    answer: asyncio.Future[Answer] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long calls wait to be grouped, and how long for a robot."""

    linger_seconds: float = 0.5
    hold_seconds: float = 30.0


class Committer:
    """Everything that is delivered to one robot, or to its failover robots.

    A task calls `deliver` again and again; nothing is delivered without it.
    """

    def __init__(
        self,
        name: str,
        lanes: Callable[[], Sequence[Lane]],
        compose: Compose,
        metrics: DeliveryMetrics,
        pace: Pace,
        *,
        sieve: Sieve | None = None,
    ) -> None:
        self._name = name
        self._sieve = sieve or Unsifted()
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
        """Calls without an answer that wait for a message, not for a later one."""
        return sum(not call.later for call in self._waiting)

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
            answer = Answer(accepted=False, reason=_LATER if call.later else self._why())
        finally:
            # Also where the caller left: Alertmanager comes again if its alerts still matter.
            if call in self._waiting:
                self._waiting.remove(call)
        return self._answered(answer, now)

    async def close(self, reason: str) -> None:
        """Finish a digest that is being sent; answer every waiting and every later call "come again"."""
        self._closed = reason
        for call in self._waiting:
            if call not in self._leaving:
                _settle(call, Answer(accepted=False, reason=reason))
        # The lock is kept: no other digest begins. A call that waits for one for too long must come again.
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._sending.acquire(), _LAST_SEND_SECONDS)
        for call in self._waiting:
            _settle(call, Answer(accepted=False, reason=reason))

    async def deliver(self) -> None:
        """One round: wait for calls, for others to group with and for a robot; send one digest.

        Raises:
            Exception: the digest could not be made; its callers were asked to try again.
        """
        await self._until_something_is_due()
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
                if any(not call.answer.done() and not call.later for call in self._waiting):
                    self._arrived.set()

    async def _until_something_is_due(self) -> None:
        """A call comes, or one that waits for a later message has waited long enough."""
        now = asyncio.get_running_loop().time()
        soonest = min((call.later for call in self._waiting if call.later), default=None)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._arrived.wait(), None if soonest is None else max(0.0, soonest - now))

    def _first(self) -> list[_Call]:
        """The calls of the next digest, in the order of their arrival."""
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

    def _without_accepted(self, calls: Sequence[_Call]) -> list[_Call]:
        """The calls, without alerts that were accepted after they came: their caller repeats too early."""
        now = asyncio.get_running_loop().time()
        for call in calls:
            known = {
                one.state for one in call.alerts if self._ledger.accepted(call.group_key, one.state, now)
            }
            call.alerts = tuple(one for one in call.alerts if one.state not in known)
            call.accepted |= known
            if not call.alerts:
                _settle(call, Answer(accepted=True))
                self._ledger.acknowledge(call.group_key, call.accepted)
        return [call for call in calls if call.alerts]

    async def _flush(self, calls: Sequence[_Call]) -> None:
        calls = self._without_accepted(calls)
        if not calls:
            return
        newest = _newest(alert for call in calls for alert in call.alerts)
        line = Line(robot=self._name, lanes=self._lanes(), compose=self._compose)
        late = frozenset(one.state for one in newest.values() if line.late(one))
        sifted = await self._sieve.sift(
            self._name, tuple(one for one in newest.values() if one.state not in late)
        )
        due = [
            one for one in newest.values() if one.state not in sifted.known and one.state not in sifted.later
        ]
        flushed = await line.flush(due) if due else Flushed()
        self._sieve.named(self._name, flushed.named)
        # Once for each alert: calls share alerts, and a call that comes again is not sent what was accepted.
        self._metrics.named(self._name, [one for one in newest.values() if one.state in flushed.named])
        unsaid = flushed.needless | sifted.known
        accepted = {one.fingerprint for one in newest.values() if one.state in flushed.named | unsaid}
        reason = _INTERNAL if flushed.slip else self._why()
        later = {one.fingerprint: sifted.later.get(one.state) for one in newest.values()}
        for call in calls:
            self._close_call(call, accepted, later, reason)
        if flushed.slip:
            raise flushed.slip

    def _close_call(
        self, call: _Call, accepted: set[str], later: Mapping[str, float | None], reason: str
    ) -> None:
        """Answer a call, or let it wait for a later message if that is all that it waits for."""
        now = asyncio.get_running_loop().time()
        rest = [alert for alert in call.alerts if alert.fingerprint not in accepted]
        waits = [wait for alert in rest if (wait := later[alert.fingerprint]) is not None]
        states = frozenset(alert.state for alert in call.alerts if alert.fingerprint in accepted)
        call.later = 0.0
        # A caller that left while the message was sent gets no answer: accepted alerts are remembered.
        left = call.answer.done()
        if not rest and not left:
            _settle(call, Answer(accepted=True))
            self._ledger.acknowledge(call.group_key, call.accepted)
            return
        # If it comes again, its other alerts are not sent again.
        self._ledger.remember(call.group_key, states, now)
        if left or len(waits) < len(rest):
            _settle(call, Answer(accepted=False, reason=reason))
            return
        call.accepted |= states
        call.alerts = tuple(rest)
        # The next look is late rather than a moment too early, which would be the first of many.
        call.later = now + min(waits) + self._pace.linger_seconds

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


def _newest(alerts: Iterable[Alert]) -> dict[str, Alert]:
    """The newest state of each alert, by which all are settled: the last one, but an end that comes late."""
    newest: dict[str, Alert] = {}
    for alert in alerts:
        before = newest.get(alert.fingerprint)
        if before is None or not before.firing or not alert.ended_before(before.began):
            newest[alert.fingerprint] = alert
    return newest


def _settle(call: _Call, answer: Answer) -> None:
    if not call.answer.done():
        call.answer.set_result(answer)


class Ledger:
    """In memory only: if it is lost, a message is sent twice; none is lost."""

    def __init__(self) -> None:
        self._accepted: dict[tuple[str, State], float] = {}

    def remember(self, group_key: str, states: Iterable[State], now: float) -> None:
        """These were accepted, but the call that brought them was not answered with success."""
        self._accepted = {key: until for key, until in self._accepted.items() if until > now}
        self._accepted.update({(group_key, state): now + REMEMBERED_SECONDS for state in states})

    def accepted(self, group_key: str, state: State, now: float) -> bool:
        """Whether this was accepted already."""
        return self._accepted.get((group_key, state), 0.0) > now

    def acknowledge(self, group_key: str, states: Iterable[State]) -> None:
        """The caller was answered with success."""
        for state in states:
            self._accepted.pop((group_key, state), None)
