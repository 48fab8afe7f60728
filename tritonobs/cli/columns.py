"""Rows as aligned columns of plain text, for people and for `grep`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def columns(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The rows below their head, each column as wide as its widest cell; a cell stays on one line."""
    cells = [head, *[[_one_line(cell) for cell in row] for row in rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells)
    return "\n".join(line.rstrip() for line in lines)


def _one_line(text: str) -> str:
    """The text with what would break the line or steer the terminal written as an escape."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
