"""The request path in Python: a lock and a dictionary, timers, requests, answers.

`_record.c` is the recorder, the timer and the request, compiled, and is used where it could be built:
`cells.py` chooses. Both must pass the same tests. Nothing here raises, or waits for anything but other
records.
"""

from __future__ import annotations

import functools
import threading
from bisect import bisect_left
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing, suppress
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction
from operator import index
from time import perf_counter
from typing import Any, Final, TypeVar

from tritonobs.stage import series
from tritonobs.stage.series import INVALID, REQUESTS, STAGE_ERRORS, STAGE_ITEMS, TOTAL, Outcome

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
    is `IN_PYTHON`.
    """

    __slots__ = ("_cells", "_decorate", "_drop", "_forked", "_lock", "_open_cell", "_request")

    def __init__(
        self,
        open_cell: Callable[[Key | str, float], tuple[float, ...] | None],
        drop: Callable[[str, float, object], object],
        decorate: Callable[[Recorder, str, int, Any], Any],
        requests: tuple[type[Request], Any, Any, Any, Any, Any],
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

    def items(self, stage: str, kind: str, n: float = 1) -> None:
        """Add `n` to the things that a stage worked on."""
        self.count((STAGE_ITEMS, stage, kind), n)

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


class InvalidInput(ValueError):
    """The client's input is not valid: the caller's fault, as HTTP's 400.

    If it leaves a `request` block, the requests of the block are `invalid` and not `error`, and are counted
    under `stage` and `reason`. A model that catches it to answer each request of a batch itself calls
    `request.outcome("invalid")` and `stages.invalid(stage, reason)`. `reason` is one of a small fixed set,
    the text is for people.
    """

    def __init__(self, text: str, *, reason: str = "invalid_input", stage: str = TOTAL) -> None:
        super().__init__(text)
        self.reason = reason
        self.stage = stage


class Request:
    """`n` requests, from when this was made until `end`, or until the end of its `with` block.

    Then `total` gets `n` observations and each request one outcome: those named by `outcome` theirs, the rest
    `ok`. If the block raises, Triton answers all of them with an error, so the rest is `error`, or `invalid`
    if it was `InvalidInput`. Any thread may end it; a sender thread of a decoupled model does.

    `_record.c` is the same, compiled; it calls the functions below for what is not everyday.
    """

    __slots__ = ("_recorder", "_rest", "_timer")

    def __init__(self, recorder: Recorder, n: int) -> None:
        self._recorder = recorder
        self._rest = n
        self._timer = recorder.time(TOTAL, n)

    @property
    def seconds(self) -> float:
        """How long it took, or has taken until now."""
        return self._timer.seconds

    def outcome(self, outcome: Outcome, n: int = 1) -> None:
        """Set the outcome of `n` of the requests; any but `ok` for the rest."""
        self._rest = _told(self._recorder, self._rest, outcome, n)

    def end(self, outcome: Outcome = "ok") -> float:
        """Record once, `outcome` for those without one; return the seconds."""
        if self._timer.finish():
            self._recorder.count((REQUESTS, outcome), self._rest)
        return self._timer.seconds

    def __enter__(self) -> Request:  # noqa: PYI034 (typing.Self is newer than Python 3.10)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None = None, _trace: object = None
    ) -> None:
        if not self._timer.finish():
            return
        if kind is None:
            self._recorder.count((REQUESTS, "ok"), self._rest)
        else:
            _failed(self._recorder, self._rest, error)


def _told(recorder: Recorder, rest: int, outcome: Outcome, n: int) -> int:
    """Count an outcome of `n` requests; how many of the rest are left."""
    if isinstance(outcome, str) and outcome == "ok":
        return rest
    recorder.count((REQUESTS, outcome), n)
    # A value that is not a whole number was counted as invalid, and no record raises.
    with suppress(TypeError):
        return max(0, index(rest) - index(n))
    return rest


def _failed(recorder: Recorder, rest: int, error: BaseException | None) -> None:
    """Count the rest of a block that raised."""
    if isinstance(error, InvalidInput):
        recorder.count((REQUESTS, INVALID), rest)
        recorder.count((STAGE_ERRORS, error.stage, error.reason, INVALID), rest)
    else:
        recorder.count((REQUESTS, "error"), rest)


IN_PYTHON: Final = (Request, TOTAL, REQUESTS, STAGE_ITEMS, _told, _failed)
"""What a recorder needs beside numbers: this class, or, compiled, the names and what is not everyday."""


class Answer:
    """Times a generated answer from when this was made: the first token, and the time between the others.

    Tokens in and out are items of `total`. Any thread may call `token`, one at a time.
    """

    def __init__(self, recorder: Recorder, tokens_in: int) -> None:
        self._recorder = recorder
        self._first = True
        self._before = perf_counter()
        recorder.count((STAGE_ITEMS, TOTAL, series.TOKENS_IN), tokens_in)

    def token(self, n: int = 1) -> None:
        """Say that `n` tokens came out together, in equal shares of the time since the ones before.

        None is not a token: an empty chunk of a stream starts and ends nothing.
        """
        try:
            tokens = index(n)
        except TypeError:
            tokens = -1
        if tokens > 0:
            now = perf_counter()
            gap, self._before = now - self._before, now
            if self._first:
                self._first = False
                self._recorder.distribute(series.FIRST_TOKEN, gap, 1)
            else:
                self._recorder.distribute(series.OUTPUT_TOKEN, gap / tokens, tokens)
        if tokens:
            self._recorder.count((STAGE_ITEMS, TOTAL, series.TOKENS_OUT), n)

    def __enter__(self) -> Answer:  # noqa: PYI034 (as above)
        return self

    def __exit__(self, *_error: object) -> None:
        """Nothing is left to do: generated tokens have been counted."""


# ruff: noqa: ANN401 (arguments and results of a function are passed on unchanged)
def timed(recorder: Recorder, stage: str, n: int, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, each call `n` observations of a stage.

    Of a coroutine until its result; of a generator from the first item that is asked for until its end, also
    when it is closed before.
    """

    def called(*args: Any, **kwargs: Any) -> Any:
        with recorder.time(stage, n):
            return function(*args, **kwargs)

    async def awaited(*args: Any, **kwargs: Any) -> Any:
        with recorder.time(stage, n):
            return await function(*args, **kwargs)

    def generated(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        with recorder.time(stage, n):
            return (yield from function(*args, **kwargs))

    async def streamed(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        with recorder.time(stage, n):
            # An async generator that is left early runs its `finally` only when it is closed.
            async with aclosing(function(*args, **kwargs)) as items:
                # Async generators have no `yield from`: what is sent or thrown is passed on by hand.
                step = items.asend(None)
                while True:
                    try:
                        item = await step
                    except StopAsyncIteration:
                        return
                    try:
                        sent = yield item
                    except GeneratorExit:
                        raise
                    except BaseException as error:  # noqa: BLE001 (any exception that was thrown)
                        step = items.athrow(error)
                    else:
                        step = items.asend(sent)

    kinds: tuple[tuple[Callable[[object], bool], Callable[..., Any]], ...] = (
        (iscoroutinefunction, awaited),
        (isasyncgenfunction, streamed),
        (isgeneratorfunction, generated),
    )
    made = next((wrapper for is_kind, wrapper in kinds if is_kind(function)), called)
    return functools.wraps(function)(made)
