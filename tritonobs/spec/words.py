"""How findings quote what they found and guess what was meant."""

from __future__ import annotations

import difflib
import json
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_PLAIN_WORD = re.compile(r"[\w-]+")
_LONGEST = 60
_SHORTEST_PART = 3
_MOST_LISTED = 16


NOTHING: Final = object()
"""Stands for a value that was forgotten, where None means a field that was left out."""


def quoted(text: str) -> str:
    """The text on one line, in double quotes, cut where it gets long."""
    return json.dumps(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…", ensure_ascii=False)


def found(value: object) -> str:
    """What stands there, as a reader would say it: `"abc"`, `a list`, `nothing`."""
    if value is None or value is NOTHING:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return "a list"
    return quoted(str(value))


def listed(words: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`, `a, b, … and 97 more`; names that are no plain word in quotes."""
    shown = [word if _PLAIN_WORD.fullmatch(word) else quoted(word) for word in words]
    if len(shown) > _MOST_LISTED:
        shown[_MOST_LISTED - 1 :] = [f"{len(shown) - _MOST_LISTED + 1} more"]
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1]))) if shown else "none"


def nearest(word: str, allowed: Iterable[str]) -> str:
    """`did you mean qps_limit?` when one of the allowed words is close, or nothing."""
    words = list(allowed)
    close = difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    if not close and len(word) >= _SHORTEST_PART:
        close = [other for other in words if word in other][:1]
    return f"did you mean {listed(close)}?" if close else ""


def dotted(path: Sequence[str | int]) -> str:
    """`models.inspect.replicas[0]`; a name that is no plain word stands in quotes, its newlines escaped."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += ("." if text else "") + (step if _PLAIN_WORD.fullmatch(step) else quoted(step))
    return text
