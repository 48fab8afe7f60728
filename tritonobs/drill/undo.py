"""Whatever happens, what was caused is undone: errors, Ctrl-C, a terminal that goes away."""

from __future__ import annotations

import signal
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, TracebackType

    from typing_extensions import Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Undo(ExitStack):
    """An `ExitStack` that signals cannot interrupt while it undoes.

    The first signal ends the block and begins the undoing; `on_wait` is called for each that comes during it.
    """

    def __init__(self, on_wait: Callable[[], object]) -> None:
        super().__init__()
        self._on_wait = on_wait
        self._undoing = False

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                before = signal.signal(number, self._interrupt)
                self.callback(signal.signal, number, before)
        return super().__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> bool:
        self._undoing = True
        return bool(super().__exit__(kind, error, trace))

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        if self._undoing:
            self._on_wait()
        else:
            # From here on nothing may come between the block and its undoing.
            self._undoing = True
            raise KeyboardInterrupt
