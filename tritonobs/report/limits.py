"""Limits as a table, and their history as lines; suggested limits and replayed alerts as tables."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timezone
from typing import TYPE_CHECKING

from tritonobs.limits.log import Entry
from tritonobs.plan.declared import TOKENS_FIELD
from tritonobs.plan.fleet import QpsLimit, TokenLimit
from tritonobs.report.console import Column, Line, Table, plain
from tritonobs.report.formats import latency, rate, share
from tritonobs.report.triage import clock
from tritonobs.units import format_duration, format_number, parse_moment

if TYPE_CHECKING:
    from tritonobs.history.backtest import Backtest
    from tritonobs.history.suggest import Suggestion

_MOST_EPISODES = 30
_MOST_OF = 0.98


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


def suggestion_table(suggestion: Suggestion) -> Table:
    """Every rate that was seen, the knee marked."""
    return Table(
        title=f"{suggestion.model}: mean request time by rate",
        columns=tuple(Column(title=title, right=True) for title in ("req/s", "mean", "failed", "")),
        lines=tuple(
            Line(
                cells=(
                    rate(point.qps),
                    latency(point.seconds),
                    share(point.failed_ratio),
                    "waits" if suggestion.knee_qps is not None and point.qps >= suggestion.knee_qps else "",
                ),
                style="yellow" if point.qps == suggestion.knee_qps else "",
            )
            for point in suggestion.operations
        ),
    )


def backtest_table(backtest: Backtest) -> Table:
    """When the alert would have fired, and how much of the time."""
    shown = backtest.episodes[-_MOST_EPISODES:]
    earlier = len(backtest.episodes) - len(shown)
    span, number = format_duration(round(backtest.span_seconds)), len(backtest.episodes)
    value = f"{backtest.value * 100:g}%" if backtest.kind == "objective" else f"{backtest.value:g} requests/s"
    alerts = f"{number or 'no'} alert{'' if number == 1 else 's'}"
    return Table(
        title=f"{backtest.subject} at {value}, over {span}: {alerts}",
        columns=(
            Column(title="from"),
            Column(title="for", right=True),
            Column(title="peak", right=True),
            Column(title="alert", wrap=True),
        ),
        lines=tuple(
            Line(
                cells=(
                    clock(episode.start),
                    format_duration(max(1, round(episode.seconds))),
                    f"{episode.peak:.3g}",
                    episode.alert,
                )
            )
            for episode in shown
        ),
        notes=(
            *((f"{earlier} earlier ones are left out.",) if earlier else ()),
            _share_of_time(backtest),
        ),
    )


def _share_of_time(backtest: Backtest) -> str:
    step = format_duration(round(backtest.step_seconds))
    ratio = share(backtest.firing_seconds / backtest.seen_seconds)
    seen = format_duration(round(backtest.seen_seconds))
    short = backtest.seen_seconds < _MOST_OF * backtest.span_seconds
    history = f"the {seen} that Prometheus holds" if short else "the time"
    return f"Firing {ratio} of {history}, read every {step}."
