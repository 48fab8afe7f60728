"""Verdicts and knees as HTML files that need nothing else; names in them are data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from tritonobs.report.formats import latency, rate
from tritonobs.report.triage import clock, evidence_text, slowdown_table
from tritonobs.report.waterfall import rows, sentence
from tritonobs.traces.slowest import Slow

if TYPE_CHECKING:
    from tritonobs.history.suggest import Suggestion
    from tritonobs.triage.judge import Verdict

_WIDTH, _HEIGHT, _MARGIN = 720, 360, 60


def verdict_page(
    verdict: Verdict, *, links: Iterable[tuple[str, str]], questions: Iterable[tuple[str, str]]
) -> str:
    """The page: verdict, causes with evidence and steps, tables, links, PromQL."""
    return _template("triage.html").render(
        verdict=verdict,
        tables=[slowdown_table(slowdown) for slowdown in verdict.slowdowns],
        links=list(links),
        questions=list(questions),
        clock=clock,
        evidence_text=evidence_text,
    )


def slow_page(model: str, slow: Sequence[Slow]) -> str:
    """The slowest requests of a model, each as a waterfall."""
    return _template("slow.html").render(
        title=f"Slowest traced requests to {model}",
        latency=latency,
        requests=[
            {
                "slow": each,
                "rows": rows(each),
                "sentence": sentence(each),
                "at": clock(each.call.request.start_ns / 1e9),
            }
            for each in slow
        ],
    )


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
    return _template("suggestion.html").render(
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


def _template(name: str) -> Template:
    # Strict, because a name that is missing would leave a hole in the page, and no error.
    pages = Environment(
        loader=PackageLoader("tritonobs.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return pages.get_template(name)
