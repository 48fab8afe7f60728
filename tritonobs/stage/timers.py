"""What turns a stretch of code into observations: a block, a call, a generated answer."""

from __future__ import annotations

import functools
from inspect import iscoroutinefunction
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from tritonobs.stage import series

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from tritonobs.stage.cells import Cells, Key

Function = TypeVar("Function", bound="Callable[..., Any]")
Distribute: TypeAlias = "Callable[[Key, float, int], None]"


class Timer:
    """Times its `with` block, also one that raises. Use a new one for each block."""

    __slots__ = ("_distribute", "_key", "_n", "_started")

    def __init__(self, distribute: Distribute, key: Key, n: int) -> None:
        self._distribute = distribute
        self._key = key
        self._n = n

    def __enter__(self) -> None:
        self._started = perf_counter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._distribute(self._key, perf_counter() - self._started, self._n)


class Answer:
    """Times a generated answer: tokens counted under `total`, time to the first, time between the others."""

    def __init__(self, cells: Cells, tokens_in: int) -> None:
        self._cells = cells
        self._tokens_in = tokens_in
        self._before = 0.0
        self._first = True

    def __enter__(self) -> Answer:  # noqa: PYI034 (typing.Self is newer than Python 3.10)
        self._before = perf_counter()
        self._cells.count((series.STAGE_ITEMS, series.TOTAL, series.TOKENS_IN), self._tokens_in)
        return self

    def token(self, n: int = 1) -> None:
        """Say that `n` tokens came out together, in equal shares of the time since the ones before."""
        now = perf_counter()
        gap, self._before = now - self._before, now
        self._cells.count((series.STAGE_ITEMS, series.TOTAL, series.TOKENS_OUT), n)
        if self._first:
            self._first = False
            self._cells.distribute((series.STAGE_DURATION, series.FIRST_TOKEN), gap, 1)
        else:
            self._cells.distribute((series.STAGE_DURATION, series.OUTPUT_TOKEN), gap / max(n, 1), n)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is left to do: what was generated has been counted."""


def timed(distribute: Distribute, key: Key, function: Function) -> Function:
    """The function, its calls timed; of a coroutine function the whole time until its result."""
    if iscoroutinefunction(function):

        @functools.wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 (passed on untouched)
            with Timer(distribute, key, 1):
                return await function(*args, **kwargs)

        return cast("Function", awaited)

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 (as above)
        with Timer(distribute, key, 1):
            return function(*args, **kwargs)

    return cast("Function", called)
