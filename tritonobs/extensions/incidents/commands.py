"""`incidents list | show`: incidents that `tritonobs serve` has kept."""

from __future__ import annotations

from pathlib import Path

import click

from tritonobs.cli.say import say
from tritonobs.cli.values import Group, asked_plan, format_option, running_fleet
from tritonobs.errors import FileUnusable
from tritonobs.extensions.incidents import account
from tritonobs.extensions.incidents.recorder import Recorder
from tritonobs.extensions.incidents.words import lasted

_FLEET = Path("fleet.yaml")
FLEET = click.option(
    "--fleet",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The fleet file, which names the folder.  [default: that of the stack running here, or fleet.yaml]",
)
FOLDER = click.option("--folder", type=click.Path(path_type=Path, file_okay=False), help="The folder itself.")


@click.group(cls=Group, epilog="Example: tritonobs incidents list")
def incidents() -> None:
    """List incidents, and show what happened in one."""


@incidents.command("list", epilog="Example: tritonobs incidents list --fleet fleet.yaml")
@FLEET
@FOLDER
@format_option
def list_incidents(*, fleet: Path | None, folder: Path | None, form: str) -> int:
    """List every incident that is kept, the latest first.

    Exit status 1 when a file of the folder is damaged.
    """
    from tritonobs.report.console import Column, Line, Table, print_table  # noqa: PLC0415 (brings rich)
    from tritonobs.report.formats import json_text  # noqa: PLC0415

    entries, damaged = _recorder(fleet, folder).entries()
    for finding in damaged:
        say(f"{finding.place.file}: {finding.message}", err=True)
    if form == "json":
        say(json_text([entry.model_dump(mode="json") for entry in entries]))
    elif entries:
        lines = (
            Line(
                cells=(
                    entry.id,
                    "goes on" if entry.ended is None else lasted(entry.since, entry.ended),
                    entry.worst,
                    account.place(entry),
                    account.sentence(entry),
                ),
                style="red" if entry.ended is None else "",
            )
            for entry in entries
        )
        titles = ("incident", "lasted", "severity", "place", "cause")
        columns = tuple(Column(title=title, wrap=title in {"place", "cause"}) for title in titles)
        print_table(
            Table(
                title=f"{len(entries)} incident{'s' if len(entries) > 1 else ''}",
                columns=columns,
                lines=tuple(lines),
            )
        )
    else:
        say("no incident is kept", err=True)
    return int(bool(damaged))


@incidents.command(epilog="Example: tritonobs incidents show 20261125-1931-3f9a12bc07 --format markdown")
@click.argument("ident", metavar="ID")
@FLEET
@FOLDER
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "html", "markdown"]),
    default="text",
    show_default=True,
    help="markdown is a draft of the post-mortem.",
)
def show(*, ident: str, fleet: Path | None, folder: Path | None, form: str) -> None:
    """Show one incident: cause, place, timeline, what to do, and how to judge its readings again."""
    from tritonobs.report.formats import json_text  # noqa: PLC0415

    try:
        found = _recorder(fleet, folder).load(ident)
    except FileUnusable as error:
        raise click.BadParameter(str(error), param_hint="ID") from None
    if form == "json":
        readings = {moment.value: str(path) for moment, path in found.readings.items()}
        say(json_text(found.entry.model_dump(mode="json"), readings=readings))
    elif form == "html":
        from tritonobs.extensions.incidents.pages import incident_page  # noqa: PLC0415 (brings jinja2)

        say(incident_page(found))
    elif form == "markdown":
        say(account.markdown(found.entry, found.readings), nl=False)
    else:
        for line in account.lines(found.entry, found.readings):
            say(line)


def _recorder(fleet: Path | None, folder: Path | None) -> Recorder:
    """The folder that an option names, else that of a fleet file."""
    if folder is None:
        fleet = fleet or running_fleet() or _FLEET
        if not fleet.is_file():
            raise click.UsageError(
                f"there is no {fleet}; name the fleet file (--fleet) or the folder (--folder)"
            )
        folder = asked_plan(fleet).incidents.folder
        if folder is None:
            raise click.UsageError(f"{fleet} keeps no incidents: incidents.folder names no folder")
        # Before the first incident serve has not made it.
        return Recorder(folder)
    if not folder.is_dir():
        raise click.UsageError(f"{folder}: there is no such folder; serve makes it with the first incident")
    return Recorder(folder)
