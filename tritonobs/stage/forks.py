"""Forked children have no flusher and no Triton: what they record is lost, and counted."""

from __future__ import annotations

import logging
import mmap
import os
import weakref
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from typing import Any

_SLOTS: Final = 512
_log = logging.getLogger("tritonobs.stage")


class _Told(Protocol):
    def fork(self) -> None:
        """What to do in a child."""


class Losses:
    """A number that a process and its forked children add to, in memory they share.

    Each process writes to a slot of its own, unless the system numbers two alike at the same time.
    """

    def __init__(self) -> None:
        self._slots = memoryview(mmap.mmap(-1, _SLOTS * 8)).cast("d")
        self._told = False

    def add(self, n: float) -> None:
        """Add to it, and say so once in this process."""
        # No lock works across processes: of two that add to one slot, one addition could be lost.
        self._slots[os.getpid() % _SLOTS] += n
        if not self._told:
            self._told = True
            _log.warning(
                "process %d was forked: what it records does not reach Triton and is counted as dropped; "
                "time the call in the process that made the stages",
                os.getpid(),
            )

    def total(self) -> float:
        """The sum of all of them."""
        return sum(self._slots)


def tell_in_children(one: _Told) -> None:
    """Call `one.fork` in every child that is forked while it lives."""
    _watched.add(one)


def _in_child() -> None:
    for one in list(_watched):
        one.fork()


# A function given to `register_at_fork` stays forever: weak references release ended stages.
_watched: weakref.WeakSet[Any] = weakref.WeakSet()
os.register_at_fork(after_in_child=_in_child)
