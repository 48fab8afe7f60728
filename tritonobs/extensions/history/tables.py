"""Suggested limits and replayed alerts as tables, and a knee as an HTML file that needs nothing else."""

from __future__ import annotations

from tritonobs.extensions.history.backtest import Backtest
from tritonobs.extensions.history.suggest import Suggestion
from tritonobs.report.console import Column, Line, Table
from tritonobs.report.formats import latency, rate, share, template
from tritonobs.units import format_duration, format_moment

_MOST_EPISODES = 30
_MOST_OF = 0.98
_WIDTH, _HEIGHT, _MARGIN = 720, 360, 60


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
                    format_moment(episode.start),
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


def suggestion_page(suggestion: Suggestion, sentence: str) -> str:
    """The knee drawn: mean request time over rate, with the limit."""
    # All may be 0, and `x` and `y` divide by them.
    most_qps = max(point.qps for point in suggestion.operations) or 1.0
    most_seconds = max(point.seconds for point in suggestion.operations) or 1.0

    def x(qps: float) -> float:
        return round(_MARGIN + (_WIDTH - 2 * _MARGIN) * qps / most_qps, 1)

    def y(seconds: float) -> float:
        return round(_HEIGHT - _MARGIN - (_HEIGHT - 2 * _MARGIN) * seconds / most_seconds, 1)

    marks = [(suggestion.limit_qps, "#2e7d32", f"limit {suggestion.limit_qps:g}")]
    if suggestion.knee_qps is not None:
        marks.append((suggestion.knee_qps, "#c62828", f"waits from {suggestion.knee_qps:.3g}"))
    return template(__package__, "suggestion.html").render(
        title=suggestion.model,
        sentence=sentence,
        width=_WIDTH,
        height=_HEIGHT,
        margin=_MARGIN,
        points=[
            {
                "x": x(point.qps),
                "y": y(point.seconds),
                "words": f"{rate(point.qps)}/s: {latency(point.seconds)}",
            }
            for point in suggestion.operations
        ],
        marks=[{"x": x(qps), "colour": colour, "words": words} for qps, colour, words in marks],
        most_time=latency(most_seconds),
        most_rate=rate(most_qps),
    )
