"""An event loop whose clock stops while work is done and jumps while all tasks wait.

Half an hour of asyncio code runs in the time its computations take, always in the same order. Only timers
make it jump: code that waits for a thread or for the network has no place in it.
"""

from __future__ import annotations

import asyncio
import selectors
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

_T = TypeVar("_T")


class _Jumping(selectors.DefaultSelector):
    """Instead of waiting, moves the clock on."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready now; with nothing ready and no timer set, all tasks would wait for ever."""
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("all tasks wait, and no timer is set")
        if not ready and timeout:
            self.now += timeout
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Starts at second `start` of its own time."""

    def __init__(self, start: float = 0.0) -> None:
        self._jumping = _Jumping()
        self._jumping.now = start
        super().__init__(self._jumping)

    def time(self) -> float:
        """Seconds on the virtual clock."""
        return self._jumping.now


def run_virtual(main: Coroutine[None, None, _T], *, start: float = 0.0) -> _T:
    """Run to its end in virtual time; what it left running is cancelled."""
    loop = VirtualTimeLoop(start)
    try:
        asyncio.set_event_loop(loop)
        result = loop.run_until_complete(main)
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        return result
    finally:
        asyncio.set_event_loop(None)
        loop.close()
