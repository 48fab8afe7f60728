"""Stretches of time, in seconds: the start is in them, the end is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from support.fleet_sim.series import Array

Span: TypeAlias = "tuple[float, float]"
FOREVER = float("inf")
ALWAYS: Span = (0, FOREVER)


def without(span: Span, holes: Sequence[Span]) -> list[Span]:
    """What is left of a stretch."""
    edges = [span[0], *(edge for hole in sorted(holes) for edge in hole), span[1]]
    return [(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True) if start < end]


def among(times: Array, spans: Sequence[Span]) -> Array:
    """Which times are in any of the spans."""
    found = np.zeros(len(times), dtype=bool)
    for start, end in spans:
        found |= (times >= start) & (times < end)
    return found


def after_each(left_out: Array, kept: Array) -> Array:
    """Of the places that are kept, which are the first after some that are left out."""
    stretch = np.cumsum(left_out)[kept]
    return np.diff(stretch, prepend=stretch[:1]) > 0


def gaps(spans: Sequence[Span], within: Span) -> list[Span]:
    """Where none of the spans is, from the start of `within` to its end."""
    edges = [within[0], *(edge for span in spans for edge in span), within[1]]
    return [(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True) if start < end]


def both(one: Sequence[Span], other: Sequence[Span]) -> list[Span]:
    """What stretches of one list share with those of another."""
    return [
        (max(a[0], b[0]), min(a[1], b[1])) for a in one for b in other if max(a[0], b[0]) < min(a[1], b[1])
    ]
