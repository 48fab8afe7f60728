"""`incidents list | show`: incidents that `tritonobs serve` has kept."""

from __future__ import annotations

import zoneinfo
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tritonobs.cli.say import say
from tritonobs.cli.values import Group, asked_plan, format_option, running_fleet
from tritonobs.errors import FileUnusable, TritonobsError
from tritonobs.extensions.incidents import account
from tritonobs.extensions.incidents.account import lasted
from tritonobs.extensions.incidents.recorder import Recorded, Recorder
from tritonobs.registry import answer

if TYPE_CHECKING:
    from tritonobs.extensions.incidents.pages import Picture
    from tritonobs.plan.fleet import Plan

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
    from tritonobs.report.console import Column, Line, Table, print_table
    from tritonobs.report.formats import json_text

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
                    "ongoing" if entry.ended is None else lasted(entry.since, entry.ended),
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
    help="markdown and html are drafts of the post-mortem; html has panels of the boards, from the fleet "
    "file's Prometheus.",
)
def show(*, ident: str, fleet: Path | None, folder: Path | None, form: str) -> None:
    """Show one incident: cause, place, timeline, what to do, and how to judge its readings again."""
    from tritonobs.report.formats import json_text

    try:
        found = _recorder(fleet, folder).load(ident)
    except FileUnusable as error:
        raise click.BadParameter(str(error), param_hint="ID") from None
    if form == "json":
        readings = {moment.value: str(path) for moment, path in found.readings.items()}
        say(json_text(found.entry.model_dump(mode="json"), readings=readings))
    elif form == "html":
        say(_page(found, _plan(fleet, folder)))
    elif form == "markdown":
        say(account.markdown(found.entry, found.readings), nl=False)
    else:
        for line in account.lines(found.entry, found.readings):
            say(line)


def _page(found: Recorded, plan: Plan | None) -> str:
    """One file that needs nothing else; what cannot be drawn is left out, with a printed reason."""
    from tritonobs.extensions.incidents.pages import drawn, incident_page

    if plan is None:
        say("no pictures: name the fleet file (--fleet), which says where Prometheus is", err=True)
        return incident_page(found, serve=None)
    pictures: Sequence[Picture] = ()
    draw = answer("pictures")
    why = "there is no data of that time" if draw else "nothing here draws them"
    try:
        pictures = drawn(found.entry, plan, draw)
    except TritonobsError as error:
        why = str(error)
    if not pictures:
        say(f"no pictures: {why}", err=True)
    return incident_page(
        found,
        zone=zoneinfo.ZoneInfo(plan.notify.timezone),
        pictures=pictures,
        serve=plan.addresses.serve_link,
    )


def _plan(fleet: Path | None, folder: Path | None) -> Plan | None:
    """That of the fleet file; a folder that an option names may be of another fleet than is found here."""
    fleet = fleet or (None if folder else running_fleet() or _FLEET)
    return asked_plan(fleet) if fleet else None


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
