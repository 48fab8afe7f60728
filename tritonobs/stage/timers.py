"""What turns a stretch of code into observations: a block, a call, a generated answer."""

from __future__ import annotations

import functools
from inspect import iscoroutinefunction
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar, cast

from tritonobs.stage import series
from tritonobs.stage.cells import HANDFUL
from tritonobs.stage.series import STAGE_DURATION

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from tritonobs.stage.cells import Cells

Function = TypeVar("Function", bound="Callable[..., Any]")


class Timer:
    """Times its `with` block, also one that raises. Use a new one for each block.

    `n` is a whole number that was looked at. On the way of every request: what `Cells.distribute` does is
    written out here, because just after Triton woke this process each further call costs half a microsecond.
    """

    __slots__ = ("_cells", "_n", "_stage", "_started")

    def __init__(self, cells: Cells, stage: str, n: int) -> None:
        self._cells = cells
        self._stage = stage
        self._n = n

    def __enter__(self) -> None:
        self._started = perf_counter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        cells = self._cells
        cells.note((self._stage, perf_counter() - self._started, self._n))
        if len(cells.records) >= HANDFUL:
            cells.settle()


class Unsure(Timer):
    """A timer whose `n` may be anything: looked at when the block ends, dropped if it is no count."""

    __slots__ = ()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        seconds = perf_counter() - self._started
        self._cells.distribute((STAGE_DURATION, self._stage), seconds, self._n)


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
            self._cells.distribute((STAGE_DURATION, series.FIRST_TOKEN), gap, 1)
        else:
            self._cells.distribute((STAGE_DURATION, series.OUTPUT_TOKEN), gap / max(n, 1), n)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is left to do: what was generated has been counted."""


def timed(cells: Cells, stage: str, function: Function) -> Function:
    """The function, its calls timed; of a coroutine function the whole time until its result."""
    if iscoroutinefunction(function):

        @functools.wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 (passed on untouched)
            with Timer(cells, stage, 1):
                return await function(*args, **kwargs)

        return cast("Function", awaited)

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 (as above)
        with Timer(cells, stage, 1):
            return function(*args, **kwargs)

    return cast("Function", called)
