"""Whatever ends a drill, what it caused is undone, all of it, last first."""

from __future__ import annotations

import os
import signal
import sys
import time

import pytest

from tritonobs.lab.undo import Undo


def _kick(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_begins_the_undoing(number: signal.Signals) -> None:
    """Ctrl-C, `kill` and a closed terminal are the same to it; afterwards handlers are as before."""
    before, done = signal.getsignal(number), []

    def drill() -> None:
        with Undo(lambda: None) as undo:
            undo.callback(done.append, "undone")
            _kick(number)

    with pytest.raises((KeyboardInterrupt, SystemExit)):
        drill()

    assert done == ["undone"]
    assert signal.getsignal(number) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_a_destructor_is_not_lost(number: signal.Signals) -> None:
    """Python drops what is raised there; the block ends nevertheless, and the hook is as before."""
    before, done = sys.unraisablehook, []

    class Collected:
        def __del__(self) -> None:
            _kick(number)

    def drill() -> None:
        with Undo(lambda: None) as undo:
            undo.callback(done.append, "undone")
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
        with Undo(lambda: told.append("wait")) as undo:
            undo.callback(done.append, "first")
            undo.callback(_kick, signal.SIGINT)
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
        with Undo(lambda: None) as undo:
            undo.callback(done.append, "server")
            undo.callback(fail)
            undo.callback(done.append, "load")

    with pytest.raises(OSError, match="cannot"):
        drill()

    assert done == ["load", "server"]


def test_what_was_kept_is_not_undone() -> None:
    """After `keep` the block ends as if nothing had been registered."""
    undone: list[str] = []
    with Undo(lambda: None) as undo:
        undo.callback(undone.append, "stopped")
        undo.keep()
    assert undone == []
