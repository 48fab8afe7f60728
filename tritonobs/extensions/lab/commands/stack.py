"""`tools`, `up`, `status`, `down`: the stack on this machine."""

from __future__ import annotations

import signal
from pathlib import Path

import click

from tritonobs import programs
from tritonobs.cli.say import say
from tritonobs.errors import StackError
from tritonobs.undo import Undo

state_option = click.option(
    "--state",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(".tritonobs"),
    show_default=True,
    help="Folder for configuration, data and logs of the stack.",
)


@click.command(epilog="Example: tritonobs tools")
def tools() -> None:
    """Install Prometheus, Alertmanager and libpython from distribution packages, without root.

    The folder is $TRITONOBS_TOOLS, or .tools here. Programs on PATH are used instead of a download.
    """
    missing = programs.missing_packages()
    programs.install(missing, lambda text: say(text, err=True))
    for package in programs.PACKAGES:
        for name in package.files:
            say(f"{name}: {programs.find(name)}")


@click.command(epilog="Example: tritonobs up fleet.yaml --detach")
@click.argument("fleet", required=False, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@state_option
@click.option(
    "--models",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Triton model repository.  [default: the inspection models]",
)
@click.option("--free-ports", is_flag=True, help="Use free ports instead of those in the fleet file.")
@click.option("--robot-double", is_flag=True, help="Send the messages of robots to a local one.")
@click.option(
    "--drills",
    is_flag=True,
    help="Practice stack: models accept faults, robots are a local one, rules may run faster.",
)
@click.option(
    "--drill-speed",
    type=click.FloatRange(1, 10),
    default=5.0,
    show_default=True,
    help="With --drills: divisor of the rules' `for` and long windows; 1 keeps them.",
)
@click.option(
    "-d", "--detach", is_flag=True, help="Return when everything is ready; `tritonobs down` stops it."
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

    FLEET is a fleet file. The default is the example with the inspection models and a local robot.
    Runs until Ctrl-C, which ends every process.
    """
    from tritonobs.extensions.lab.report import startup_progress  # noqa: PLC0415 (brings rich)
    from tritonobs.extensions.lab.stack import local, native  # noqa: PLC0415 (needs the extra `stack`)
    from tritonobs.extensions.lab.stack.services import Folders  # noqa: PLC0415

    folders = Folders(root=state.absolute())
    with Undo(lambda: say("still stopping …", err=True)) as undo:
        with startup_progress() as on_ready:
            running = local.start(
                fleet,
                folders,
                on_ready,
                models=models,
                robot_double=robot_double,
                move_ports=free_ports,
                drills_speed=drill_speed if drills else None,
                held=undo.held,
                # Registered late: where a stack already runs, the start is refused and that stack must go on.
                began=lambda: undo.callback(native.down, folders),
            )
        for part in running.parts:
            say(f"{part.name:<13} {part.url}")
        if detach:
            say(f"stop it with: {native.down_command(folders)}", err=True)
            undo.keep()
            return
        say("running; Ctrl-C stops it", err=True)
        # What is registered last runs first: this is printed before the parts are stopped.
        undo.callback(say, "stopping …", err=True)
        while drills:  # rehearsals end parts and start them again: no reason to stop
            signal.pause()
        native.watch(running.parts)


@click.command(epilog="Example: tritonobs status")
@state_option
def status(*, state: Path) -> int:
    """Show which parts of the stack run and answer; exit status 1 when one does not."""
    from tritonobs.extensions.lab.report import stack_table  # noqa: PLC0415 (brings rich)
    from tritonobs.extensions.lab.stack import local  # noqa: PLC0415 (needs the extra `stack`)
    from tritonobs.extensions.lab.stack.services import Folders  # noqa: PLC0415
    from tritonobs.report.console import print_table  # noqa: PLC0415

    rows = local.health(Folders(root=state.absolute()))
    if not rows:
        raise StackError(f"no stack runs in {state}; start one with: tritonobs up")
    print_table(stack_table(rows))
    return int(any(row.state != "ready" for row in rows))


@click.command(epilog="Example: tritonobs down")
@state_option
def down(*, state: Path) -> None:
    """Stop every process of the stack."""
    from tritonobs.extensions.lab.stack import native  # noqa: PLC0415 (needs the extra `stack`)
    from tritonobs.extensions.lab.stack.services import Folders  # noqa: PLC0415

    stopped = native.down(Folders(root=state.absolute()))
    say(f"stopped {', '.join(part.name for part in stopped)}" if stopped else "nothing was running")
