"""Suggested limits and replayed alerts as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs.report.console import Column, Line, Table
from tritonobs.report.formats import latency, rate, share
from tritonobs.report.triage import clock
from tritonobs.units import format_duration

if TYPE_CHECKING:
    from tritonobs.history.backtest import Backtest
    from tritonobs.history.suggest import Suggestion

_MOST_EPISODES = 30
_MOST_OF = 0.98


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
