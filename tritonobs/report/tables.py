"""Limits, their history and stages, as tables and lines."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timezone

from tritonobs.limits.log import Entry
from tritonobs.plan.fleet import QpsLimit, TokenLimit
from tritonobs.plan.limits import TOKENS_FIELD
from tritonobs.report.console import Column, Line, Table, plain
from tritonobs.report.formats import bounded, few, latency, rate, share
from tritonobs.timings.measured import Timing
from tritonobs.timings.stages import Row, StageTable
from tritonobs.units import format_duration, format_number, parse_moment


def limits_table(limits: Sequence[QpsLimit], title: str) -> Table:
    """What is in force, and what each limit comes from."""
    columns = (
        Column(title="model"),
        Column(title="version"),
        Column(title="req/s", right=True),
        Column(title="from", wrap=True),
    )
    return Table(title=title, columns=columns, lines=tuple(_limit_line(limit) for limit in limits))


def token_limits_table(limits: Sequence[TokenLimit], title: str) -> Table:
    """The same of tokens: `in` those of prompts, `out` those of answers."""
    columns = (
        Column(title="model"),
        Column(title="version"),
        Column(title="tokens"),
        Column(title="tokens/s", right=True),
        Column(title="from", wrap=True),
    )
    lines = (
        Line(
            cells=(
                limit.model,
                limit.version or "(all)",
                limit.kind.removeprefix("tokens_"),
                format_number(limit.per_second),
                # The rest of the field's name is said by the column of tokens, and 80 columns are few.
                limit.origin.removesuffix(f".{TOKENS_FIELD}.{limit.kind}"),
            )
        )
        for limit in limits
    )
    return Table(title=title, columns=columns, lines=tuple(lines))


def history_line(entry: Entry) -> str:
    """One change on one line: when, who, what, from what to what, how it came and why."""
    change = f"{entry.field}: {entry.old or 'nothing'} → {entry.new or 'nothing'}"
    return plain(
        f"{_when(entry.at)}  {entry.who}  {change}  ({entry.source}: {entry.reason or 'no reason given'})"
    )


def _limit_line(limit: QpsLimit) -> Line:
    until = f", until {limit.valid_until.isoformat()}" if limit.valid_until else ""
    cells = (
        limit.model or "(fleet)",
        limit.version or "(all)",
        format_number(limit.qps),
        limit.origin + until,
    )
    return Line(cells=cells)


def _when(text: str) -> str:
    """The moment in UTC to the second, or the text as it is."""
    try:
        return f"{parse_moment(text).astimezone(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
    except ValueError:
        return text


_COLUMNS = (
    Column(title="stage"),
    Column(title="req/s", right=True),
    Column(title="mean", right=True),
    Column(title="p50", right=True),
    Column(title="p95", right=True),
    Column(title="p99", right=True),
    Column(title="share", right=True),
)


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
