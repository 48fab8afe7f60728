"""`validate`, `build`, `schema`, `limits`: everything that needs a fleet file and no running server."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tritonobs.cli.fleet_file import examine, line_of, load_plan, value_of, worst
from tritonobs.cli.limits import limits
from tritonobs.findings import Severity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tritonobs.render.artifact import Artifact

__all__ = ["build", "limits", "schema", "validate"]

FLEET = click.argument("fleet", type=click.Path(path_type=Path, exists=True, dir_okay=False))
FORMAT = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print.",
)


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


def _summary(fleet: Path, findings: Sequence[object]) -> str:
    return (
        f"{fleet}: {len(findings)} finding{'s' if len(findings) > 1 else ''}"
        if findings
        else f"{fleet}: fine"
    )


@click.command(epilog="Example: tritonobs build fleet.yaml -o build")
@FLEET
@click.option(
    "-o",
    "--output",
    "folder",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to write to; made when it is not there.",
)
@FORMAT
def build(*, fleet: Path, folder: Path, form: str) -> None:
    """Write the configuration of Prometheus, Alertmanager and Grafana for a fleet.

    promtool and amtool judge it first when they are here; what they refuse is not written.
    """
    from tritonobs.render.artifact import write_artifacts  # noqa: PLC0415 (jsonnet loads only for a build)
    from tritonobs.render.everything import render_fleet  # noqa: PLC0415 (as above)

    artifacts = render_fleet(load_plan(fleet))
    checked = _checked(artifacts)
    changed = {path.relative_to(folder).as_posix() for path in write_artifacts(artifacts, folder)}
    if form == "json":
        files = [{"path": one.path, "changed": one.path in changed} for one in artifacts]
        click.echo(json.dumps({"folder": str(folder), "files": files, "checked": checked}, indent=2))
        return
    for artifact in artifacts:
        click.echo(f"{folder / artifact.path}{'' if artifact.path in changed else ' (unchanged)'}")


def _checked(artifacts: Sequence[Artifact]) -> dict[str, bool]:
    """Which checkers looked; what they refuse is raised."""
    from tritonobs.render.artifact import write_artifacts  # noqa: PLC0415 (jsonnet loads only for a build)
    from tritonobs.render.checked import CHECKERS, check_artifacts  # noqa: PLC0415 (as above)
    from tritonobs.stack.binaries import look  # noqa: PLC0415 (as above)

    looked = {}
    with tempfile.TemporaryDirectory(prefix="tritonobs-") as trial:
        write_artifacts(artifacts, Path(trial))
        paths = {artifact.path for artifact in artifacts}
        for checker in (one for one in CHECKERS if one.path in paths):
            program = look(checker.program)
            looked[checker.program] = program is not None
            if program:
                check_artifacts(Path(trial), checker, program)
                click.echo(f"{checker.program} accepts it", err=True)
            else:
                click.echo(f"{checker.program} is not here, so nothing was checked with it", err=True)
    return looked


@click.command(epilog="Example: tritonobs schema > fleet.schema.json")
def schema() -> None:
    """Print the JSON Schema of the fleet file, for editors."""
    from tritonobs.spec.schema import spec_schema  # noqa: PLC0415 (pydantic loads only when needed)

    json.dump(spec_schema(), sys.stdout, ensure_ascii=False, indent=2)
    click.echo()
