"""Tables and sentences on a terminal, a pipe or a log file.

Honours NO_COLOR and COLUMNS. Without a terminal a table is plain text 80 columns wide.
"""

from __future__ import annotations

import io
import sys
import textwrap
from dataclasses import dataclass
from typing import Literal, TextIO

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.style import Style as RichStyle
from rich.table import Table as RichTable
from rich.text import Text

from tritonobs.outside import shown

_FOLDED = 8
"""Characters of a text that stay on one line in the narrowest table."""

Style = Literal["", "bold", "dim", "red", "yellow", "green"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column; numbers stand `right`, and are always whole.

    A text that may not `wrap` keeps its width before others, as long as the table fits.
    """

    title: str
    right: bool = False
    wrap: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A row of cells, drawn in one style."""

    cells: tuple[str, ...]
    style: Style = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """What a table says; `notes` stand below it."""

    title: str
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()


def print_table(table: Table, *, file: TextIO | None = None) -> None:
    """Draw a table; names in it are data and cannot colour, move or clear anything."""
    console = plain_console(file or sys.stdout)
    print_text(table.title, style="bold", file=file)
    if table.lines:
        # Longer lines than the terminal's are better than numbers without their last digits.
        console.width = max(console.width, _width(table, _FOLDED))
        console.print(_drawn(table, console.width), soft_wrap=True)
    for note in table.notes:
        print_text(note, style="dim", file=file)


def _width(table: Table, folded: int, *, every: bool = True) -> int:
    """How wide the table is where texts, or only those that may wrap, are folded to so many characters."""
    widths = []
    for column, *cells in zip(table.columns, *(line.cells for line in table.lines), strict=True):
        widest = max(cell_len(plain(text)) for text in (column.title, *cells))
        folds = column.wrap or (every and not column.right)
        widths.append(min(widest, folded) if folds else widest)
    # Two spaces between columns, and one at the end.
    return sum(widths) + 2 * (len(widths) - 1) + 1


def _drawn(table: Table, width: int) -> RichTable:
    crowded = _width(table, _FOLDED, every=False) > width
    drawn = RichTable(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for column in table.columns:
        drawn.add_column(
            Text(column.title),
            justify="right" if column.right else "left",
            no_wrap=not column.wrap and (column.right or not crowded),
            # rich's default is an ellipsis, which would hide the rest of a name.
            overflow="fold",
        )
    for line in table.lines:
        drawn.add_row(*(Text(plain(cell)) for cell in line.cells), style=line.style or None)
    return drawn


def table_text(table: Table) -> str:
    """The table as plain text."""
    paper = io.StringIO()
    print_table(table, file=paper)
    return paper.getvalue().rstrip("\n")


def print_text(text: str, *, style: Style = "", file: TextIO | None = None) -> None:
    """Print a sentence, wrapped between words; what is indented stays so, addresses stay whole."""
    console = plain_console(file or sys.stdout)
    indent = " " * (len(text) - len(text.lstrip()))
    lines = textwrap.wrap(
        plain(text),
        max(1, console.width),
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )
    for line in lines or [""]:
        # textwrap has wrapped; without `soft_wrap` rich would break addresses longer than a line.
        console.print(Text(line, style=style), soft_wrap=True)


def print_link(name: str, url: str, *, file: TextIO | None = None) -> None:
    """Print `name: address`; on a terminal too narrow for it, cut, and still a link to all of it."""
    console = plain_console(file or sys.stdout)
    line, address = Text(plain(f"{name}: ")), Text(plain(url))
    if console.is_terminal:
        address.truncate(max(1, console.width - len(line)), overflow="ellipsis")
        # The address stands inside of an escape sequence here, which a control character would end.
        address.stylize(RichStyle(link=plain(url)))
    console.print(line + address, soft_wrap=True)


def plain(text: str) -> str:
    """The text with control characters spelled out, so that a name cannot drive the terminal."""
    return shown(text)


def plain_console(file: TextIO) -> Console:
    """A console that prints names as they are, and ends as other programs do when its reader leaves."""
    # rich would read `[red]` and `:smile:` in the name of a model as markup.
    return _Console(file=file, highlight=False, markup=False, emoji=False)


class _Console(Console):
    """A console whose reader may leave: rich itself would end the command with 1, which means findings."""

    def on_broken_pipe(self) -> None:
        """Let the command end as by the signal."""
        raise BrokenPipeError
