"""The request path in Python: a lock and a dictionary.

`_record.c` is the same, compiled, and is used where it could be built: `cells.py` chooses. Both must pass the
same tests. Nothing here raises or waits for anything but other records.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from operator import index
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from tritonobs.stage.handles import Request

Key = tuple[str, ...]
"""A family and the values of its own labels, in the order of `series.FAMILIES`; a str alone is a stage."""
Numbers = list[float]
"""Of a count: the count. Of a distribution: count and sum of each bucket in turn, lowest first, +Inf last."""

Function = TypeVar("Function", bound="Callable[..., Any]")
LARGEST: Final = 1e12  # sums stay finite and counts exact as long as a process can live


class Recorder:
    """Numbers by key, added to by any thread.

    `open_cell(key, amount)` is asked once for each new key; it returns the bucket bounds (none for a count),
    or None if the key may not be used. `drop(reason, amount, what)` is called for what was not recorded, and
    `decorate(recorder, stage, n, function)` makes the function that a timer is the decorator of. `requests`
    is `handles.IN_PYTHON`.
    """

    __slots__ = ("_cells", "_decorate", "_drop", "_forked", "_lock", "_open_cell", "_request")

    def __init__(
        self,
        open_cell: Callable[[Key | str, float], tuple[float, ...] | None],
        drop: Callable[[str, float, object], object],
        decorate: Callable[[Recorder, str, int, Any], Any],
        requests: tuple[type[Request], Any, Any, Any, Any],
    ) -> None:
        self._request = requests[0]
        self._open_cell = open_cell
        self._drop = drop
        self._decorate = decorate
        self._cells: dict[Key | str, tuple[tuple[float, ...], Numbers]] = {}
        self._forked = False
        # Reentrant: a signal handler may record while its own thread is in here.
        self._lock = threading.RLock()

    def time(self, stage: str, n: int = 1) -> Timer:
        """A running timer; `n` observations when it ends."""
        return Timer(self, stage, n)

    def request(self, n: int = 1) -> Request:
        """`n` requests from now on."""
        return self._request(self, n)

    def count(self, key: Key, n: float) -> None:
        """Add `n` to a count."""
        try:
            if not 0 <= n <= LARGEST:
                raise ValueError  # noqa: TRY301 (reported below, like everything that is not a number)
            amount = float(n)
            if self._forked:
                self._drop("forked", amount, key)
                return
            with self._lock:
                cell = self._cells.get(key) or self._new(key, amount)
                if cell:
                    cell[1][0] += amount
        except Exception:  # noqa: BLE001 (a record never fails a request)
            self._drop("invalid", 1, (key, n))

    def distribute(self, key: Key | str, value: float, n: int) -> None:
        """Add `n` observations of `value`."""
        try:
            if not (0 <= value <= LARGEST and 0 <= n <= LARGEST):
                raise ValueError  # noqa: TRY301 (as above)
            times, spent = index(n), float(value) * n
            if self._forked:
                self._drop("forked", times, key)
                return
            with self._lock:
                cell = self._cells.get(key) or self._new(key, times)
                if cell:
                    bounds, numbers = cell
                    at = 2 * bisect_left(bounds, value)
                    numbers[at] += times
                    numbers[at + 1] += spent
        except Exception:  # noqa: BLE001 (as above)
            self._drop("invalid", 1, (key, value, n))

    def totals(self) -> dict[Key | str, Numbers]:
        """All that was recorded until now, at one moment."""
        with self._lock:
            return {key: numbers.copy() for key, (_, numbers) in self._cells.items()}

    def fork(self) -> None:
        """Record nothing any more: this is a forked child, forked perhaps while another thread recorded."""
        self._lock = threading.RLock()
        self._forked = True

    def decorated(self, stage: str, n: int, function: Function) -> Function:
        """The function, each call timed."""
        made: Function = self._decorate(self, stage, n, function)
        return made

    def _new(self, key: Key | str, amount: float) -> tuple[tuple[float, ...], Numbers] | None:
        bounds = self._open_cell(key, amount)
        if bounds is None:
            return None
        # A signal handler may have made the cell while `open_cell` ran: what it counted stays.
        return self._cells.setdefault(key, (bounds, [0] if not bounds else [0, 0.0] * (len(bounds) + 1)))


class Timer:
    """Runs from when it was made, or from the start of its `with` block, until `end` or the block's end.

    It is one observation, also when the block raises, and whichever thread ends it. As a decorator it times
    each call: of a coroutine until its result, of a generator until its end.
    """

    __slots__ = ("_n", "_recorder", "_running", "_seconds", "_stage", "_started")

    def __init__(self, recorder: Recorder, stage: str, n: int) -> None:
        self._recorder = recorder
        self._stage = stage
        self._n = n
        self._seconds = 0.0
        self._running = [True]
        self._started = perf_counter()

    @property
    def seconds(self) -> float:
        """How long it ran, or has run until now."""
        return perf_counter() - self._started if self._running else self._seconds

    def finish(self) -> bool:
        """End it and record; False if it has ended already."""
        seconds = perf_counter() - self._started
        try:
            self._running.pop()  # of two threads that end it, one gets here
        except IndexError:
            return False
        self._seconds = seconds
        # A tuple would name another family; the empty one is refused and counted as invalid.
        self._recorder.distribute(self._stage if isinstance(self._stage, str) else ("",), seconds, self._n)
        return True

    def end(self) -> float:
        """End it if it runs; return its seconds."""
        self.finish()
        return self._seconds

    def __enter__(self) -> Timer:  # noqa: PYI034 (typing.Self is newer than Python 3.10)
        self._running = [True]
        self._started = perf_counter()
        return self

    def __exit__(self, *_error: object) -> None:
        self.finish()

    def __call__(self, function: Function) -> Function:
        """The function, each call timed."""
        return self._recorder.decorated(self._stage, self._n, function)
