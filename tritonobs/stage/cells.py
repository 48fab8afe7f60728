"""The records of this process: the known keys, and the count of dropped records."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from tritonobs.stage import series
from tritonobs.stage.calls import timed
from tritonobs.stage.forks import Losses, tell_in_children
from tritonobs.stage.handles import IN_PYTHON

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tritonobs.stage.record import Key, Numbers, Recorder
else:
    from tritonobs.stage.record import Recorder

    if not os.environ.get("TRITONOBS_PURE_PYTHON"):
        with suppress(ImportError):  # not built for this machine
            from tritonobs.stage._record import Recorder

COMPILED: Final[bool] = Recorder.__module__.endswith("._record")
_LONGEST_LABEL: Final = 128


PATH: Final = "compiled" if COMPILED else "python"


def asked_for_python() -> bool:
    """Whether the environment asks for the record path in Python."""
    return bool(os.environ.get("TRITONOBS_PURE_PYTHON"))


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
        self, bounds_seconds: tuple[float, ...], max_label_sets: int, recorder: type[Recorder] = Recorder
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
