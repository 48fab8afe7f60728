"""A fleet file read for a command: everything that is wrong with it, or the plan it means."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from tritonobs.findings import Severity
from tritonobs.plan.build import build_plan
from tritonobs.plan.check import check
from tritonobs.spec.load import load_fleet, read_fleet

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tritonobs.findings import Finding
    from tritonobs.plan.fleet import Plan


def examine(path: Path) -> tuple[Finding, ...]:
    """Every finding about the file, of its syntax, its fields and its meaning, in the order of the file."""
    reading = read_fleet(path)
    found = [*reading.findings, *(check(reading.spec) if reading.spec else ())]
    return tuple(sorted(found, key=lambda finding: (finding.place.line, finding.place.column)))


def load_plan(path: Path) -> Plan:
    """What the file means.

    Raises:
        SpecInvalid: with every error found.
    """
    return build_plan(load_fleet(path), path.absolute().parent)


def line_of(finding: Finding) -> str:
    """A finding as one line; warnings say that they are."""
    return (
        str(finding) if finding.severity is Severity.ERROR else f"{finding} [{finding.severity.name.lower()}]"
    )


def value_of(finding: Finding) -> dict[str, object]:
    """A finding for JSON."""
    return {
        **dataclasses.asdict(finding.place),
        "path": finding.path,
        "severity": finding.severity.name.lower(),
        "message": finding.message,
        "hint": finding.hint,
    }


def worst(findings: Sequence[Finding]) -> Severity | None:
    """The worst severity among the findings."""
    return max((finding.severity for finding in findings), default=None)
