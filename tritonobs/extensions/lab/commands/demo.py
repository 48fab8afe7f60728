"""`demo`: exceed a QPS limit on a real stack."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

import click

from tritonobs.cli.say import say
from tritonobs.cli.values import STATE
from tritonobs.extensions.lab.robot.vendors import VENDORS
from tritonobs.undo import Undo


@click.command(epilog="Example: tritonobs demo --keep")
@click.option(
    "--state",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(".tritonobs"),
    show_default=True,
    help="Folder for configuration, data and logs of the stack.",
)
@click.option(
    "--chat",
    type=click.Choice(tuple(VENDORS)),
    default=next(iter(VENDORS)),
    show_default=True,
    help="The chat whose robot gets the alert, as strict as its vendor.",
)
@click.option("--keep", is_flag=True, help="Leave the stack running and print its addresses.")
def demo(*, state: Path, chat: str, keep: bool) -> None:
    """Overflow a QPS limit on a real stack and watch the alert arrive.

    Starts Triton with the inspection models, Prometheus, Alertmanager and `tritonobs serve` on free loopback
    ports, with a local robot of a chat; takes about four minutes.
    """
    from tritonobs.extensions.lab.commands.demo_steps import heading, run_steps  # noqa: PLC0415 (brings OpenCV and tritonclient)
    from tritonobs.extensions.lab.report import startup_progress  # noqa: PLC0415 (brings rich)
    from tritonobs.extensions.lab.stack import local, native  # noqa: PLC0415 (needs the extra `stack`)
    from tritonobs.extensions.lab.stack.services import Folders  # noqa: PLC0415

    folders = Folders(root=state.absolute())
    with Undo(lambda: say("still stopping …", err=True)) as undo:
        heading("1. Start Triton, Prometheus, Alertmanager and tritonobs serve")
        with startup_progress() as on_ready:
            running = local.start(
                None,
                folders,
                on_ready,
                chat=chat,
                move_ports=True,
                held=undo.held,
                began=lambda: undo.callback(native.down, folders),
            )
        for part in running.parts:
            say(f"   {part.name:<13} {part.url}")
        run_steps(running)
        if keep:
            say("\nThe stack is still running. Ask it:\n")
            for line in _commands(state):
                say(f"    {line}")
            say("")
            for part in running.parts:
                say(f"   {part.name:<13} {part.url}")
            undo.keep()
            return
    say("\nThe stack is stopped.")


def _commands(state: Path) -> tuple[str, ...]:
    """What to type next, with the path that works in this shell and folder."""
    program = _program()
    if state == STATE:
        fleet = where = ""
    else:
        fleet, where = f" {shlex.quote(str(state / 'fleet.yaml'))}", f" --state {shlex.quote(str(state))}"
    return (
        f"{program} triage{fleet} --since 5m",
        f"{program} incidents list{f' --fleet{fleet}' if fleet else ''}",
        f"{program} top{fleet}",
        f"{program} status{where}",
        f"{program} down{where}",
    )


def _program() -> str:
    """`tritonobs` where that name is this installation in the shell, otherwise the path it was called by."""
    called = Path(sys.argv[0])
    found = shutil.which("tritonobs")
    # Another installation may come first on PATH, and the name alone would start that one.
    if found and called.exists() and Path(found).samefile(called):
        return "tritonobs"
    return (
        shlex.quote(str(called))
        if called.name == "tritonobs"
        else f"{shlex.quote(sys.executable)} -m tritonobs"
    )
