"""Faults are undone in every case: errors, Ctrl-C, a closed terminal."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from types import FrameType, TracebackType
from typing import NoReturn

SIGNALLED = 128
"""What a shell adds to the number of the signal that ended a program."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_AGAIN_SECONDS = 0.01
_IMPORT_SECONDS = 2.0
_IMPORT = "<frozen importlib._bootstrap>"
_postponed: dict[int, float] = {}
"""When each signal that waits for an import came first."""


def heeded() -> list[signal.Signals]:
    """Those of SIGNALS that are not ignored.

    `nohup` ignores a closed terminal, and a shell ignores Ctrl-C for what it starts in the background.
    """
    return [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]


def end(number: int) -> NoReturn:
    """End what runs as this signal does, so that what was begun is undone.

    Raises:
        KeyboardInterrupt, SystemExit: always.
    """
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(SIGNALLED + number)


def postponed(number: int, frame: FrameType | None) -> bool:
    """Whether a signal came while a module is imported; then it is sent again soon, for two seconds at most.

    A library may turn what a signal raises there into an error of its own: pydantic does, while it reads a
    dataclass.
    """
    while frame and frame.f_code.co_filename != _IMPORT:
        frame = frame.f_back
    now = time.monotonic()
    if not frame or now > _postponed.setdefault(number, now) + _IMPORT_SECONDS:
        _postponed.pop(number, None)
        return False
    again = threading.Timer(_AGAIN_SECONDS, os.kill, (os.getpid(), number))
    again.daemon = True
    again.start()
    return True


class Undo(ExitStack):
    """An `ExitStack` that signals cannot interrupt while it undoes.

    The first signal ends the block and begins the undoing; `on_wait` is called for each that comes during it.
    Register the undoing before the action: a signal may come between two lines. What was ignored stays so.
    """

    def __init__(self, on_wait: Callable[[], object] = lambda: None) -> None:
        # `pop_all` makes the stack that it returns without arguments.
        super().__init__()
        self._on_wait = on_wait
        self._undoing, self._dropping = False, False
        self._held, self._came, self._last = 0, 0, 0
        self._restore: list[Callable[[], object]] = []

    @contextmanager
    def held(self) -> Iterator[None]:
        """A signal that comes in this block ends the outer one after it, for what must be done as a whole."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
        if self._came and not self._held:
            self._end(self._came)

    def keep(self) -> None:
        """All went well, and what was done stays; only the signals get their usual meaning back."""
        with self.held():
            self.pop_all()
            for restore in self._restore:
                self.callback(restore)

    def __enter__(self) -> Undo:  # noqa: PYI034 (typing.Self is newer than Python 3.10)
        if threading.current_thread() is threading.main_thread():
            for number in heeded():
                before = signal.signal(number, self._interrupt)
                self._restore.append(partial(signal.signal, number, before))
            report = sys.unraisablehook
            sys.unraisablehook = partial(self._dropped, report)
            self._restore.append(partial(setattr, sys, "unraisablehook", report))
            for restore in self._restore:
                self.callback(restore)
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

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._undoing:
            self._on_wait()
        elif self._held:
            self._came = number
        elif not self._dropping and not postponed(number, frame):
            self._end(number)

    def _end(self, number: int) -> NoReturn:
        # From here on nothing may come between the block and its undoing.
        self._undoing, self._came, self._last = True, 0, number
        end(number)

    def _dropped(
        self, report: Callable[[sys.UnraisableHookArgs], object], what: sys.UnraisableHookArgs, /
    ) -> None:
        """Send the signal again: Python drops an exception that a signal raises in a destructor.

        Not before this hook has ended, for it would drop the exception, too.
        """
        if not self._last or not isinstance(what.exc_value, (KeyboardInterrupt, SystemExit)):
            report(what)
            return
        self._undoing, self._dropping = False, True
        try:
            threading.Thread(target=self._again, daemon=True).start()
        finally:
            self._dropping = False

    def _again(self) -> None:
        time.sleep(_AGAIN_SECONDS)
        while not self._undoing:
            os.kill(os.getpid(), self._last)
            time.sleep(_AGAIN_SECONDS)
