"""The local stack on a terminal: its start and its state."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from tritonobs.report.console import Column, Line, Style, Table
from tritonobs.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tritonobs.lab.stack.local import Health

_STYLES: dict[str, Style] = {"ready": "green", "starting": "yellow", "dead": "red"}


@contextmanager
def startup_progress() -> Iterator[Callable[[str], None]]:
    """Say on stderr which part became ready when; a spinner turns while something is awaited."""
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    began = time.monotonic()
    with console.status(Text("starting the stack; Triton loads its models, which takes some seconds")):
        yield lambda name: console.print(f"  {name} ready after {time.monotonic() - began:.1f} s")


def stack_table(rows: Iterable[Health]) -> Table:
    """Every part with its state, age and address; the log of each that is not ready."""
    rows = tuple(rows)
    return Table(
        title="the stack",
        columns=(
            Column(title="part"),
            Column(title="state"),
            Column(title="since", right=True),
            Column(title="address", wrap=True),
        ),
        lines=tuple(
            Line(
                cells=(row.part.name, row.state, format_duration(int(row.age_seconds)), row.part.url),
                style=_STYLES[row.state],
            )
            for row in rows
        ),
        notes=tuple(
            f"{row.part.name} is {row.state}: read {row.part.log}" for row in rows if row.state != "ready"
        ),
    )
