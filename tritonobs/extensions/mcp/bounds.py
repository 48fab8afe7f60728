"""How much a PromQL expression reads, from its text: ranges, subqueries and offsets, without a parser.

A parser is not there on every platform. What is not a plain duration is refused, so nothing is missed.
"""

from __future__ import annotations

import re
from typing import Final

from tritonobs.extensions.mcp.ask import Unanswered
from tritonobs.units import parse_duration

MOST_BACK_SECONDS: Final = 7 * 86_400.0
MOST_SAMPLES: Final = 1_000_000.0
"""Of one series: points of the answer times samples that each of them reads."""
_EVERY_SECONDS: Final = 15.0
"""Taken for the scrape interval, and for the step of a subquery that names none."""
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|`[^`]*`')
_RANGE = re.compile(r"\[([^\]]*)\]")
_OFFSET = re.compile(r"\boffset\b\s*(-?\s*[^\s)\],]*)", re.IGNORECASE)


def bounded(expression: str, *, points: int, span_seconds: float) -> None:
    """Nothing, for an expression that reads little enough at each of `points` moments of a span.

    Raises:
        Unanswered: it reads more, or how much it reads cannot be seen.
    """
    bare = _STRING.sub('""', expression)
    if "#" in bare:
        raise Unanswered("comments are not accepted: they could hide what is asked")
    back, samples = span_seconds, 1.0
    for found in _RANGE.finditer(bare):
        length, step = _range(found[1])
        back += length
        samples *= max(1.0, length / step)
    for found in _OFFSET.finditer(bare):
        back += abs(_seconds(found[1].replace(" ", "").removeprefix("-"), "offset"))
    if back > MOST_BACK_SECONDS:
        raise Unanswered(
            "the expression reads more than 7 days back, with its ranges and offsets; ask for less"
        )
    if samples * points > MOST_SAMPLES:
        raise Unanswered(
            f"the expression reads more than {MOST_SAMPLES:,.0f} samples of a series; ask for less"
        )


def _range(text: str) -> tuple[float, float]:
    length, colon, step = text.partition(":")
    every = _seconds(step, "the step of a subquery") if colon and step.strip() else _EVERY_SECONDS
    return _seconds(length, "a range"), max(every, 1e-3)


def _seconds(text: str, what: str) -> float:
    word = text.strip()
    try:
        return (
            float(word) if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,3})?", word) else float(parse_duration(word))
        )
    except ValueError:
        raise Unanswered(f"{what}: {word[:40]!r} is not a plain duration like 5m") from None
