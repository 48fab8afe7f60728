"""Lines of the log, bounded: a repeated message cannot fill the disk, and no text can fake a line."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict

from tritonobs.escapes import shown, shown_lines

_SECONDS = 60.0
_MOST_LINES = 30
_MOST_KINDS = 500


def log_handler() -> logging.Handler:
    """Where the lines of a process that serves go: to stderr, bounded and without control characters."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Safe("%(asctime)s %(levelname)s %(message)s"))
    # A logger's filter sees only what is logged on it; that of the handler sees the lines of libraries, too.
    handler.addFilter(Sparing())
    return handler


class _Safe(logging.Formatter):
    """One line a message, also for text of several lines; a traceback stands indented below it."""

    def format(self, record: logging.LogRecord) -> str:
        """The line and its traceback, in which the text of an exception may have lines of its own."""
        return shown_lines(super().format(record)).replace("\n", "\n  ")

    # Before `format` adds the traceback, whose lines have to stay lines.
    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (logging's name)
        """The line, with what does not print as escapes."""
        return shown(super().formatMessage(record))


class Sparing(logging.Filter):
    """At most 30 lines a minute from each place; the next one says how many were left out."""

    def __init__(self) -> None:
        super().__init__()
        self._kinds: OrderedDict[tuple[str, int], _Kind] = OrderedDict()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is written."""
        key = record.pathname, record.lineno
        kind = self._kinds.pop(key, None) or _Kind()
        self._kinds[key] = kind
        if len(self._kinds) > _MOST_KINDS:
            self._kinds.popitem(last=False)
        written, left_out = kind.take(time.monotonic())
        if written and left_out:
            # Without arguments, so that a % in the finished text is not formatted again.
            record.msg, record.args = f"{record.getMessage()} ({left_out} lines like this were left out)", ()
        return written


class _Kind:
    __slots__ = ("began", "left_out", "lines")

    def __init__(self) -> None:
        self.began, self.lines, self.left_out = 0.0, 0, 0

    def take(self, now: float) -> tuple[bool, int]:
        """Whether one more line is written, and how many were left out before it."""
        if now - self.began >= _SECONDS:
            left_out, self.began, self.lines, self.left_out = self.left_out, now, 1, 0
            return True, left_out
        self.lines += 1
        if self.lines <= _MOST_LINES:
            return True, 0
        self.left_out += 1
        return False, 0
