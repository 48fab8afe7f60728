"""What `build` writes for a cluster: the objects, with addresses as pods know them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from tritonobs.cli.say import say
from tritonobs.extensions.kubernetes.layout import render_kubernetes
from tritonobs.extensions.kubernetes.objects import PORT
from tritonobs.extensions.kubernetes.workload import HOME, FleetFile, service_names
from tritonobs.files import read_bytes
from tritonobs.files import read_text as text_of
from tritonobs.outside import is_loopback
from tritonobs.plan.build import build_plan
from tritonobs.plan.fleet import Plan
from tritonobs.render.artifact import Artifact
from tritonobs.spec.load import MAX_BYTES, load_fleet, unpacked
from tritonobs.spec.schema import Spec


def objects(plan: Plan, fleet: Path) -> tuple[Artifact, ...]:
    """The objects where the fleet file asks for them (`kubernetes.objects`), else none.

    Raises:
        RenderFailed: something is too large for an object.
        SpecInvalid: a file that the fleet file names cannot be read.
    """
    return artifacts(plan, fleet) if plan.kubernetes.objects else ()


def artifacts(_: Plan, fleet: Path) -> tuple[Artifact, ...]:
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
    """The plain files that the fleet file names by relative paths; others are the image's business."""
    files = [robot.template_file for _, _, robot in spec.notify.robots()]
    files.append(spec.notify.alertmanager_file)
    named = tuple(dict.fromkeys(file for file in files if file))
    for file in named:
        if file.is_absolute():
            say(
                f"{file} is in no object: serve reads it, so put it into its image, or beside the fleet file",
                err=True,
            )
    return tuple(file for file in named if not file.is_absolute())
