"""A verdict as one HTML file that needs nothing else; names in it are data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined

from tritonobs.report.triage import clock, evidence_text, slowdown_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tritonobs.live.triage import Verdict


def verdict_page(
    verdict: Verdict, *, links: Iterable[tuple[str, str]], questions: Iterable[tuple[str, str]]
) -> str:
    """The page: verdict, causes with evidence and steps, tables, links, PromQL."""
    pages = Environment(
        loader=PackageLoader("tritonobs.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return pages.get_template("triage.html").render(
        verdict=verdict,
        tables=[slowdown_table(slowdown) for slowdown in verdict.slowdowns],
        links=list(links),
        questions=list(questions),
        clock=clock,
        evidence_text=evidence_text,
    )
