"""`tools`, `up`, `status`, `down`, `demo`, `drill`, `load`: the practice stack, its faults, its traffic."""

from __future__ import annotations

import difflib
import re
import shlex
import shutil
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tritonobs.cli.say import say
from tritonobs.cli.values import (
    STATE,
    Address,
    Duration,
    Parsed,
    duration_seconds,
    format_option,
    running_url,
)
from tritonobs.errors import StackError
from tritonobs.extensions.lab.load.schedule import Segment
from tritonobs.extensions.lab.stack import packages
from tritonobs.extensions.lab.vendors import VENDORS
from tritonobs.programs import find
from tritonobs.undo import Undo

if TYPE_CHECKING:
    from tritonobs.extensions.lab.drill.drill import Drill, Outcome


_state = partial(
    click.option,
    "--state",
    type=click.Path(path_type=Path, file_okay=False),
    default=STATE,
    show_default=True,
)
state_option = _state(help="Folder for configuration, data and logs of the stack.")


@click.command(epilog="Example: tritonobs tools")
def tools() -> None:
    """Install Prometheus, Alertmanager and libpython from distribution packages, without root.

    The folder is $TRITONOBS_TOOLS, or .tools here. Programs on PATH are used instead of a download.
    """
    packages.install(packages.missing_packages(), lambda text: say(text, err=True))
    for package in packages.PACKAGES:
        for name in package.files:
            say(f"{name}: {find(name)}")


