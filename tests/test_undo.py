"""Whatever ends a drill, what it caused is undone, all of it, last first."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tritonobs import cli, undo
from tritonobs.undo import Undo

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("in_front")


def _kick(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_begins_the_undoing(number: signal.Signals) -> None:
    """Ctrl-C, `kill` and a closed terminal are the same to it; afterwards handlers are as before."""
    before, done = signal.getsignal(number), []

    def drill() -> None:
        with Undo(lambda: None) as block:
            block.callback(done.append, "undone")
            _kick(number)

    with pytest.raises((KeyboardInterrupt, SystemExit)):
        drill()

    assert done == ["undone"]
    assert signal.getsignal(number) == before


@pytest.mark.parametrize("pause", [undo._AGAIN_SECONDS, 0.0])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_a_destructor_is_not_lost(
    number: signal.Signals, pause: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python drops what is raised there; the block ends nevertheless, and the hook is as before.

    Without a pause the signal is sent again while the hook is still at work, as on a busy machine.
    """
    monkeypatch.setattr(undo, "_AGAIN_SECONDS", pause)
    before, done = sys.unraisablehook, []

    class Collected:
        def __del__(self) -> None:
            _kick(number)

    def drill() -> None:
        with Undo(lambda: None) as block:
            block.callback(done.append, "undone")
            Collected()
            time.sleep(10)
            done.append("lost")

    with pytest.raises((KeyboardInterrupt, SystemExit)):
        drill()

    assert done == ["undone"]
    assert sys.unraisablehook is before


@pytest.mark.parametrize("block", [Undo, cli._endings])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_what_is_ignored_stays_ignored(
    number: signal.Signals, block: Callable[[], AbstractContextManager[object]]
) -> None:
    """Ctrl-C by what a shell starts in the background, a closed terminal by what `nohup` starts."""
    signal.signal(number, signal.SIG_IGN)
    with block():
        _kick(number)
        assert signal.getsignal(number) is signal.SIG_IGN


_READS_A_DATACLASS = """\
import os, time

try:
    os.kill(os.getpid(), {number})
    time.sleep({seconds})
except BaseException as error:
    raise TypeError("a field of the dataclass") from error
"""


@pytest.mark.parametrize("block", [Undo, cli._endings])
@pytest.mark.parametrize("number", undo.SIGNALS)
def test_an_import_ends_before_a_signal_does_its_work(
    number: signal.Signals,
    block: Callable[[], AbstractContextManager[object]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A library may report what is raised in its import as an error of its own, with a traceback."""
    module = f"reads_{block.__name__}_{number.name}"
    (tmp_path / f"{module}.py").write_text(_READS_A_DATACLASS.format(number=int(number), seconds=0.05))
    monkeypatch.syspath_prepend(tmp_path)

    def command() -> None:
        with block():
            importlib.import_module(module)
            time.sleep(10)

    with pytest.raises((KeyboardInterrupt, SystemExit)):
        command()

    assert module in sys.modules


def test_an_import_that_does_not_end_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for it longer than two seconds."""
    (tmp_path / "reads_forever.py").write_text(
        _READS_A_DATACLASS.format(number=int(signal.SIGINT), seconds=60)
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(undo, "_IMPORT_SECONDS", 0.1)

    def command() -> None:
        with cli._endings():
            importlib.import_module("reads_forever")

    with pytest.raises(TypeError) as raised:
        command()

    assert isinstance(raised.value.__cause__, KeyboardInterrupt)
    assert undo._postponed == {}


def test_impatience_does_not_stop_the_undoing() -> None:
    """A second Ctrl-C is told that it still cleans up, and nothing more."""
    told: list[str] = []
    done: list[str] = []

    def drill() -> None:
        with Undo(lambda: told.append("wait")) as block:
            block.callback(done.append, "first")
            block.callback(_kick, signal.SIGINT)
            _kick(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        drill()

    assert (told, done) == (["wait"], ["first"])


def test_one_failure_does_not_keep_the_rest() -> None:
    """Every step is tried, and the failure is told."""
    done: list[str] = []

    def fail() -> None:
        raise OSError("cannot")

    def drill() -> None:
        with Undo(lambda: None) as block:
            block.callback(done.append, "server")
            block.callback(fail)
            block.callback(done.append, "load")

    with pytest.raises(OSError, match="cannot"):
        drill()

    assert done == ["load", "server"]


def test_what_was_kept_is_not_undone() -> None:
    """After `keep` the block ends as if nothing had been registered."""
    undone: list[str] = []
    with Undo(lambda: None) as block:
        block.callback(undone.append, "stopped")
        block.keep()
    assert undone == []
