"""Findings for people, for programs, for SARIF readers and for GitHub's annotations."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from tritonobs.extensions.lint.checks import CHECKS
from tritonobs.extensions.lint.linter import OWN, Problem, Result
from tritonobs.findings import Severity
from tritonobs.report.formats import json_text

_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_COMMANDS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
MEASURED: Final = Path(__file__).parent / "measured.json"
"""How wrong the wrong expression of each check is; `python bench/lint_errors.py --write` measures it."""
_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def line_of(problem: Problem) -> str:
    """A finding as one line; warnings and remarks say that they are."""
    finding = problem.finding
    word = "" if finding.severity is Severity.ERROR else f" [{finding.severity.name.lower()}]"
    return f"{finding}{word}".replace("\n", " ")


def json_of(result: Result) -> str:
    """Everything as JSON."""
    held = [
        {
            "file": one.finding.place.file,
            "line": one.finding.place.line,
            "column": one.finding.place.column,
            "id": one.id,
            "severity": one.finding.severity.name.lower(),
            "message": one.finding.message,
            "hint": one.finding.hint,
            "fixable": bool(one.changes),
        }
        for one in result.problems
    ]
    return json_text({"files": result.files, "expressions": result.expressions, "findings": held})


def sarif_of(result: Result, version: str) -> str:
    """A SARIF 2.1.0 log, as code hosts read it."""
    used = list(dict.fromkeys(one.id for one in result.problems))
    rules = [_rule(name) for name in used]
    held = [_sarif(one, used.index(one.id)) for one in result.problems]
    driver = {"name": "tritonobs lint", "version": version, "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": held}
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json_text(log)


def github_of(problems: Sequence[Problem]) -> str:
    """Workflow commands, one a line, which GitHub shows beside the lines of a change."""
    return "\n".join(map(_command, problems))


def page_of(name: str) -> str:
    """The page of a check in Markdown, with what its wrong expression gives where the truth is known."""
    check = CHECKS[name]
    example = "{happens}: the wrong one {wrong}, the right one {right}.".format(**_measured()[name])
    mended = "; `--fix` fixes what is certain" if check.fixed else ""
    return "\n".join(
        (
            f"### {check.id}",
            "",
            f"{check.title}. {check.severity.name.capitalize()}{mended}.",
            "",
            textwrap.fill(check.why, 118, break_on_hyphens=False),
            "",
            "```text",
            f"wrong: {check.wrong}",
            f"right: {check.right}",
            "```",
            "",
            textwrap.fill(example, 118, break_on_hyphens=False),
        )
    )


def pages() -> str:
    """The pages of all checks, in the order of their ids."""
    return "\n\n".join(map(page_of, sorted(CHECKS)))


@cache
def _measured() -> dict[str, dict[str, str]]:
    held: dict[str, dict[str, str]] = json.loads(MEASURED.read_text(encoding="utf-8"))
    return held


def _rule(name: str) -> dict[str, Any]:
    if name not in CHECKS:
        return {"id": name, "defaultConfiguration": {"level": _LEVELS[OWN[name]]}}
    check = CHECKS[name]
    return {
        "id": name,
        "shortDescription": {"text": check.title},
        "fullDescription": {"text": check.why},
        "defaultConfiguration": {"level": _LEVELS[check.severity]},
    }


def _sarif(problem: Problem, index: int) -> dict[str, Any]:
    place = problem.finding.place
    physical: dict[str, Any] = {"artifactLocation": {"uri": quote(place.file)}}
    if place.line:
        physical["region"] = {"startLine": place.line, "startColumn": place.column}
    hint = f" ({problem.finding.hint})" if problem.finding.hint else ""
    return {
        "ruleId": problem.id,
        "ruleIndex": index,
        "level": _LEVELS[problem.finding.severity],
        "message": {"text": f"{problem.finding.message}{hint}"},
        "locations": [{"physicalLocation": physical}],
    }


def _command(problem: Problem) -> str:
    finding = problem.finding
    place = finding.place
    fields = [("file", place.file), ("title", f"tritonobs {problem.id}")]
    if place.line:
        fields[1:1] = [("line", str(place.line)), ("col", str(place.column))]
    settings = ",".join(f"{key}={_property(value)}" for key, value in fields)
    hint = f" ({finding.hint})" if finding.hint else ""
    return f"::{_COMMANDS[finding.severity]} {settings}::{_data(finding.message + hint)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
