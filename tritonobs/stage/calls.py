"""Functions whose calls are timed."""

from __future__ import annotations

import functools
from contextlib import aclosing
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator

    from tritonobs.stage.record import Recorder


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
