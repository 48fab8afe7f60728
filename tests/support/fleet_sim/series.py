"""A series: labels with the name among them, times, values, and the marker where it ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

Array: TypeAlias = np.ndarray[Any, Any]
NAME: Final = "__name__"
STALE: Final = np.array([0x7FF0000000000002], dtype=np.uint64).view(np.float64)[0]
"""The NaN by which Prometheus knows that a series has ended (model/value of its source)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Series:
    """Samples in the order of their times, in milliseconds since 1970."""

    labels: Mapping[str, str]
    times_ms: Array
    values: Array


def with_ends(values: Array, present: Array, cut: Array | None = None) -> tuple[Array, Array]:
    """Which places get a sample, and its value: those present, and a marker at the first after each run.

    At a `cut` no one remembers what was before it: what ends there ends without a marker.
    """
    ends = np.zeros_like(present)
    ends[1:] = present[:-1] & ~present[1:]
    if cut is not None:
        ends &= ~cut
    kept = present | ends
    return kept, np.where(ends, STALE, values)[kept]
