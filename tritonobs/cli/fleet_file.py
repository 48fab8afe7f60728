"""A fleet file read for a command: its findings, or its plan."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import click

from tritonobs.errors import SpecInvalid
from tritonobs.findings import Finding, Severity, abridged
from tritonobs.plan.build import build_plan, check, in_order
from tritonobs.plan.fleet import Plan
from tritonobs.spec.load import Reading, read_fleet

FLEET = click.argument("fleet", type=click.Path(path_type=Path, exists=True, dir_okay=False))
FORMAT = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Format of the output.",
)


def examine(path: Path) -> tuple[Finding, ...]:
    """Every finding about the file, of its syntax, its fields and its meaning, in the order of the file."""
    return _all(read_fleet(path))


def load_plan(path: Path) -> Plan:
    """What the file means.

    Raises:
        SpecInvalid: with every error found.
    """
    reading = read_fleet(path)
    if reading.spec is None or any(finding.severity is Severity.ERROR for finding in reading.findings):
        # Findings about the meaning of the rest are added, so that one run reports everything.
        raise SpecInvalid([finding for finding in _all(reading) if finding.severity is Severity.ERROR])
    return build_plan(reading.spec, path.absolute().parent)


def asked_plan(path: Path) -> Plan:
    """The same for a command whose exit status 1 is about the fleet and not about its file.

    Raises:
        WrongFile: with every error found.
    """
    try:
        return load_plan(path)
    except SpecInvalid as error:
        raise WrongFile(str(error)) from None


class WrongFile(click.ClickException):
    """Findings about a fleet file, as wrong usage."""

    def show(self, file: IO[Any] | None = None) -> None:
        """Each begins with its file and line, which editors follow: no prefix."""
        print(self.message, file=file)


def _all(reading: Reading) -> tuple[Finding, ...]:
    found = [*reading.findings, *(check(reading.spec) if reading.spec else ())]
    return abridged(in_order(found, reading.spec.source.file if reading.spec else ""))


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
