"""The line of a runbook, in both languages, that says how many false positives its alert is allowed."""

from __future__ import annotations

import re


def measured_alerts(results: str) -> frozenset[str]:
    """The alerts that bench/false_pages.py has counted, by its section of bench/RESULTS.md."""
    section = results.partition("<!-- False pages -->")[2].partition("<!-- /False pages -->")[0]
    return frozenset(re.findall(r"^\| (Triton\w+) +\|", section, re.MULTILINE))


def budget_lines(a_day: float, *, measured: bool = True) -> tuple[str, str]:
    """English and Chinese. `measured` is whether bench/false_pages.py has counted the alert."""
    english, chinese = ("`bench/false_pages.py`",) * 2 if measured else ("not measured", "未测量")
    return (
        f"False-positive budget: {a_day:g} per day over a healthy fleet ({english}).",
        f"误报预算：健康的集群中每天 {a_day:g} 次（{chinese}）。",  # noqa: RUF001 (Chinese)
    )


def with_budget(page: str, a_day: float, *, measured: bool = True) -> str:
    """The page with both lines, each below what it says about false positives, and without older ones.

    Raises:
        ValueError: the page has no paragraph about false positives in one of the languages.
    """
    bare = re.sub(r"\n(?:False-positive budget|误报预算)[:：][^\n]*\n", "", page)  # noqa: RUF001 (Chinese)
    lines = budget_lines(a_day, measured=measured)
    for start, line in zip(("False positives: ", "误报："), lines, strict=True):  # noqa: RUF001 (Chinese)
        found = re.search(rf"^{start}[^\n]*(?:\n[^\n]+)*\n", bare, re.MULTILINE)
        if found is None:
            raise ValueError(f"no paragraph begins with {start}")
        bare = f"{bare[: found.end()]}\n{line}\n{bare[found.end() :]}"
    return bare