@click.command(epilog="Example: tritonobs up fleet.yaml --detach")
@click.argument("fleet", required=False, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@state_option
@click.option(
    "--models",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Triton model repository.  [default: the inspection models]",
)
@click.option("--free-ports", is_flag=True, help="Use free ports instead of those in the fleet file.")
@click.option("--robot-double", is_flag=True, help="Send chat messages to a local robot.")
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
    from tritonobs.extensions.lab.report import startup_progress
    from tritonobs.extensions.lab.stack import local, native, processes

    folders = processes.Folders(root=state.absolute())
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
    from tritonobs.extensions.lab.report import stack_table
    from tritonobs.extensions.lab.stack import local, processes
    from tritonobs.report.console import print_table

    rows = local.health(processes.Folders(root=state.absolute()))
    if not rows:
        raise StackError(f"no stack runs in {state}; start one with: tritonobs up")
    print_table(stack_table(rows))
    return int(any(row.state != "ready" for row in rows))


@click.command(epilog="Example: tritonobs down")
@state_option
def down(*, state: Path) -> None:
    """Stop every process of the stack."""
    from tritonobs.extensions.lab.stack import native, processes

    stopped = native.down(processes.Folders(root=state.absolute()))
    say(f"stopped {', '.join(part.name for part in stopped)}" if stopped else "nothing was running")


@click.command(epilog="Example: tritonobs demo --keep")
@state_option
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
    ports, with a local robot of a chat; takes about three minutes.
    """
    from tritonobs.extensions.lab.demo import heading, run_steps
    from tritonobs.extensions.lab.report import startup_progress
    from tritonobs.extensions.lab.stack import local, native, processes

    folders = processes.Folders(root=state.absolute())
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
            for line in _next_commands(state):
                say(f"    {line}")
            say("")
            for part in running.parts:
                say(f"   {part.name:<13} {part.url}")
            undo.keep()
            return
    say("\nThe stack is stopped.")


def _next_commands(state: Path) -> tuple[str, ...]:
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


_ALL = "all"
_BROKEN, _NOT_DONE = 1, 3
# The default of `up --drill-speed`.
_USUAL_SPEED = 5.0


@click.command(epilog="Example: tritonobs drill slow-preprocess worker-killed")
@click.argument("names", nargs=-1, metavar="[NAME...|all]")
@click.option(
    "--list", "listed", is_flag=True, help="List every drill and its promises, without running one."
)
@_state(help="Folder of a stack that was started with `tritonobs up --drills`.")
@format_option
def drill(*, names: tuple[str, ...], listed: bool, state: Path, form: str) -> int:
    """Inject a fault on a practice stack, and check the promised alert and verdict.

    Each drill sends its own requests, causes one fault, waits until the promised alerts fire and triage names
    the cause first, undoes the fault and waits until the alerts are resolved. Ctrl-C undoes it as well, and
    shows the drills that had ended. Exit status 0: as promised. 1: a promise was broken. 3: a drill could not
    be run.
    """
    from tritonobs.extensions.lab.drill.run import DRILLS

    if listed:
        _list_drills(tuple(DRILLS.values()), state, form)
        return 0
    chosen = _chosen(names, DRILLS)
    outcomes: list[Outcome] = []
    try:
        # `extend` keeps what came before an exception; a tuple of all outcomes would be lost with it.
        outcomes.extend(_rehearse(chosen, state))
    finally:
        if outcomes:
            _show_outcomes(outcomes, form)
    if any(outcome.problem for outcome in outcomes):
        return _NOT_DONE
    return 0 if all(outcome.kept for outcome in outcomes) else _BROKEN


def _chosen(names: tuple[str, ...], drills: Mapping[str, Drill]) -> tuple[Drill, ...]:
    if not names:
        raise click.UsageError(
            "name a drill, or run all of them with `tritonobs drill all`; --list shows them"
        )
    if names == (_ALL,):
        return tuple(drills.values())
    unknown = [name for name in names if name not in drills]
    if unknown:
        near = [close for name in unknown for close in difflib.get_close_matches(name, drills, 1)]
        meant = f"did you mean {', '.join(near)}? " if near else ""
        raise click.UsageError(
            f"there is no drill {', '.join(map(repr, unknown))}; {meant}--list shows all of them"
        )
    return tuple(drills[name] for name in dict.fromkeys(names))


def _rehearse(drills: tuple[Drill, ...], state: Path) -> Iterator[Outcome]:
    from tritonobs.extensions.lab.drill.rig import Rig
    from tritonobs.extensions.lab.drill.run import Session
    from tritonobs.extensions.lab.report import drill_timeline
    from tritonobs.extensions.lab.stack.processes import Folders
    from tritonobs.extensions.lab.stack.rehearsal import NoRehearsal

    try:
        rig = Rig(Folders(root=state.absolute()), str(state))
    except NoRehearsal as refusal:
        raise click.UsageError(str(refusal)) from None
    with drill_timeline() as tell, Session(rig, tell) as session:
        yield from session.rehearse(drills)


def _list_drills(drills: tuple[Drill, ...], state: Path, form: str) -> None:
    from tritonobs.extensions.lab.report import drill_table
    from tritonobs.report.console import print_table
    from tritonobs.report.formats import json_text

    speed = _speed(state)
    if form == "table":
        print_table(drill_table(drills, speed))
        return
    say(
        json_text(
            [
                {
                    "name": drill.name,
                    "breaks": drill.breaks,
                    "alerts": [alert.name for alert in drill.alerts],
                    "check": drill.check,
                    "seconds": round(drill.seconds(speed)),
                }
                for drill in drills
            ]
        )
    )


def _speed(state: Path) -> float:
    """That of the stack in the state folder; without one, what `up --drills` would give it."""
    from tritonobs.extensions.lab.stack.processes import Folders
    from tritonobs.extensions.lab.stack.rehearsal import NoRehearsal, running

    try:
        return running(Folders(root=state.absolute()), str(state)).speed
    except NoRehearsal:
        return _USUAL_SPEED


def _show_outcomes(outcomes: Sequence[Outcome], form: str) -> None:
    from tritonobs.extensions.lab.report import outcome_table, outcome_values
    from tritonobs.report.console import print_table
    from tritonobs.report.formats import json_text

    if form == "json":
        say(json_text([outcome_values(outcome) for outcome in outcomes]))
    else:
        print_table(outcome_table(outcomes))


_INTERRUPTED = 130
_SEGMENT = re.compile(r"(\d+(?:\.\d+)?)(?:-(\d+(?:\.\d+)?))?:(.+)")


def _segment(value: object) -> Segment:
    """`20:30s` for a steady rate, `5-50:2m` for a ramp."""
    match = _SEGMENT.fullmatch(str(value))
    if match is None:
        raise ValueError(f"{value!r} is not a segment; write 20:30s, or 5-50:2m for a ramp")
    end = float(match[2]) if match[2] else None
    return Segment(qps=float(match[1]), end_qps=end, seconds=duration_seconds(match[3]))


@click.command(epilog="Example: tritonobs load --qps 20 --duration 1m --mix 1280x720=8,corrupt=1")
@click.option(
    "--url",
    "urls",
    type=Address(),
    multiple=True,
    default=lambda: (running_url("triton", "http://127.0.0.1:8000"),),
    show_default="that of the stack running here, or http://127.0.0.1:8000",
    help="Replica to send to; several get requests in turn.",
)
@click.option(
    "--model",
    default="inspect",
    show_default=True,
    help="A model whose only input is an image's bytes, or one with the input text_input for prompts.",
)
@click.option("--version", default="", help="Its version.  [default: the server's choice]")
@click.option(
    "--qps",
    type=click.FloatRange(min=0, min_open=True),
    default=5.0,
    show_default=True,
    help="Requests/s.",
)
@click.option(
    "--duration",
    "seconds",
    type=Duration(),
    default="30s",
    show_default=True,
    help="How long to send.",
)
@click.option(
    "--segment",
    "segments",
    type=Parsed("qps[-qps]:duration", _segment),
    multiple=True,
    help="Instead of --qps and --duration: 20:30s or 5-50:2m, one after the other.",
)
@click.option(
    "--mix",
    default="1280x720",
    show_default=True,
    help="Kinds of images and their weights: WIDTHxHEIGHT (with grey:, png:, alpha:, cmyk: or turned: before "
    "it), corrupt, empty, huge, unsupported; or prompt:WORDSxTOKENS for a language model.",
)
@click.option(
    "--arrivals",
    type=click.Choice(["even", "poisson"]),
    default="even",
    show_default=True,
    help="even: constant spacing; poisson: random arrivals.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed sends the same images.")
@click.option(
    "--timeout",
    type=Duration(),
    default="30s",
    show_default=True,
    help="The longest time to wait for a response.",
)
@click.option(
    "--max-in-flight",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="The most requests in flight; further ones wait, and count as late.",
)
@format_option
def load(
    *,
    urls: tuple[str, ...],
    model: str,
    version: str,
    qps: float,
    seconds: float,
    segments: tuple[Segment, ...],
    mix: str,
    arrivals: str,
    seed: int,
    timeout: float,
    max_in_flight: int,
    form: str,
) -> int:
    """Send real images, or prompts, in an open loop: the rate does not depend on responses.

    The times of sending are fixed before the run. Ctrl-C ends the run and shows its results. Exit status 1
    when a valid image was not accepted.
    """
    from tritonobs.extensions.lab.load.images import parse_mix, usable
    from tritonobs.extensions.lab.load.run import LoadPlan, run_load
    from tritonobs.extensions.lab.report import load_progress, load_tables
    from tritonobs.report.console import print_table
    from tritonobs.report.formats import json_text

    try:
        ingredients = parse_mix(mix)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--mix") from None
    plan = LoadPlan(
        urls=urls,
        model=model,
        version=version,
        segments=segments or (Segment(qps=qps, seconds=seconds),),
        mix=ingredients,
        arrivals="poisson" if arrivals == "poisson" else "even",
        seed=seed,
        timeout_seconds=timeout,
        max_in_flight=max_in_flight,
    )
    with load_progress(f"load on {model}") as show:
        result = run_load(plan, show)
    if form == "json":
        say(json_text(result))
    else:
        for table in load_tables(result):
            print_table(table)
    if result.stopped:
        return _INTERRUPTED
    # Broken images are sent to be refused, so their errors are no finding.
    return int(any(image.errors for image in result.images if usable(image.kind)))
