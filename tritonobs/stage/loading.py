"""Whether a model's `initialize` succeeded, found without a change of the model.

Metrics that a worker made before its `initialize` failed stay on Triton's page until the server restarts: the
process ends without a call of `finalize`, and when it ends the connection to Triton is gone. So none is made
before.
"""

from __future__ import annotations

import dis
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType


class Loading:
    """The call of `initialize` that is running in this thread when this is made, if there is one.

    A frame keeps the instruction it ended at: a `return`, or the one that raised.
    """

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        stack = _stack(sys._getframe())  # noqa: SLF001 (what inspect.stack uses, without reading source files)
        # The outermost of that name is Triton's call: it may call the `initialize` of a base class.
        self._call = next((frame for frame in reversed(stack) if frame.f_code.co_name == "initialize"), None)
        self._raised = False

    def ended(self) -> bool:
        """Whether it has; if there is none, yes."""
        if self._call is None:
            return True
        now = sys._current_frames().get(self._thread)  # noqa: SLF001 (as above)
        if any(frame is self._call for frame in _stack(now)):
            return False
        at = self._call.f_code.co_code[self._call.f_lasti]
        # RETURN_VALUE; Python 3.12 and 3.13 have RETURN_CONST, too.
        self._raised = not dis.opname[at].startswith("RETURN")
        self._call = None  # holds what `initialize` had in its variables
        return True

    def raised(self) -> bool:
        """Whether it has ended by an exception."""
        return self.ended() and self._raised


def _stack(frame: FrameType | None) -> list[FrameType]:
    """The frame, what called it, and so on."""
    found = []
    while frame:
        found.append(frame)
        frame = frame.f_back
    return found
