"""Whatever ends a drill, what it caused is undone, all of it, last first."""

from __future__ import annotations

import os
import signal

import pytest

from tritonobs.drill.undo import Undo


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

    with pytest.raises(KeyboardInterrupt):
        drill()

    assert done == ["undone"]
    assert signal.getsignal(number) == before


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
