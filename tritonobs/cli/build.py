"""`build`: from a fleet file to the configuration of everything, judged before it is written."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tritonobs.cli.fleet_file import FLEET, FORMAT, load_plan
from tritonobs.render.artifact import write_artifacts
from tritonobs.render.checked import CHECKERS, check_artifacts
from tritonobs.render.everything import render_fleet
from tritonobs.report.formats import json_text
from tritonobs.stack.binaries import look

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tritonobs.render.artifact import Artifact


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
    artifacts = render_fleet(load_plan(fleet))
    checked = check_built(artifacts)
    changed = {path.relative_to(folder).as_posix() for path in write_artifacts(artifacts, folder)}
    if form == "json":
        files = [{"path": one.path, "changed": one.path in changed} for one in artifacts]
        click.echo(json_text({"folder": str(folder), "files": files, "checked": checked}))
        return
    for artifact in artifacts:
        click.echo(f"{folder / artifact.path}{'' if artifact.path in changed else ' (unchanged)'}")


def check_built(artifacts: Sequence[Artifact]) -> dict[str, bool]:
    """Let every checker that is here judge the artifacts, and say which of them did.

    Raises:
        RenderFailed: one of them refuses.
    """
    paths = {artifact.path for artifact in artifacts}
    looked = {}
    with tempfile.TemporaryDirectory(prefix="tritonobs-") as trial:
        write_artifacts(artifacts, Path(trial))
        for checker in (one for one in CHECKERS if one.path in paths):
            program = look(checker.program)
            looked[checker.program] = program is not None
            if program:
                check_artifacts(Path(trial), checker, program)
                click.echo(f"{checker.program} accepts it", err=True)
            else:
                click.echo(f"{checker.program} is not here, so nothing was checked with it", err=True)
    return looked
