"""The request path: records noted one by one, added up a handful at a time.

Nothing here waits, raises or knows a Metric object.
"""

from __future__ import annotations

import threading
import weakref
from bisect import bisect_left
from collections import deque
from operator import add, index
from typing import TYPE_CHECKING, Final

from tritonobs.stage import series

if TYPE_CHECKING:
    from collections.abc import Iterable

Key = tuple[str, ...]
"""A family and the values of its own labels, in the order of `series.FAMILIES`."""
Numbers = list[float]
"""Of a count: the count. Of a distribution: count and sum of each bucket in turn, lowest first, +Inf last."""
Cell = tuple[tuple[float, ...], Numbers]
"""Bucket bounds, none for a count, and the numbers."""
Record = tuple[Key | str, float, int | None]
"""A key and `n` observations of a value; of a count the amount, no `n`. A name alone: stage duration."""
_Cells = dict[Key | str, Cell]

LARGEST: Final = 1e12  # sums stay finite and counts exact for as long as a process can live
HANDFUL: Final = 256
"""Records wait until there are so many (or for the next flush): adding them up costs its cold caches once."""
_LONGEST_LABEL: Final = 128


class _Token:
    """Dies with the thread that holds it."""

    __slots__ = ("__weakref__",)


class _Mine(threading.local):
    """The cells of the calling thread; its first use in a thread enters them in `shards`."""

    def __init__(self, shards: list[tuple[weakref.ref[_Token], _Cells]]) -> None:
        self.cells: _Cells = {}
        self.settling = False
        self.token = _Token()
        shards.append((weakref.ref(self.token), self.cells))


class Cells:
    """All that was recorded in this process. Numbers only grow; a reader remembers how far it has read.

    Any thread notes records, and any thread settles what others noted, each record once. Each number has one
    writer, the thread it belongs to, so totals are exact without a lock on the way.
    """

    def __init__(self, bounds_seconds: tuple[float, ...], max_label_sets: int) -> None:
        self.examples: dict[str, str] = {}
        self._bounds_seconds = bounds_seconds
        self._max_label_sets = max_label_sets
        self._known: set[Key] = set()
        # Reentrant: a signal handler may record while its own thread is in here.
        self._lock = threading.RLock()
        self._shards: list[tuple[weakref.ref[_Token], _Cells]] = []
        self._gone: dict[Key, Numbers] = {}
        self._mine = _Mine(self._shards)
        self.records: deque[Record] = deque()
        self.note = self.records.append
        """Note a record that is known to hold numbers; whoever does calls `settle` at a `HANDFUL` of them."""

    def count(self, key: Key, n: float) -> None:
        """Add `n` to a count."""
        try:
            # As numbers now: what was given may change before it is added up.
            self.note((key, n if type(n) is int else float(n), None))
            if len(self.records) >= HANDFUL:
                self.settle()
        except Exception:  # noqa: BLE001 (a record never fails a request, whatever it was given)
            self._drop("invalid", 1, (key, n))

    def distribute(self, key: Key, value: float, n: int) -> None:
        """Add `n` observations of `value`."""
        try:
            self.note((key, float(value), index(n)))
            if len(self.records) >= HANDFUL:
                self.settle()
        except Exception:  # noqa: BLE001 (as above)
            self._drop("invalid", 1, (key, value, n))

    def settle(self) -> None:
        """Add up what was noted until now, in the calling thread's cells."""
        if self._mine.settling:
            return  # a signal handler or a finalizer recorded in the middle of this
        self._mine.settling = True
        cells = self._mine.cells
        try:
            for _ in range(len(self.records)):
                key, value, n = record = self.records.popleft()
                try:
                    if not (0 <= value <= LARGEST and (n is None or 0 <= n <= LARGEST)):
                        self._drop("invalid", 1, record)
                        continue
                    cell = cells.get(key) or self._open(key, value if n is None else n)
                    if cell is None:
                        continue
                    bounds, numbers = cell
                    if n is None:
                        numbers[0] += value
                    else:
                        at = 2 * bisect_left(bounds, value)
                        # The sum first: a reader in between never finds an observation without its value.
                        numbers[at + 1] += value * n
                        numbers[at] += n
                except Exception:  # noqa: BLE001 (as above)
                    self._drop("invalid", 1, record)
        except IndexError:
            return  # another thread took the rest
        finally:
            self._mine.settling = False

    def declare(self, keys: Iterable[Key]) -> None:
        """Let these label sets exist from the start, at 0."""
        for key in keys:
            self._open(key, 0)

    def bounds(self, key: Key) -> tuple[float, ...]:
        """Bucket bounds of a distribution, without the infinite one; nothing for a count."""
        if key[0] == series.STAGE_DURATION:
            return self._bounds_seconds
        if key[0] == series.STAGE_SIZE:
            return series.SIZE_BOUNDS.get(key[-1], series.OTHER_SIZE_BOUNDS)
        return ()

    def totals(self) -> dict[Key, Numbers]:
        """What all threads recorded until now. One thread at a time may ask."""
        self.settle()
        merged: dict[Key, Numbers] = {}
        for shard in list(self._shards):
            token, cells = shard
            if token() is None:
                _merge(self._gone, cells)
                self._shards.remove(shard)
            else:
                _merge(merged, cells)
        for key, numbers in self._gone.items():
            merged[key] = _sum(merged.get(key), numbers)
        return merged

    def _open(self, short: Key | str, n: float) -> Cell | None:
        """The calling thread's cell under a key new to it; nothing if the key may not be used."""
        key = _whole(short)
        known_outcome = key[0] != series.REQUESTS or key[1] in series.OUTCOMES
        if key[0] not in series.FAMILIES or not known_outcome or not all(map(_is_label, key[1:])):
            self._drop("invalid", n, key)
            return None
        with self._lock:
            if key not in self._known:
                if len(self._known) >= self._max_label_sets:
                    self._drop("label_cap", n, key)
                    return None
                self._known.add(key)
        bounds = self.bounds(key)
        numbers: Numbers = [0, 0.0] * (len(bounds) + 1) if key[0] in series.DISTRIBUTIONS else [0]
        return self._mine.cells.setdefault(short, (bounds, numbers))

    def _drop(self, reason: str, n: float, what: object) -> None:
        cell = self._mine.cells.setdefault((series.FLUSH_DROPPED, reason), ((), [0]))
        cell[1][0] += n
        if reason not in self.examples:
            self.examples[reason] = ascii(what)[:200]


def _is_label(value: object) -> bool:
    """Whether Triton and Prometheus can carry the text as it is; lone surrogates and NUL they cannot."""
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_LABEL or "\0" in value:
        return False
    return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)


def _whole(key: Key | str) -> Key:
    return (series.STAGE_DURATION, key) if isinstance(key, str) else key


def _merge(into: dict[Key, Numbers], cells: _Cells) -> None:
    for short, (_, numbers) in list(cells.items()):
        key = _whole(short)
        into[key] = _sum(into.get(key), numbers)


def _sum(seen: Numbers | None, more: Numbers) -> Numbers:
    return more.copy() if seen is None else list(map(add, seen, more.copy()))
