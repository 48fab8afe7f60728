"""A table of stages: a request of one model version, split into its parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tritonobs.timings.measured import Timing

QUEUE: Final = "(queue)"
COMPUTE: Final = "(compute)"
CALL: Final = "(call)"
OTHER: Final = "(other)"
"""Rows that are not stage: waiting in Triton, all of a model without stages, the way to a called model and
back, time no stage accounts for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A part of a request. `path` leads to it: ("preprocess", "decode") is stage decode of what it calls.

    `model` and `version` are whose stage it is. `seconds` is what it adds to one request of the table's
    model,
    repeats counted, and `share` is that over the whole request. Parts that `overlap` others run side by
    side, or
    belong to a model that takes longer for others: they are charged their share of the time that passes,
    so that no part is more than what it is a part of. A `leaf` has no parts of its own.
    """

    path: tuple[str, ...]
    model: str
    version: str
    timing: Timing
    seconds: float | None
    share: float | None
    leaf: bool
    overlaps: bool = False

    @property
    def name(self) -> str:
        """The last step of the path."""
        return self.path[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTable:
    """One model version. `request` is a whole request: its wait in Triton's queue and its time in the model.

    Triton keeps no distribution of its queue and of its own part: `request` has quantiles only where next
    to nothing
    was spent there, and `inside` has those of the time in the model. `notes` say what limits the numbers.
    """

    model: str
    version: str
    window_seconds: float
    request: Timing
    inside: Timing | None
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    @property
    def slowest(self) -> Row | None:
        """The part without parts of its own that takes most of a request."""
        leaves = [row for row in self.rows if row.leaf and row.seconds]
        return max(leaves, key=lambda row: row.seconds or 0.0, default=None)
