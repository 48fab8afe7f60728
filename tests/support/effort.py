"""What a call costs in lines of Python run: the same on every machine, however busy."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType


def lines_run(call: Callable[[], object]) -> int:
    """How many lines a call runs through, each time round a loop."""
    count = 0

    def step(_frame: FrameType, event: str, _value: object) -> Any:
        nonlocal count
        count += event == "line"
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        call()
    finally:
        sys.settrace(before)
    return count
