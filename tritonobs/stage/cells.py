"""The records of this process: the known keys, and the count of dropped records.

A forked child has no flusher and no Triton: what it records is lost, and counted.
"""

from __future__ import annotations

import importlib
import logging
import mmap
import os
import threading
import weakref
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final, Protocol

from tritonobs.stage import series
from tritonobs.stage.record import IN_PYTHON, Key, Numbers, Recorder, timed

_LONGEST_LABEL: Final = 128
_SLOTS: Final = 512
_log = logging.getLogger("tritonobs.stage")


def asked_for_python() -> bool:
    """Whether the environment asks for the record path in Python."""
    return bool(os.environ.get("TRITONOBS_PURE_PYTHON"))


def _fastest() -> type[Recorder]:
    if not asked_for_python():
        with suppress(ImportError):  # not built for this machine
            compiled: type[Recorder] = importlib.import_module("tritonobs.stage._record").Recorder
            return compiled
    return Recorder


FASTEST: Final = _fastest()
"""What this process records with."""
COMPILED: Final[bool] = FASTEST is not Recorder
PATH: Final = "compiled" if COMPILED else "python"


def record_path() -> str:
    """Which record path this process uses, and why where it is not the compiled one."""
    if COMPILED:
        return "compiled"
    if asked_for_python():
        return "Python, because TRITONOBS_PURE_PYTHON is set"
    return "Python, because none was compiled at installation, which needs a C compiler and Python.h"


class Cells:
    """The numbers of one worker. They only grow; a reader remembers how far it has read.

    `record` takes records from any thread and never raises. What a forked child records is lost; how much it
    was is in the totals of its parent.
    """

    def __init__(
        self, bounds_seconds: tuple[float, ...], max_label_sets: int, recorder: type[Recorder] = FASTEST
    ) -> None:
        self.examples: dict[str, str] = {}
        self._bounds_seconds = bounds_seconds
        self._max_label_sets = max_label_sets
        self._known: set[Key] = set()
        self._dropped = dict.fromkeys(series.DROP_REASONS, 0.0)
        # Reentrant: a signal handler may record while its own thread is in here.
        self._lock = threading.RLock()
        self._lost = Losses()
        self.record = recorder(self._open, self.drop, timed, IN_PYTHON)
        tell_in_children(self)

    def declare(self, keys: Iterable[Key | str]) -> None:
        """Let these label sets exist from the start, at 0."""
        for key in keys:
            if isinstance(key, str):
                self.record.distribute(key, 0, 0)
            else:
                self.record.count(key, 0)

    def bounds(self, key: Key) -> tuple[float, ...]:
        """Bucket bounds of a distribution, without the infinite one; nothing for a count."""
        if key[0] == series.STAGE_DURATION:
            return self._bounds_seconds
        if key[0] == series.STAGE_SIZE:
            return series.SIZE_BOUNDS.get(key[-1], series.OTHER_SIZE_BOUNDS)
        return ()

    def totals(self) -> dict[Key, Numbers]:
        """What all threads recorded until now."""
        totals = {_whole(key): numbers for key, numbers in self.record.totals().items()}
        with self._lock:
            dropped = self._dropped | {series.FORKED: self._lost.total()}
        return totals | {(series.FLUSH_DROPPED, reason): [n] for reason, n in dropped.items()}

    def drop(self, reason: str, n: float, what: object) -> None:
        """Count `n` records that are not passed on, for one of `series.DROP_REASONS`."""
        if reason == series.FORKED:
            self._lost.add(n)
            return
        with self._lock:
            self._dropped[reason] += n
            if reason not in self.examples:
                # As ASCII: it may hold what no log can encode, like a lone surrogate.
                self.examples[reason] = ascii(what)[:200]

    def fork(self) -> None:
        """Pass on nothing any more: this is a forked child, and its numbers have no reader."""
        # The child lacks the thread that may hold the old lock.
        self._lock = threading.RLock()
        self.record.fork()

    def _open(self, short: Key | str, n: float) -> tuple[float, ...] | None:
        """The bucket bounds of a new key; nothing if the key may not be used."""
        key = _whole(short)
        if key is short and key[0] == series.STAGE_DURATION:
            key = (key[0], "")  # only a stage's name alone leads to its duration
        known_outcome = key[0] != series.REQUESTS or key[1] in series.OUTCOMES
        if key[0] not in series.FAMILIES or not known_outcome or not all(map(_is_label, key[1:])):
            self.drop("invalid", n, key)
            return None
        with self._lock:
            # Two threads may open one key at once in the compiled path: it takes one place.
            if key not in self._known:
                if len(self._known) >= self._max_label_sets:
                    self.drop("label_cap", n, key)
                    return None
                self._known.add(key)
        return self.bounds(key)


def _is_label(value: object) -> bool:
    """Whether Triton and Prometheus can hold the text; they cannot hold lone surrogates and NUL."""
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_LABEL or "\0" in value:
        return False
    return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)


def _whole(key: Key | str) -> Key:
    """A stage alone is short for its duration; what is not text stays to be refused."""
    return key if isinstance(key, tuple) else (series.STAGE_DURATION, key)


class _Told(Protocol):
    def fork(self) -> None:
        """What to do in a child."""


class Losses:
    """A number that a process and its forked children add to, in memory they share.

    Each process writes to a slot of its own, unless the system numbers two alike at the same time.
    """

    def __init__(self) -> None:
        self._slots = memoryview(mmap.mmap(-1, _SLOTS * 8)).cast("d")
        self._told = False

    def add(self, n: float) -> None:
        """Add to it, and say so once in this process."""
        # No lock works across processes: of two that add to one slot, one addition could be lost.
        self._slots[os.getpid() % _SLOTS] += n
        if not self._told:
            self._told = True
            _log.warning(
                "process %d was forked: what it records does not reach Triton and is counted as dropped; "
                "time the call in the process that made the stages",
                os.getpid(),
            )

    def total(self) -> float:
        """The sum of all of them."""
        return sum(self._slots)


def tell_in_children(one: _Told) -> None:
    """Call `one.fork` in every child that is forked while it lives."""
    _watched.add(one)


def _in_child() -> None:
    for one in list(_watched):
        one.fork()


# A function given to `register_at_fork` stays forever: weak references release ended stages.
_watched: weakref.WeakSet[Any] = weakref.WeakSet()
os.register_at_fork(after_in_child=_in_child)
