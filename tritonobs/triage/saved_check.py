"""Checks the types of a snapshot from a file: a file can hold anything."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tritonobs.timings.span import Span
    from tritonobs.triage.snapshot import Snapshot

# JSON has one kind of number, so other programs may write 60.0 back as 60.
_PLAIN = {"str": (str,), "bool": (bool,), "int": (int,), "float": (int, float)}


def require_sound(snapshot: Snapshot) -> None:
    """Make sure that every field holds what its annotation says, and that both spans are spans.

    Raises:
        TypeError: one does not; the text names it.
    """
    _require(snapshot)
    for span in (snapshot.incident, snapshot.baseline):
        if not _is_span(span):
            raise TypeError("a span that does not end after it begins")


def _require(value: Any) -> None:  # noqa: ANN401 (any of the dataclasses below a snapshot)
    for field in dataclasses.fields(value):
        if not _fits(str(field.type), getattr(value, field.name)):
            raise TypeError(f"{type(value).__name__}.{field.name}")


def _fits(annotation: str, value: Any) -> bool:  # noqa: ANN401 (what a file held)
    if annotation in _PLAIN:
        # The exact type, because `isinstance` takes a bool for an int.
        return type(value) in _PLAIN[annotation]
    if annotation == "Mapping[str, str]":
        return isinstance(value, dict) and all(type(one) is str for pair in value.items() for one in pair)
    if annotation == "tuple[str, ...]":
        return all(type(one) is str for one in value)
    if annotation.startswith("tuple[tuple[float"):
        return all(type(number) is float for pair in value for number in pair)
    below = value.values() if isinstance(value, dict) else (value,)
    for one in (item for items in below for item in (items if isinstance(items, tuple) else (items,))):
        _require(one)
    return True


def _is_span(span: Span) -> bool:
    return math.isfinite(span.start) and math.isfinite(span.end) and span.start < span.end
