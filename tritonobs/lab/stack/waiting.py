"""Waits for a state of a running stack."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from tritonobs.errors import StackError

_POLL_SECONDS = 0.2
_T = TypeVar("_T")


def wait_for(look: Callable[[], _T | None], what: str, patience_seconds: float) -> _T:
    """What `look` returns once it is something.

    Raises:
        StackError: it stayed None for `patience_seconds`.
    """
    deadline = time.monotonic() + patience_seconds
    while time.monotonic() < deadline:
        found = look()
        if found is not None:
            return found
        time.sleep(_POLL_SECONDS)
    raise StackError(f"waited {patience_seconds:.0f} s for {what}; see the logs of the stack")
