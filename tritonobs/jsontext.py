"""JSON from outside, with a bound on its values: each takes a hundred bytes of memory."""

from __future__ import annotations

import json
from typing import Any


class TooMany(ValueError):  # noqa: N818 (what it is)
    """More values than are held in memory."""


def read_json(text: str | bytes, *, most: int) -> Any:  # noqa: ANN401 (any JSON)
    """The value; nothing is read of what may hold more than `most` values.

    Raises:
        TooMany: it may hold more. A comma within a text counts as well.
        ValueError: it is not JSON, or nested too deeply to be read.
    """
    # Each value is the first, or stands behind one of these.
    if isinstance(text, bytes):
        values = text.count(b",") + text.count(b"[") + text.count(b"{")
    else:
        values = text.count(",") + text.count("[") + text.count("{")
    if values > most:
        raise TooMany(f"holds more than {most:,} values")
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("is nested too deeply") from None
