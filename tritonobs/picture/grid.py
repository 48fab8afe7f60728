"""A table: a row for each set of labels, a column for each query."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from tritonobs.picture import canvas
from tritonobs.picture.answers import Answer
from tritonobs.picture.board import Look
from tritonobs.picture.canvas import Box, shortened
from tritonobs.picture.values import text_of

_ROW: Final = 24.0
_HEAD: Final = 24.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A text, its colour, and whether it is a number."""

    text: str
    colour: str = canvas.TEXT
    number: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Headlines and rows, in the order of the first column."""

    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def grid_of(answer: Answer) -> Grid:
    """The table of a panel of the type table."""
    # As the query names them: `max by (model, version) (…)`.
    query = answer.queries[0]
    found = {name for line in answer.lines for name in line.labels}
    labels = sorted(found, key=lambda name: (query.find(name), name))
    columns = [(ref.removeprefix("Value #"), title) for ref, title in answer.panel.columns.items()]
    values: dict[tuple[str, ...], dict[str, float]] = {}
    for line in answer.lines:
        values.setdefault(tuple(line.labels.get(name, "") for name in labels), {})[line.ref] = line.last
    first = columns[0][0]
    sign = -1 if answer.panel.descending else 1
    ordered = sorted(values.items(), key=lambda item: (sign * item[1].get(first, sign * math.inf), item[0]))
    return Grid(
        heads=(*labels, *(title for _, title in columns)),
        rows=tuple(
            (
                *(Cell(text=name) for name in names),
                *(_cell(found.get(ref), answer.panel.look(title)) for ref, title in columns),
            )
            for names, found in ordered
        ),
    )


def draw_grid(box: Box, answer: Answer) -> None:
    """A panel of the type table."""
    grid = grid_of(answer)
    axes = box.blank()
    lengths = [
        max(len(head), *(len(row[place].text) for row in grid.rows)) + 2
        for place, head in enumerate(grid.heads)
    ]
    widths = [box.width * length / sum(lengths) for length in lengths]
    room = int((box.height - _HEAD) // _ROW)
    hidden = len(grid.rows) - room
    for row, cells in enumerate(
        (tuple(Cell(text=head, colour=canvas.FAINT) for head in grid.heads), *grid.rows[:room])
    ):
        left, middle = 0.0, _HEAD / 2 if row == 0 else _HEAD + (row - 0.5) * _ROW
        axes.axhline(middle + _ROW / 2, color=canvas.EDGE, linewidth=0.6)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True)):
            number = grid.rows[0][place].number
            axes.text(
                left + (width - 8 if number else 4),
                middle,
                shortened(cell.text, width - 6),
                color=cell.colour,
                fontsize=canvas.SIZE,
                ha="right" if number else "left",
                va="center_baseline",
            )
            left += width
    if hidden > 0:
        axes.text(
            box.width,
            box.height - 4,
            f"+ {hidden} more",
            color=canvas.FAINT,
            fontsize=canvas.SIZE,
            ha="right",
        )


def _cell(value: float | None, look: Look) -> Cell:
    if value is None:
        return Cell(text="", number=True)
    colour = look.colour_at(value) if look.steps else None
    return Cell(text=text_of(value, look.unit, look.decimals), colour=colour or canvas.TEXT, number=True)
