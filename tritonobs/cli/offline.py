"""`validate` and `schema`: a fleet file alone, no server and no other program."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from tritonobs.cli.fleet_file import FLEET, FORMAT, examine, line_of, value_of, worst
from tritonobs.findings import Severity
from tritonobs.spec.reference import json_schema, markdown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@click.command(epilog="Example: tritonobs validate fleet.yaml")
@FLEET
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning"]),
    default="error",
    show_default=True,
    help="The mildest finding that makes the exit code 1.",
)
@FORMAT
def validate(*, fleet: Path, fail_on: str, form: str) -> int:
    """Check a fleet file and print everything that is wrong with it, each at its line and column."""
    findings = examine(fleet)
    if form == "json":
        click.echo(json.dumps([value_of(finding) for finding in findings], ensure_ascii=False, indent=2))
    else:
        for finding in findings:
            click.echo(line_of(finding))
        click.echo(_summary(fleet, findings), err=True)
    found = worst(findings)
    return int(found is not None and found >= Severity[fail_on.upper()])


@click.command(epilog="Example: tritonobs schema > fleet.schema.json")
@click.option("--markdown", "as_markdown", is_flag=True, help="Tables for people instead.")
def schema(*, as_markdown: bool) -> None:
    """Print the JSON Schema of the fleet file, for editors."""
    click.echo(markdown() if as_markdown else json.dumps(json_schema(), ensure_ascii=False, indent=2))


def _summary(fleet: Path, findings: Sequence[object]) -> str:
    return (
        f"{fleet}: {len(findings)} finding{'s' if len(findings) > 1 else ''}"
        if findings
        else f"{fleet}: fine"
    )
