"""Commands in children of their own, which signals end at random moments."""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MOMENTS = int(os.environ.get("TRITONOBS_INTERRUPTS", "12"))
"""How often each command is interrupted; 50 in the nightly run."""
NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LONGEST_SECONDS = 60.0


def forked(work: Callable[[], None], log: Path) -> int:
    """A child in a session of its own that runs a command and ends as the command line does."""
    # A signal that comes before the child is ready to end as the command line does waits until it is.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, NUMBERS)
    with warnings.catch_warnings():
        # Python 3.12 warns of threads, which the child does not need.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return child
    os.setsid()
    for number in NUMBERS:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115 (open as long as the process)
    status = 99
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        work()
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
    except KeyboardInterrupt:  # Between the command's end and ours.
        status = 130
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, NUMBERS)
        with suppress(OSError):
            sys.stdout.flush()
        os._exit(status)


def ended(child: int) -> int:
    """The exit status of a child; one that does not end is a failure."""
    deadline = time.monotonic() + LONGEST_SECONDS
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("it did not end")
