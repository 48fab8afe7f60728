"""Whatever ends a drill, what it caused is undone, all of it, last first."""

from __future__ import annotations

import os
import signal
import sys
import time

import pytest

from tritonobs import undo
from tritonobs.undo import Undo


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
