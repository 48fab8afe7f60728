"""Alertmanager's timing of calls, in virtual time, as far as a webhook sees it.

From its source (0.25; dispatch/dispatch.go, notify/notify.go, notify/util.go): a group is sent `group_wait`
after its first alert. A notification has the time of one `group_interval`, at least 10 s; within it a 5xx or
a broken connection is tried again after 0.5 s, 0.75 s and so on up to 60 s, each ±50 %; a 4xx ends it. What
was not accepted is tried again at the next tick of `group_interval`, what was accepted after
`repeat_interval`.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Awaitable, Callable

    from tritonobs.delivery.payload import Payload

    Webhook = Callable[[Payload], Awaitable[int]]

_LEAST_TIME_SECONDS = 10.0
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS, _GROWTH, _SPREAD = 0.5, 60.0, 1.5, 0.5
_OK, _CLIENT_ERROR, _SERVER_ERROR = 200, 400, 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """One route's settings, in seconds."""

    wait: float
    interval: float
    repeat: float


async def tell_group(payload: Payload, timing: Timing, webhook: Webhook, chance: random.Random) -> None:
    """Tell one group that stays as it is, for ever."""
    loop = asyncio.get_running_loop()
    await asyncio.sleep(timing.wait)
    accepted_at: float | None = None
    while True:
        tick = loop.time()
        if accepted_at is None or tick - accepted_at >= timing.repeat:
            accepted = await _notify(
                payload, tick + max(timing.interval, _LEAST_TIME_SECONDS), webhook, chance
            )
            accepted_at = loop.time() if accepted else None
        await asyncio.sleep(max(0.0, tick + timing.interval - loop.time()))


async def _notify(payload: Payload, until: float, webhook: Webhook, chance: random.Random) -> bool:
    loop = asyncio.get_running_loop()
    pause = _FIRST_PAUSE_SECONDS
    while (left := until - loop.time()) > 0:
        try:
            status = await asyncio.wait_for(webhook(payload), left)
        except asyncio.TimeoutError:
            return False
        if status < _SERVER_ERROR:
            return _OK <= status < _CLIENT_ERROR
        await asyncio.sleep(
            min(pause * chance.uniform(1 - _SPREAD, 1 + _SPREAD), max(0.0, until - loop.time()))
        )
        pause = min(pause * _GROWTH, _LONGEST_PAUSE_SECONDS)
    return False
