"""Writes the log of limits beside the event loop: a full disk or a held lock delays nothing else."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from tritonobs.errors import TritonobsError
from tritonobs.limits.change import log_of, note_file
from tritonobs.limits.log import ANNOTATION, Author, LimitsLog
from tritonobs.plan.annotations import Annotated
from tritonobs.tasks.threads import Threads

_log = logging.getLogger(__name__)
_PATIENCE_SECONDS = 10.0
_MOST_CHANGES = 1000
_AUTHOR = Author(who="unknown", source=ANNOTATION, reason="annotated in Kubernetes")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Annotations:
    """What they said from a moment on."""

    said: Annotated
    at: datetime


class LogKeeper:
    """Writes down what changed, in order. What cannot be written waits, the last 1,000 changes at most."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._threads = Threads("limits log")
        self._loop = asyncio.get_running_loop()
        self._something = asyncio.Event()
        self._annotations: deque[_Annotations] = deque(maxlen=_MOST_CHANGES)
        self._file_changed = False
        self._log: LimitsLog | None = None

    def file_changed(self) -> None:
        """Another fleet file is in use."""
        self._file_changed = True
        self._something.set()

    def annotated(self, said: Annotated) -> None:
        """Annotations changed; from any thread."""
        self._annotations.append(_Annotations(said=said, at=datetime.now(timezone.utc)))
        self._loop.call_soon_threadsafe(self._something.set)

    def log(self) -> LimitsLog:
        """The log of the fleet file in use. Reads files.

        Raises:
            SpecInvalid: the fleet file is wrong, and no good one was read before.
        """
        if self._log is None:
            self._log = log_of(self._path)
        return self._log

    async def write(self) -> None:
        """One round: wait for a change, write all there is.

        Raises:
            TritonobsError: it could not be written now; the next round tries again.
        """
        await self._something.wait()
        # Before the work: what comes meanwhile raises it again.
        self._something.clear()
        try:
            await self._threads.run(self._write, seconds=_PATIENCE_SECONDS)
        except BaseException:
            self._something.set()
            raise

    def _write(self) -> None:
        try:
            if self._file_changed:
                self._note()
            while self._annotations:
                # It leaves the queue only when it is written: a full disk loses nothing.
                change = self._annotations[0]
                self._record(change)
                # Where there are too many, the oldest may have left by itself meanwhile.
                if self._annotations[0] is change:
                    self._annotations.popleft()
        except OSError as error:
            raise TritonobsError(f"the log of limits cannot be written: {error.strerror or error}") from error

    def _note(self) -> None:
        # Lowered first: a change that comes meanwhile raises it again.
        self._file_changed = False
        try:
            entries = note_file(self._path)
            self._log = log_of(self._path)
        except BaseException:
            self._file_changed = True
            raise
        for entry in entries:
            _log.info("%s: %s → %s", entry.field, entry.old or "nothing", entry.new or "nothing")

    def _record(self, change: _Annotations) -> None:
        log = self.log()
        with log.turn():
            log.record(change.said.limits, _AUTHOR, change.at, change.said.writers)
