"""Blocking calls beside the event loop: disk, network, and computations that take long."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

from tritonobs.errors import TimedOut

_T = TypeVar("_T")


class Threads:
    """At most `most` calls at once, each in a daemon thread of its own.

    Pools of asyncio and anyio are joined when the process ends, and all code shares them: a few calls that
    never return would fill them, and keep the process from ending.
    """

    def __init__(self, name: str, *, most: int = 1) -> None:
        self._name = name
        self._free = asyncio.Semaphore(most)

    async def run(self, call: Callable[[], _T], *, seconds: float) -> _T:
        """What the call returns or raises.

        Raises:
            TimedOut: it did not begin (others are at it) or did not end within `seconds`. What has begun goes
                on, and keeps its place until it ends.
        """
        try:
            return await asyncio.wait_for(self._run(call), seconds)
        except asyncio.TimeoutError:
            raise TimedOut(f"{self._name}: not done within {seconds:g} s") from None

    async def _run(self, call: Callable[[], _T]) -> _T:
        await self._free.acquire()
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[_T] = loop.create_future()

        def finish(result: _T | None, error: Exception | None) -> None:
            # Here and not in `work`: semaphores of asyncio belong to the event loop.
            self._free.release()
            if outcome.done():
                return  # The waiter is gone.
            if error:
                outcome.set_exception(error)
            else:
                outcome.set_result(result)  # type: ignore[arg-type] # without an error it is a _T

        def work() -> None:
            result, error = None, None
            try:
                result = call()
            except BaseException as raised:  # noqa: BLE001 (raised again where it is awaited)
                error = _carried(raised)
            # A closed loop has no waiters left.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(finish, result, error)

        try:
            threading.Thread(target=work, name=self._name, daemon=True).start()
        except RuntimeError:
            self._free.release()
            raise
        return await outcome


def _carried(error: BaseException) -> Exception:
    """An error that a future can carry, and that is not taken for a call that took too long."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration | asyncio.TimeoutError):
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")
