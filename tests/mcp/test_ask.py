"""A command in a process of its own: bounded, and gone with its caller."""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import suppress

import psutil
import pytest

from support.evil import Evil, EvilServer
from tritonobs.extensions.mcp.ask import Commands, Unanswered

LIMITS = ("limits", "list", "--")


def _asked(*words, seconds=30.0, **more):
    return asyncio.run(Commands(**more).json(*words, seconds=seconds))


def _children():
    return [one for one in psutil.Process().children(recursive=True) if one.status() != psutil.STATUS_ZOMBIE]


def test_it_answers_as_the_command_line_does(fleet_file):
    """JSON, exit status, nothing beside."""
    said = _asked(*LIMITS, str(fleet_file))

    assert (said.status, said.beside) == (0, ())
    assert {"model": "inspect", "version": "", "qps": "8"}.items() <= said.value[0].items()


def test_a_complaint_is_told_without_the_usage(tmp_path):
    """The sentence that a person would read."""
    with pytest.raises(Unanswered, match=r"^tritonobs limits list: .*does not exist") as error:
        _asked(*LIMITS, str(tmp_path / "none.yaml"))

    assert "Usage" not in str(error.value)


def test_an_argument_is_never_an_option():
    """A model with the name of an option is a model."""
    with pytest.raises(Unanswered) as error:
        _asked("limits", "history", "--model=--help", "--", "--format=text")

    assert "'--format=text' does not exist" in str(error.value)


def test_a_slow_command_is_ended():
    """With all that it started; a server that says nothing holds it no longer than it may."""
    with EvilServer(Evil.SILENT) as server:
        began = time.monotonic()
        with pytest.raises(Unanswered, match="no answer within 2 s"):
            _asked("stages", f"--prometheus={server.url}", seconds=2.0)

    assert time.monotonic() - began < 6
    assert _children() == []


def test_a_command_ends_with_its_caller():
    """A client that goes away in the middle leaves no process."""

    async def left() -> int:
        with EvilServer(Evil.SILENT) as server:
            call = asyncio.create_task(Commands().json("stages", f"--prometheus={server.url}", seconds=30.0))
            while not _children():  # noqa: ASYNC110 (a process has no event)
                await asyncio.sleep(0.05)
            # Every user of the machine may list arguments, and an address may hold a password.
            assert not any(server.url in " ".join(one.cmdline()) for one in _children())
            running = len(_children())
            call.cancel()
            with suppress(asyncio.CancelledError):
                await call
        return running

    assert asyncio.run(left()) > 0
    assert _children() == []


def test_many_at_once_wait_and_too_many_are_refused(fleet_file):
    """One runs, one waits; the third is told to come again, and there is room afterwards."""

    async def three() -> list[object]:
        commands = Commands(at_once=1, waiting=1)
        calls = [commands.json(*LIMITS, str(fleet_file), seconds=30.0) for _ in range(3)]
        found = await asyncio.gather(*calls, return_exceptions=True)
        await commands.json(*LIMITS, str(fleet_file), seconds=30.0)
        return [type(one).__name__ for one in found]

    assert asyncio.run(three()) == ["Said", "Said", "Unanswered"]


def test_modules_of_the_folder_are_not_run(tmp_path, monkeypatch, fleet_file):
    """An editor starts it in a project that may hold any json.py."""
    (tmp_path / "json.py").write_text("raise SystemExit('taken over')\n")
    (tmp_path / "click.py").write_text("raise SystemExit('taken over')\n")
    monkeypatch.chdir(tmp_path)

    assert _asked(*LIMITS, str(fleet_file)).status == 0


def test_too_much_is_refused(monkeypatch, fleet_file):
    """An answer without an end is not collected."""
    monkeypatch.setattr(sys.modules["tritonobs.extensions.mcp.ask"], "_MOST_BYTES", 100)

    with pytest.raises(Unanswered, match="ask for less"):
        _asked(*LIMITS, str(fleet_file))
    assert _children() == []
