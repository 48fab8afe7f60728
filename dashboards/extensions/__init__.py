"""Rows that extensions add to boards: a file for each extension, found because it is there."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from panels import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """A row, and the row of a board that it follows, by its headline."""

    board: str
    after: str
    row: Row


def rows_with_added(board: str, rows: Iterable[Row]) -> Iterator[Row]:
    """The rows of a board with those that extensions add."""
    files = sorted(found.name for found in pkgutil.iter_modules(__path__))
    added = [one for name in files for one in importlib.import_module(f"{__name__}.{name}").ADDED]
    for row in rows:
        yield row
        yield from (one.row for one in added if (one.board, one.after) == (board, row.title))
