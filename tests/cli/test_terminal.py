"""`top` on a terminal of its own: what it draws, what keys do, what it leaves behind."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE_SECONDS = 60.0
COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-9][0-9;]*m")


@dataclass
class Terminal:
    """The far end of a terminal of 80 columns."""

    end: int
    process: subprocess.Popen[bytes]
    shown: str = ""

    def until(self, word: str) -> None:
        """Read on until a word was drawn, from here on."""
        start, deadline = len(self.shown), time.monotonic() + PATIENCE_SECONDS
        while word not in self.shown[start:]:
            assert time.monotonic() < deadline, f"{word!r} was not drawn: {self.shown[-500:]!r}"
            self.shown += os.read(self.end, 65_536).decode(errors="replace")

    def press(self, keys: str) -> None:
        """Keys, as a person presses them."""
        os.write(self.end, keys.encode())


@pytest.fixture(name="terminal")
def _terminal(page: str) -> Iterator[Terminal]:
    far, near = pty.openpty()
    fcntl.ioctl(near, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    before = termios.tcgetattr(near)
    environment = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}
    command = [sys.executable, "-m", "tritonobs", "top", "--metrics", page]
    with subprocess.Popen(
        command, stdin=near, stdout=near, stderr=near, env={**environment, "TERM": "xterm", "NO_COLOR": "1"}
    ) as process:
        yield Terminal(end=far, process=process)
        process.kill()
    assert termios.tcgetattr(near) == before
    os.close(near)
    os.close(far)


def test_keys_steer_the_live_view_and_q_puts_the_terminal_back(terminal: Terminal) -> None:
    """Pause, sort, filter, quit: drawn in the alternate screen, without colour where NO_COLOR is set."""
    terminal.until("q quit")
    assert "by qps" in terminal.shown
    terminal.press("s")
    terminal.until("by errors")
    terminal.press(" ")
    terminal.until("PAUSED")
    terminal.press("/nms\r")
    terminal.until("only 'nms'")
    terminal.press("q")
    terminal.until("\x1b[?1049l")

    assert terminal.process.wait(PATIENCE_SECONDS) == 0
    assert "\x1b[?1049h" in terminal.shown
    assert not COLOUR.search(terminal.shown)
