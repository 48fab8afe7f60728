"""`build`: from a fleet file to all configuration, checked before it is written."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

import click

from tritonobs.cli.fleet_file import FLEET, FORMAT, load_plan
from tritonobs.cli.say import say
from tritonobs.files import read_bytes
from tritonobs.files import read_text as text_of
from tritonobs.plan.build import build_plan
from tritonobs.plan.fleet import Plan
from tritonobs.programs.binaries import look
from tritonobs.render.artifact import CHECKERS, Artifact, check_artifacts, write_artifacts
from tritonobs.render.everything import render_fleet
from tritonobs.render.grafana import PROVISIONING
from tritonobs.render.kubernetes.layout import render_kubernetes
from tritonobs.render.kubernetes.objects import PORT
from tritonobs.render.kubernetes.workload import HOME, FleetFile, service_names
from tritonobs.render.nightingale import render_nightingale
from tritonobs.report.formats import json_text
from tritonobs.serve.hosts import is_loopback
from tritonobs.spec.load import MAX_BYTES, load_fleet, unpacked
from tritonobs.spec.schema import Spec

TARGETS = ("files", "kubernetes", "n9e")


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
    help="Where the folder grafana of the output will be when Grafana reads it.",
)
@click.option(
    "--target",
    type=click.Choice(TARGETS),
    default="files",
    show_default=True,
    help="files: as the parts read them, and objects if the fleet file has kubernetes.objects. "
    "kubernetes: a kustomize base and a Helm chart. "
    "n9e: alerts for Nightingale, and records for the Prometheus it asks.",
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
    if form == "json":
        files = [{"path": one.path, "changed": one.path in changed} for one in artifacts]
        say(json_text({"folder": str(folder), "files": files, "checked": checked}))
        return
    for artifact in artifacts:
        say(f"{folder / artifact.path}{'' if artifact.path in changed else ' (unchanged)'}")


def _artifacts(plan: Plan, fleet: Path, target: str, provisioning: PurePosixPath) -> tuple[Artifact, ...]:
    if target == "n9e":
        return render_nightingale(plan)
    if target == "kubernetes":
        return kubernetes_artifacts(fleet)
    objects = kubernetes_artifacts(fleet) if plan.kubernetes.objects else ()
    return (*render_fleet(plan, provisioning), *objects)


def kubernetes_artifacts(fleet: Path) -> tuple[Artifact, ...]:
    """The fleet's objects, with addresses as pods of the cluster know them.

    Raises:
        RenderFailed: something is too large for an object.
        SpecInvalid: a file that the fleet file names cannot be read.
    """
    spec = load_fleet(fleet)
    # Relative paths count from the folder in which the pod finds the fleet file.
    plan = in_cluster(build_plan(spec, Path(HOME)))
    # The text as people wrote it, with comments; the renderer packs it again where it is too large.
    text = unpacked(fleet, read_bytes(fleet, most=MAX_BYTES)).decode()
    others = {str(one): text_of(fleet.absolute().parent / one, most=MAX_BYTES) for one in _named(spec)}
    return render_kubernetes(plan, FleetFile(text=text, others=others))


def in_cluster(plan: Plan) -> Plan:
    """The plan with the Service as the address of serve, unless the fleet file names another."""
    addresses = plan.addresses
    parts = urlsplit(addresses.serve_url)
    # Loopback in a fleet file is the machine of its author; in a cluster every pod has its own.
    if not is_loopback(parts.hostname or ""):
        return plan
    served = f"http://{service_names(plan.kubernetes.naming)[2]}:{PORT}"
    moved = {
        field: value.replace(addresses.serve_url, served)
        for field in ("serve_url", "serve_link", "runbooks_link")
        if (value := getattr(addresses, field)).startswith(addresses.serve_url)
    }
    return replace(plan, addresses=replace(addresses, **moved))


def _named(spec: Spec) -> tuple[Path, ...]:
    """The plain files that the fleet file names by relative paths; others belong into the image."""
    files = [robot.template_file for robot in spec.notify.dingtalk.values()]
    files.append(spec.notify.alertmanager_file)
    named = tuple(dict.fromkeys(file for file in files if file))
    for file in named:
        if file.is_absolute():
            say(
                f"{file} is in no object: serve reads it, so put it into its image, or beside the fleet file",
                err=True,
            )
    return tuple(file for file in named if not file.is_absolute())


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
