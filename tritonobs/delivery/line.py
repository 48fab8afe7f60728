"""One digest through the robot it is for, or through its failover robots.

A message whose content a chat refuses is divided, until the alert that it does not take is alone. The others
are delivered. That one is sent once more without its texts, and then alone, less and less often.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from tritonobs.delivery.composer import DigestPage
from tritonobs.delivery.lane import Lane, Outcome
from tritonobs.delivery.payload import Alert, State
from tritonobs.plan.notify import Robot

Compose = Callable[[Sequence[Alert], Robot, int], Awaitable[Sequence[DigestPage]]]

_PATIENCE_SECONDS = 5.0
"""How long a digest waits for its own robot rather than going to another."""
_PAGE_PATIENCE_SECONDS = 15.0
_MOST_REFUSED: Final = 8
"""Messages of a digest that a chat may refuse before the rest waits for the next one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flushed:
    """Which alerts were named in every chat they are for, and which need not be sent.

    The latter were resolved before any chat named them, or are known and came with such alerts. `slip` is
    what kept a robot's messages from being made.
    """

    named: frozenset[State] = frozenset()
    needless: frozenset[State] = frozenset()
    slip: Exception | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The robot that alerts are for and its failover robots, the preferred one first."""

    robot: str
    lanes: Sequence[Lane]
    compose: Compose

    async def flush(self, alerts: Sequence[Alert]) -> Flushed:
        """Send until every alert is named or no robot accepts more; an end goes to chats that have it."""
        now = asyncio.get_running_loop().time()
        needless = frozenset(alert.state for alert in alerts if self._unsent(alert))
        rest = [alert for alert in alerts if alert.state not in needless]
        if needless and all(alert.firing and self._known(alert) for alert in rest):
            # Alertmanager called because of those ends alone: the chats know the rest of their group.
            needless, rest = needless.union(alert.state for alert in rest), []
        named: set[State] = set()
        slip = None
        for lane in self.lanes:
            due = [alert for alert in rest if self._is_for(alert, lane, named)]
            if not due or lane.ready_at(now) - now > _PATIENCE_SECONDS:
                continue
            try:
                await self._send_through(lane, due, named, last=lane is self.lanes[-1])
            except Exception as error:  # noqa: BLE001 (what was sent stays sent; a failover robot may send the rest)
                slip = error
        # A chat that took the end has forgotten the alert. Where one still knows it, the end is not settled.
        waited_for = {alert.state for alert in rest if not alert.firing and self._known(alert)}
        return Flushed(named=frozenset(named - waited_for), needless=needless, slip=slip)

    def _known(self, alert: Alert) -> bool:
        return any(lane.sent(self.robot).has(alert) for lane in self.lanes)

    def _unsent(self, alert: Alert) -> bool:
        """Whether it is resolved, and certainly none of these robots was sent it."""
        if alert.firing or self._known(alert):
            return False
        return self.late(alert) or not any(lane.sent(self.robot).may_have(alert) for lane in self.lanes)

    def late(self, alert: Alert) -> bool:
        """Whether it is the end of an earlier episode, and no chat has more of that alert than the later one.

        A second Alertmanager sends such an end when it was cut off from the first.
        """
        later = any(lane.sent(self.robot).has_later(alert) for lane in self.lanes)
        return later and not self._known(alert)

    def _is_for(self, alert: Alert, lane: Lane, named: set[State]) -> bool:
        """A firing alert is for the first robot that accepts it, a resolved one for chats that have it."""
        if not alert.firing and self._known(alert):
            return lane.sent(self.robot).has(alert)
        return alert.state not in named

    async def _send_through(
        self, lane: Lane, alerts: Sequence[Alert], named: set[State], *, last: bool
    ) -> None:
        """Add to `named` what this robot accepted; stop where it accepts no message.

        An undocumented answer may be about the content. It is looked into where no other robot can take over.
        """
        batches = deque(lane.batches(alerts))
        refused = taken = 0
        while batches:
            batch = batches.popleft()
            for page in await self.compose(batch.alerts, lane.robot, batch.most_bytes):
                told = [one for one in batch.alerts if one.state in page.states]
                outcome = await self._send(lane, page, told, probing=refused > 0)
                if outcome is Outcome.TAKEN:
                    named |= page.states
                    taken += 1
                    continue
                refused += 1
                # Of two halves one is taken, unless the robot takes nothing: then no alert is to blame.
                odd = outcome is Outcome.ODD and last and refused <= taken + 2 and (taken or len(told) > 1)
                if refused > _MOST_REFUSED or not (odd or outcome in (Outcome.CONTENT, Outcome.SHORT)):
                    return
                batches.extend(lane.instead(told, outcome, len(page.message.body())))

    async def _send(self, lane: Lane, page: DigestPage, told: Sequence[Alert], *, probing: bool) -> Outcome:
        loop = asyncio.get_running_loop()
        wait = lane.open_at(loop.time(), probing=probing) - loop.time()
        if wait > _PAGE_PATIENCE_SECONDS:
            return Outcome.REFUSED
        await asyncio.sleep(max(0.0, wait))
        outcome = await lane.send(page.message)
        sent = lane.sent(self.robot)
        for alert in told:
            if outcome is Outcome.TAKEN:
                sent.add(alert)
            elif outcome is Outcome.UNKNOWN:
                sent.add_unsure(alert)
        return outcome
