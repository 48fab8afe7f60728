"""Stage tables as text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tritonobs.report.console import Column, Line, Table, table_text
from tritonobs.report.formats import bounded, few, latency, rate, share
from tritonobs.units import format_duration

if TYPE_CHECKING:
    from tritonobs.timings.measured import Timing
    from tritonobs.timings.stages import Row, StageTable

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
    request, inside = table.request, table.inside
    whole = Line(
        cells=("request", *_times(request), share(None if request.mean is None else 1.0)), style="bold"
    )
    within = (
        ()
        if inside is None or inside.mean is None or not request.mean
        else (Line(cells=("in the model", *_times(inside), share(min(1.0, inside.mean / request.mean)))),)
    )
    slowest = table.slowest
    window = format_duration(table.window_seconds)
    return Table(
        title=f"{table.model} version {table.version or 'any'}, last {window}",
        columns=_COLUMNS,
        lines=(whole, *within, *(_line(row, marked=row is slowest) for row in table.rows)),
        notes=(*(() if slowest is None else (verdict(slowest),)), *table.notes),
    )


def verdict(row: Row) -> str:
    """The slow stage in one sentence."""
    p99 = "" if row.timing.p99 is None else f", p99 {_quantile(row.timing, row.timing.p99)}"
    where = " / ".join(row.path)
    how = " (side by side with others)" if row.overlaps else ""
    return f"Most of a request goes to {where}: {latency(row.seconds)}, {share(row.share)} of it{how}{p99}."


def _line(row: Row, *, marked: bool) -> Line:
    side = "‖ " if row.overlaps else ""
    return Line(
        cells=("  " * len(row.path) + side + row.name, *_times(row.timing), share(row.share)),
        style="yellow" if marked else "" if row.leaf else "dim",
    )


def _times(timing: Timing) -> tuple[str, ...]:
    """Requests a second, mean and quantiles."""
    quantiles = (_quantile(timing, value) for value in (timing.p50, timing.p95, timing.p99))
    return (rate(timing.rate), latency(timing.mean), *quantiles)


def _quantile(timing: Timing, value: float | None) -> str:
    if value is None:
        return few(timing.known, timing.lowest, timing.highest)
    return bounded(value, timing.lowest, timing.highest)
