"""Clients that send at a rate of their own, independent of responses, and count the answers."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

from tritonobs.extensions.lab.load.run import Wire

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

_TIMEOUT_SECONDS = 300.0
_NAP_SECONDS = 0.05


class OpenLoop:
    """Requests of one command at `qps` while the `with` block runs; leaving it waits for every answer.

    `sent`, `ok` and `failed` (by kind) count requests. With a seed, requests come at random (Poisson).
    """

    def __init__(
        self, url: str, model: str, command: str, qps: float, *, version: str = "", seed: int | None = None
    ) -> None:
        self.sent = 0
        self.ok = 0
        self.failed: Counter[str] = Counter()
        self._target = (url, model, version)
        self._command = command.encode()
        self._qps = qps
        self._random = None if seed is None else random.Random(seed)  # noqa: S311 (spacing of test traffic)
        self._ready, self._stopping = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name=f"load {model}")

    def __enter__(self) -> Self:
        self._thread.start()
        # A server that is stopped next would never tell what its model takes.
        self._ready.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Send no more, and wait for what was sent."""
        self._stopping.set()
        self._thread.join()

    async def _run(self) -> None:
        url, model, version = self._target
        wire = Wire([url], model=model, version=version, timeout_seconds=_TIMEOUT_SECONDS, connections=5000)
        waiting: set[asyncio.Task[None]] = set()
        try:
            try:
                await wire.prepare()
            finally:
                self._ready.set()
            due = time.monotonic()
            while not await self._stopped_before(due):
                task = asyncio.create_task(self._ask(wire))
                waiting.add(task)
                task.add_done_callback(waiting.discard)
                due += self._random.expovariate(self._qps) if self._random else 1 / self._qps
            await asyncio.gather(*waiting)
        finally:
            await wire.close()

    async def _stopped_before(self, due: float) -> bool:
        """Wait until a moment of the monotonic clock; whether the sending was stopped meanwhile."""
        while (left := due - time.monotonic()) > 0:
            if self._stopping.is_set():
                break
            await asyncio.sleep(min(left, _NAP_SECONDS))
        return self._stopping.is_set()

    async def _ask(self, wire: Wire) -> None:
        self.sent += 1
        failure = await wire.send(self._command)
        if failure is None:
            self.ok += 1
        else:
            self.failed[failure.kind] += 1
