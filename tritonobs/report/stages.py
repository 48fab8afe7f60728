"""Stage tables as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs.report.console import Column, Line, Table, table_text
from tritonobs.report.formats import latency, rate, share
from tritonobs.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tritonobs.live.stages import Row, StageTable

_COLUMNS = (
    Column(title="stage"),
    Column(title="req/s", right=True),
    Column(title="mean", right=True),
    Column(title="p50", right=True),
    Column(title="p95", right=True),
    Column(title="p99", right=True),
    Column(title="share", right=True),
)


def stages_table(tables: Iterable[StageTable]) -> str:
    """All of them as plain text."""
    return "\n\n".join(table_text(stage_table(table)) for table in tables)


def stage_table(table: StageTable) -> Table:
    """A model version: its request first, parts below, what is called indented."""
    request = table.request
    whole = Line(
        cells=(
            "request",
            rate(request.rate),
            *map(latency, (request.mean, request.p50, request.p95, request.p99)),
            share(None if request.mean is None else 1.0),
        ),
        style="bold",
    )
    slowest = table.slowest
    window = format_duration(table.window_seconds)
    return Table(
        title=f"{table.model} version {table.version or 'any'}, last {window}",
        columns=_COLUMNS,
        lines=(whole, *(_line(row, marked=row is slowest) for row in table.rows)),
        notes=(*(() if slowest is None else (verdict(slowest),)), *table.notes),
    )


def verdict(row: Row) -> str:
    """The slow stage in one sentence."""
    p99 = "" if row.timing.p99 is None else f", p99 {latency(row.timing.p99)}"
    where = " / ".join(row.path)
    return f"Most of a request goes to {where}: {latency(row.seconds)}, {share(row.share)} of it{p99}."


def _line(row: Row, *, marked: bool) -> Line:
    timing = row.timing
    return Line(
        cells=(
            "  " * len(row.path) + row.name,
            rate(timing.rate),
            *map(latency, (timing.mean, timing.p50, timing.p95, timing.p99)),
            share(row.share),
        ),
        style="yellow" if marked else "" if row.leaf else "dim",
    )
