"""`drill`: rehearse an alert on a practice stack."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click

from tritonobs.cli.say import say
from tritonobs.cli.values import format_option
from tritonobs.extensions.lab.drill.drill import Drill, Outcome

_ALL = "all"
_BROKEN, _NOT_DONE = 1, 3
# The default of `up --drill-speed`.
_USUAL_SPEED = 5.0


@click.command(epilog="Example: tritonobs drill slow-preprocess worker-killed")
@click.argument("names", nargs=-1, metavar="[NAME...|all]")
@click.option(
    "--list", "listed", is_flag=True, help="List every drill and its promises, without running one."
)
@click.option(
    "--state",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(".tritonobs"),
    show_default=True,
    help="Folder of a stack that was started with `tritonobs up --drills`.",
)
@format_option
def drill(*, names: tuple[str, ...], listed: bool, state: Path, form: str) -> int:
    """Inject a fault on a practice stack, and check the promised alert and verdict.

    Each drill sends its own requests, causes one fault, waits until the promised alerts fire and triage names
    the cause first, undoes the fault and waits until the alerts are resolved. Ctrl-C undoes it as well, and
    shows the drills that had ended. Exit status 0: as promised. 1: a promise was broken. 3: a drill could not
    be run.
    """
    from tritonobs.extensions.lab.drill.run import DRILLS  # noqa: PLC0415 (brings requests)

    if listed:
        _list(tuple(DRILLS.values()), state, form)
        return 0
    chosen = _chosen(names, DRILLS)
    outcomes: list[Outcome] = []
    try:
        # `extend` keeps what came before an exception; a tuple of all outcomes would be lost with it.
        outcomes.extend(_rehearse(chosen, state))
    finally:
        if outcomes:
            _show(outcomes, form)
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
    from tritonobs.extensions.lab.drill.rig import Rig  # noqa: PLC0415 (brings requests)
    from tritonobs.extensions.lab.drill.run import Session  # noqa: PLC0415
    from tritonobs.extensions.lab.report import drill_timeline  # noqa: PLC0415 (brings rich)
    from tritonobs.extensions.lab.stack.processes import Folders  # noqa: PLC0415
    from tritonobs.extensions.lab.stack.rehearsal import NoRehearsal  # noqa: PLC0415

    try:
        rig = Rig(Folders(root=state.absolute()), str(state))
    except NoRehearsal as refusal:
        raise click.UsageError(str(refusal)) from None
    with drill_timeline() as tell, Session(rig, tell) as session:
        yield from session.rehearse(drills)


def _list(drills: tuple[Drill, ...], state: Path, form: str) -> None:
    from tritonobs.extensions.lab.report import drill_table  # noqa: PLC0415
    from tritonobs.report.console import print_table  # noqa: PLC0415 (brings rich)
    from tritonobs.report.formats import json_text  # noqa: PLC0415

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
    from tritonobs.extensions.lab.stack.processes import Folders  # noqa: PLC0415
    from tritonobs.extensions.lab.stack.rehearsal import NoRehearsal, running  # noqa: PLC0415

    try:
        return running(Folders(root=state.absolute()), str(state)).speed
    except NoRehearsal:
        return _USUAL_SPEED


def _show(outcomes: Sequence[Outcome], form: str) -> None:
    from tritonobs.extensions.lab.report import outcome_table, outcome_values  # noqa: PLC0415
    from tritonobs.report.console import print_table  # noqa: PLC0415 (brings rich)
    from tritonobs.report.formats import json_text  # noqa: PLC0415

    if form == "json":
        say(json_text([outcome_values(outcome) for outcome in outcomes]))
    else:
        print_table(outcome_table(outcomes))
