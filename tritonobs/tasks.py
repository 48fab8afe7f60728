"""What `tritonobs serve` does in the background: tasks that are repeated, and blocking calls in threads."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from tritonobs import names
from tritonobs.errors import TimedOut, TritonobsError

_log = logging.getLogger(__name__)
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 1.0, 15.0
# 2**1024 no longer fits into a float, and that many failures take hardly more than four hours.
_MOST_DOUBLINGS = 8
_WELL_AGAIN_SECONDS = 60.0
_LONGEST_REASON = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Failing:
    """A task that does not do its work: since when, and what it ended with last."""

    task: str
    since: datetime
    reason: str


class Supervisor(Collector):
    """Repeats each task's work, also after an exception. Made and used inside one event loop.

    A task fails from an exception on until a round of its work is done, or goes on for a minute. The pause
    before the next try doubles from 1 s to 15 s.
    """

    def __init__(self) -> None:
        self._tasks: dict[str, _Task] = {}

    def keep(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Do rounds of `work` until the task is dropped. It replaces one of the same name."""
        self.drop(name)
        self._tasks[name] = _Task(name, work)

    def drop(self, name: str) -> None:
        """Let the task end in the middle of its round; nothing where there is none."""
        task = self._tasks.pop(name, None)
        if task:
            task.end()

    def close(self) -> None:
        """Let all of them end."""
        for name in tuple(self._tasks):
            self.drop(name)

    def failing(self) -> tuple[Failing, ...]:
        """The tasks that do not do their work now."""
        found = (task.failing() for task in tuple(self._tasks.values()))
        return tuple(one for one in found if one)

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """How every task does, and how often it failed since it began."""
        up = GaugeMetricFamily(names.TASK_UP, "1 while the task does its work.", labels=(names.TASK,))
        failures = CounterMetricFamily(names.TASK_FAILURES, "Rounds that failed.", labels=(names.TASK,))
        # A copy: a thread writes the page, while tasks come and go in the event loop.
        for name, task in tuple(self._tasks.items()):
            up.add_metric((name,), int(task.failing() is None))
            failures.add_metric((name,), task.failures)
        yield up
        yield failures


class _Task:
    def __init__(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        self.failures = 0
        self._name = name
        self._work = work
        self._in_a_row = 0
        self._trouble: Failing | None = None
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._ending = False
        self._task = self._loop.create_task(self._run(), name=name)

    def failing(self) -> Failing | None:
        """What is wrong with it, if anything is."""
        return None if self._loop.time() - self._began > _WELL_AGAIN_SECONDS else self._trouble

    def end(self) -> None:
        """At any point of its work."""
        self._ending = True
        self._task.cancel()

    async def _run(self) -> None:
        while not self._ending:
            self._began = self._loop.time()
            error = await self._round()
            if error:
                await self._after(error)
            else:
                self._in_a_row, self._trouble = 0, None

    async def _round(self) -> Exception | None:
        """The result of the round; in a task of its own, to distinguish its own cancelling from ours."""
        inner = asyncio.ensure_future(self._work())
        try:
            await asyncio.wait([inner])
        finally:
            # `asyncio.wait` leaves it running when it is cancelled itself.
            inner.cancel()
        if inner.cancelled():
            return RuntimeError("cancelled from inside")
        error = inner.exception()
        if error is None or isinstance(error, Exception):
            return error
        raise error

    async def _after(self, error: Exception) -> None:
        reason = f"{error}" if isinstance(error, TritonobsError) else f"{type(error).__name__}: {error}"
        if self.failing() is None:
            self._in_a_row, self._trouble = 0, None
        since = self._trouble.since if self._trouble else datetime.now(timezone.utc)
        self._trouble = Failing(task=self._name, since=since, reason=reason[:_LONGEST_REASON])
        self.failures += 1
        # A traceback matters for a mistake of ours, not for a fault outside.
        trace = None if isinstance(error, TritonobsError) else error
        _log.error("task %s failed and is started again: %s", self._name, reason, exc_info=trace)
        pause = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2**self._in_a_row)
        self._in_a_row = min(self._in_a_row + 1, _MOST_DOUBLINGS)
        # Otherwise a long round and its pause could together pass for a round that goes well.
        self._began = self._loop.time()
        await asyncio.sleep(pause)


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
