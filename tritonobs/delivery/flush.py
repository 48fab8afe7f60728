"""One digest on its way: through the preferred robot, and through its failover robots."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tritonobs.delivery.lane import Outcome

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from tritonobs.clients.dingtalk import Markdown
    from tritonobs.delivery.lane import Lane
    from tritonobs.delivery.payload import Alert
    from tritonobs.plan.notify import Robot

    State = tuple[str, str, str]
    Compose = Callable[[Sequence[Alert], Robot, int], Awaitable[Sequence["Page"]]]

_PATIENCE_SECONDS = 5.0
"""How long a digest waits for its own robot rather than going to another."""
_PAGE_PATIENCE_SECONDS = 15.0


class Page(Protocol):
    """One message of a digest and the alerts it names."""

    @property
    def message(self) -> Markdown:
        """What to send."""

    @property
    def states(self) -> frozenset[State]:
        """Which alerts it names, in which state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flushed:
    """Which alerts were named in every chat they are for, and which need no telling.

    Those were resolved before any chat named them, or go on beside such ones and are known. `slip` is what
    kept a robot's messages from being made.
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
        """Send until every alert is named or no robot takes more; an end goes to chats that have it."""
        now = asyncio.get_running_loop().time()
        needless = frozenset(alert.state for alert in alerts if self._unsent(alert))
        rest = [alert for alert in alerts if alert.state not in needless]
        if needless and all(alert.firing and self._known(alert) for alert in rest):
            # Alertmanager called because of those ends alone: the rest of their group is no news.
            needless, rest = needless.union(alert.state for alert in rest), []
        named: set[State] = set()
        slip = None
        for lane in self.lanes:
            due = [alert for alert in rest if self._is_for(alert, lane, named)]
            if not due or lane.ready_at(now) - now > _PATIENCE_SECONDS:
                continue
            try:
                await self._send_through(lane, due, named)
            except Exception as error:  # noqa: BLE001 (what was sent stays sent; a failover robot may send the rest)
                slip = error
        # A chat that took the end has forgotten the alert. Where one still knows it, the end is not settled.
        waited_for = {alert.state for alert in rest if not alert.firing and self._known(alert)}
        return Flushed(named=frozenset(named - waited_for), needless=needless, slip=slip)

    def _known(self, alert: Alert) -> bool:
        return any(lane.sent(self.robot).has(alert) for lane in self.lanes)

    def _unsent(self, alert: Alert) -> bool:
        """Whether it is resolved, and none of these robots was sent it or can have been."""
        sent = [lane.sent(self.robot) for lane in self.lanes]
        return not alert.firing and not any(one.has(alert) or one.may_have(alert) for one in sent)

    def _is_for(self, alert: Alert, lane: Lane, named: set[State]) -> bool:
        """A firing alert is for the first robot that takes it, a resolved one for every chat that has it."""
        if not alert.firing and self._known(alert):
            return lane.sent(self.robot).has(alert)
        return alert.state not in named

    async def _send_through(self, lane: Lane, alerts: Sequence[Alert], named: set[State]) -> None:
        """Add to `named` what this robot took; the first message it does not take is the last."""
        loop = asyncio.get_running_loop()
        sent = lane.sent(self.robot)
        by_state = {alert.state: alert for alert in alerts}
        for page in await self.compose(alerts, lane.robot, lane.most_bytes):
            wait = lane.open_at(loop.time()) - loop.time()
            if wait > _PAGE_PATIENCE_SECONDS:
                return
            await asyncio.sleep(max(0.0, wait))
            outcome = await lane.send(page.message)
            for state in page.states:
                if outcome is Outcome.TAKEN:
                    sent.add(by_state[state])
                elif outcome is Outcome.UNKNOWN:
                    sent.add_unsure(by_state[state])
            if outcome is not Outcome.TAKEN:
                return
            named |= page.states
