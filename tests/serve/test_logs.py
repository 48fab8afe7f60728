"""The log stays small whoever makes it complain."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from tritonobs.serve import logs
from tritonobs.serve.logs import Sparing


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    """Seconds a test can move."""
    now = [100.0]
    monkeypatch.setattr(logs.time, "monotonic", lambda: now[0])
    return now


def _record(line: int, text: str) -> logging.LogRecord:
    return logging.LogRecord("n", logging.WARNING, "file.py", line, "%s", (text,), None)


def test_a_minute_has_thirty_lines_of_a_kind(clock) -> None:
    """The first of the next minute says how many were left out; other kinds are not touched."""
    sparing = Sparing()
    assert sum(sparing.filter(_record(1, f"line {n}")) for n in range(1000)) == 30
    assert sparing.filter(_record(2, "another"))
    clock[0] += 60
    next_one = _record(1, "100 % of it")
    assert sparing.filter(next_one)
    assert next_one.getMessage() == "100 % of it (970 lines like this were left out)"


def test_no_number_of_kinds_fills_the_memory(clock) -> None:
    """The oldest are forgotten."""
    sparing = Sparing()
    for line in range(5000):
        sparing.filter(_record(line, "x"))
    assert len(sparing._kinds) == 500


_SPEAKER = """
import logging, sys
import {module} as served
def run(*_, **__):
    try:
        raise ValueError("\\x1b[2Jwell\\n2026-11-23 ERROR robot oncall is gone\\r\\u202e")
    except ValueError:
        logging.getLogger("n").exception("a\\nb\\x1b", stack_info=True)
served.run = run
from tritonobs.cli import run
run()
"""


@pytest.mark.parametrize(
    ("module", "command"),
    [
        pytest.param("tritonobs.serve.daemon", ["serve"], id="serve"),
        pytest.param("tritonobs.extensions.traces.routes", ["traces", "serve"], id="traces serve"),
    ],
)
def test_no_text_of_an_exception_is_a_line_of_the_log(module: str, command: list[str], fleet_file) -> None:
    """Texts of others end in messages of exceptions, and those in tracebacks."""
    program = [sys.executable, "-c", _SPEAKER.format(module=module), *command, str(fleet_file())]
    done = subprocess.run(program, capture_output=True, check=True)
    written = done.stderr.decode()

    first, *rest = written.splitlines()
    assert first.endswith(r" ERROR a\nb\x1b")
    assert r"  ValueError: \x1b[2Jwell" in rest
    assert all(line.startswith("  ") for line in rest)
    assert not {"\x1b", "\r", "\u202e"} & set(written)
