"""Limits as a table, and their history as lines."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timezone

from tritonobs.limits.log import Entry
from tritonobs.plan.declared import TOKENS_FIELD
from tritonobs.plan.fleet import QpsLimit, TokenLimit
from tritonobs.report.console import Column, Line, Table, plain
from tritonobs.units import format_number, parse_moment


def limits_table(limits: Sequence[QpsLimit], title: str) -> Table:
    """What is in force, and what each limit comes from."""
    columns = (
        Column(title="model"),
        Column(title="version"),
        Column(title="req/s", right=True),
        Column(title="from", wrap=True),
    )
    return Table(title=title, columns=columns, lines=tuple(_line(limit) for limit in limits))


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


def _line(limit: QpsLimit) -> Line:
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
