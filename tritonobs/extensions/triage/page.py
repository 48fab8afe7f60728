"""A verdict as an HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable

from tritonobs.extensions.triage.judge import Verdict
from tritonobs.extensions.triage.tables import evidence_text, slowdown_table
from tritonobs.report.formats import template
from tritonobs.units import format_moment


def verdict_page(
    verdict: Verdict, *, links: Iterable[tuple[str, str]], questions: Iterable[tuple[str, str]]
) -> str:
    """The page: verdict, causes with evidence and steps, tables, links, PromQL."""
    return template(__package__, "triage.html").render(
        verdict=verdict,
        tables=[slowdown_table(slowdown) for slowdown in verdict.slowdowns],
        links=list(links),
        questions=list(questions),
        format_moment=format_moment,
        evidence_text=evidence_text,
    )
