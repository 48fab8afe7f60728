"""A finding: its place, what is wrong, how bad it is, and what to write or do instead."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

MOST_FINDINGS: Final = 100
"""More cannot be read at once; a file of megabytes could have millions."""


class Severity(enum.IntEnum):
    """How bad a finding is; later means worse."""

    INFO = 0
    WARNING = 1
    ERROR = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where in which file; lines and columns count from 1, 0 means the file as a whole."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        """`fleet.yaml:12:5`, the form editors and terminals can follow."""
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing wrong.

    `path` is the field (`models.inspect.qps_limit`), `message` says what was found and what is allowed, and
    `hint` what to write instead, or nothing. `stands_for` counts the findings that this one summarises.
    """

    place: Place
    path: str
    message: str
    hint: str = ""
    severity: Severity = Severity.ERROR
    stands_for: int = 1

    def __str__(self) -> str:
        """One line: place, field, message, hint."""
        field = f"{self.path}: " if self.path else ""
        return f"{self.place}: {field}{self.message}" + (f" ({self.hint})" if self.hint else "")


def abridged(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The first `MOST_FINDINGS`, and one finding for all others: how many there are, as bad as the worst."""
    kept: list[Finding] = []
    more, first, worst = 0, None, Severity.INFO
    for finding in findings:
        if len(kept) < MOST_FINDINGS:
            kept.append(finding)
        else:
            first = first or finding
            more, worst = more + finding.stands_for, max(worst, finding.severity)
    if first:
        kept.append(more_findings(first.place, more, worst))
    return tuple(kept)


def more_findings(place: Place, count: int, severity: Severity = Severity.ERROR) -> Finding:
    """One finding for `count` findings that are not shown, the first of them at `place`."""
    message = f"and {count:,} more from here on; fix these first"
    return Finding(place=place, path="", message=message, severity=severity, stands_for=count)
