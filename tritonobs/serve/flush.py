"""One digest on its way: through the preferred robot, and through those that stand in for it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from tritonobs.clients.dingtalk import Markdown
    from tritonobs.plan.notify import Robot
    from tritonobs.serve.lane import Lane
    from tritonobs.serve.payload import Alert

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


async def flush(alerts: Sequence[Alert], lanes: Sequence[Lane], compose: Compose) -> set[State]:
    """Send until every alert is named, or no robot takes more; which alerts were named."""
    now = asyncio.get_running_loop().time()
    named: set[State] = set()
    for lane in lanes:
        if lane.ready_at(now) - now <= _PATIENCE_SECONDS:
            await _send_through(lane, [one for one in alerts if one.state not in named], named, compose)
        if len(named) == len(alerts):
            break
    return named


async def _send_through(lane: Lane, alerts: Sequence[Alert], named: set[State], compose: Compose) -> None:
    """Add to `named` what this robot took; the first message it does not take is the last."""
    loop = asyncio.get_running_loop()
    for page in await compose(alerts, lane.robot, lane.most_bytes):
        wait = lane.open_at(loop.time()) - loop.time()
        if wait > _PAGE_PATIENCE_SECONDS:
            return
        await asyncio.sleep(max(0.0, wait))
        if not await lane.send(page.message):
            return
        named |= page.states
