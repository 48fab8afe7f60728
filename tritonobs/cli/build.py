"""`build`: from a fleet file to all configuration, checked before it is written."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from itertools import chain
from pathlib import Path, PurePosixPath

import click

from tritonobs.cli.say import say
from tritonobs.cli.values import FLEET, FORMAT, load_plan
from tritonobs.plan.fleet import Plan
from tritonobs.programs import look
from tritonobs.registry import extensions, resolved
from tritonobs.render.alertmanager import all_destinations
from tritonobs.render.artifact import CHECKERS, Artifact, check_artifacts, left_over, write_artifacts
from tritonobs.render.everything import render_fleet
from tritonobs.render.grafana import PROVISIONING
from tritonobs.report.formats import json_text

_FILES = "files"
_TARGETS = {target.name: target for one in extensions().values() for target in one.targets}


@click.command(epilog="Example: tritonobs build fleet.yaml -o build")
@FLEET
@click.option(
    "-o",
    "--output",
    "folder",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to write to; it is created if missing.",
)
@click.option(
    "--provisioning",
    type=click.Path(path_type=PurePosixPath),
    default=PROVISIONING,
    show_default=True,
    help="Path at which Grafana reads the generated folder grafana.",
)
@click.option(
    "--target",
    type=click.Choice([_FILES, *_TARGETS]),
    default=_FILES,
    show_default=True,
    help="files: plain configuration files for Prometheus, Alertmanager and Grafana. "
    + " ".join(f"{target.name}: {target.help}." for target in _TARGETS.values()),
)
@FORMAT
def build(*, fleet: Path, folder: Path, provisioning: PurePosixPath, target: str, form: str) -> None:
    """Write the configuration of Prometheus, Alertmanager and Grafana for a fleet.

    promtool and amtool check it first if they are installed; nothing is written that they refuse.
    """
    plan = load_plan(fleet)
    artifacts = _artifacts(plan, fleet, target, provisioning)
    checked = check_built(artifacts)
    changed = {path.relative_to(folder).as_posix() for path in write_artifacts(artifacts, folder)}
    if target == _FILES and not (all_destinations(plan) or plan.notify.routes or plan.notify.alertmanager):
        say(f"{fleet}: notify names no receiver, so alertmanager.yml as built sends no alert", err=True)
    for path in left_over(artifacts, folder):
        say(f"{path} is left over from an earlier build: delete it here and wherever you copied it", err=True)
    if form == "json":
        files = [{"path": one.path, "changed": one.path in changed} for one in artifacts]
        say(json_text({"folder": str(folder), "files": files, "checked": checked}))
        return
    for artifact in artifacts:
        say(f"{folder / artifact.path}{'' if artifact.path in changed else ' (unchanged)'}")


def _artifacts(plan: Plan, fleet: Path, target: str, provisioning: PurePosixPath) -> tuple[Artifact, ...]:
    if target != _FILES:
        made: tuple[Artifact, ...] = resolved(_TARGETS[target].at)(plan, fleet)
        return made
    more = (resolved(one.artifacts)(plan, fleet) for one in extensions().values() if one.artifacts)
    return (*render_fleet(plan, provisioning), *chain.from_iterable(more))


def check_built(artifacts: Sequence[Artifact]) -> dict[str, bool]:
    """Run every installed checker on the artifacts, and print which of them ran.

    Raises:
        RenderFailed: one of them refuses.
    """
    paths = {artifact.path for artifact in artifacts}
    looked = {}
    # The checkers read files. Those of the output folder may be in use, and stay if a checker refuses.
    with tempfile.TemporaryDirectory(prefix="tritonobs-") as trial:
        write_artifacts(artifacts, Path(trial))
        for checker in (one for one in CHECKERS if one.path in paths):
            program = look(checker.program)
            looked[checker.program] = program is not None
            if program:
                check_artifacts(Path(trial), checker, program)
                say(f"{checker.program} accepts it", err=True)
            else:
                say(f"{checker.program} is not installed, so its check was skipped", err=True)
    return looked
