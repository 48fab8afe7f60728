"""`tools`, `up`, `status`, `down`: the stack on this machine."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import click

from tritonobs.errors import StackError
from tritonobs.report.console import print_table
from tritonobs.report.stack import stack_table, startup_progress
from tritonobs.stack import binaries, local, native
from tritonobs.stack.services import Folders

state_option = click.option(
    "--state",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(".tritonobs"),
    show_default=True,
    help="Folder for configuration, data and logs of the stack.",
)


@click.command(epilog="Example: tritonobs tools")
def tools() -> None:
    """Bring Prometheus and Alertmanager (and libpython) from the distribution's packages, without root.

    They go to $TRITONOBS_TOOLS, or .tools here; what is on PATH already is used as it is.
    """
    missing = binaries.missing_packages()
    binaries.install(missing, lambda text: click.echo(text, err=True))
    for package in binaries.PACKAGES:
        for name in package.files:
            click.echo(f"{name}: {binaries.find(name)}")


@click.command(epilog="Example: tritonobs up fleet.yaml --detach")
@click.argument("fleet", required=False, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@state_option
@click.option(
    "--models",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Triton model repository.  [default: the inspection models]",
)
@click.option("--free-ports", is_flag=True, help="Use free ports instead of those in the fleet file.")
@click.option("--robot-double", is_flag=True, help="Send DingTalk messages to a local stand-in.")
@click.option(
    "--drills",
    is_flag=True,
    help="Rehearse on it: models take faults, DingTalk is a stand-in, rules may run faster.",
)
@click.option(
    "--drill-speed",
    type=click.FloatRange(1, 10),
    default=5.0,
    show_default=True,
    help="With --drills: divide the rules' waits and long windows; 1 leaves them as they are.",
)
@click.option(
    "-d", "--detach", is_flag=True, help="Return when everything is ready; stop it with `tritonobs down`."
)
def up(
    *,
    fleet: Path | None,
    state: Path,
    models: Path | None,
    free_ports: bool,
    robot_double: bool,
    drills: bool,
    drill_speed: float,
    detach: bool,
) -> None:
    """Start Triton, Prometheus, Alertmanager and `tritonobs serve` on loopback.

    FLEET is a fleet file; without one it is the example with the inspection models, and a stand-in for
    DingTalk. Runs until Ctrl-C, which leaves no process behind.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with startup_progress() as on_ready:
        running = local.start(
            fleet,
            Folders(root=state.absolute()),
            on_ready,
            models=models,
            robot_double=robot_double,
            move_ports=free_ports,
            drills_speed=drill_speed if drills else None,
        )
    for part in running.parts:
        click.echo(f"{part.name:<13} {part.url}")
    if detach:
        click.echo("stop it with: tritonobs down", err=True)
        return
    try:
        click.echo("running; Ctrl-C stops it", err=True)
        while drills:  # rehearsals end parts and start them again: no reason to stop
            signal.pause()
        native.watch(running.parts)
    finally:
        click.echo("stopping …", err=True)
        native.down(running.folders)


@click.command(epilog="Example: tritonobs status")
@state_option
def status(*, state: Path) -> int:
    """Show which parts of the stack run and answer; exit status 1 when one does not."""
    rows = local.health(Folders(root=state.absolute()))
    if not rows:
        raise StackError(f"no stack runs in {state}; start one with: tritonobs up")
    print_table(stack_table(rows))
    return int(any(row.state != "ready" for row in rows))


@click.command(epilog="Example: tritonobs down")
@state_option
def down(*, state: Path) -> None:
    """Stop every process of the stack."""
    stopped = native.down(Folders(root=state.absolute()))
    click.echo(f"stopped {', '.join(part.name for part in stopped)}" if stopped else "nothing was running")
