"""`snapshot`: a board as one file, for incident reports and for people without Grafana."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tritonobs import names
from tritonobs.cli.values import prometheus_option
from tritonobs.errors import TritonobsError
from tritonobs.units import parse_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

_FORMS = (".html", ".png")


class Moment(click.ParamType[float]):
    """`now`, `now-2h`, `2026-03-01T14:05` (this machine's zone unless it says one), or Unix seconds."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Unix seconds."""
        if isinstance(value, float):
            return value
        text = str(value).strip()
        try:
            if text == "now":
                return time.time()
            if text.startswith("now-"):
                return time.time() - float(parse_duration(text.removeprefix("now-")))
            if text.replace(".", "", 1).isdigit():
                return float(text)
            return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone().timestamp()
        except (ValueError, OverflowError, OSError):
            self.fail(f"{text!r} is no time; write now, now-2h, 2026-03-01T14:05 or Unix seconds", param, ctx)


class Setting(click.ParamType[tuple[str, str]]):
    """`NAME=VALUE`."""

    name = "name=value"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Name and value."""
        if isinstance(value, tuple):
            return value
        name, sign, text = str(value).partition("=")
        if not name or not sign:
            self.fail(f"{value!r} is no setting; write one like stage=decode", param, ctx)
        return name, text


class Output(click.ParamType[Path]):
    """A file whose ending says what is written."""

    name = "file"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path, when its ending is one we write."""
        path = Path(str(value))
        if path.suffix.lower() not in _FORMS:
            self.fail(f"{str(value)!r} ends in neither {' nor '.join(_FORMS)}", param, ctx)
        return path


@click.command(epilog="Example: tritonobs snapshot pipeline --model inspect --from now-30m -o report.html")
@click.argument("board", type=click.Choice(names.BOARDS))
@click.option("--from", "start", type=Moment(), default="now-1h", show_default=True, help="From when.")
@click.option("--to", "end", type=Moment(), default="now", show_default=True, help="Until when.")
@click.option("--model", multiple=True, help="Only this model (repeat for more).")
@click.option("--version", multiple=True, help="Only this version (repeat for more).")
@click.option(
    "--set",
    "settings",
    type=Setting(),
    multiple=True,
    help="Another variable of the board: stage, slo, vendor, device, cluster.",
)
@prometheus_option
@click.option(
    "-o", "--output", required=True, type=Output(), help="A .html file (needs nothing else) or a .png."
)
def snapshot(
    *,
    board: str,
    start: float,
    end: float,
    model: Sequence[str],
    version: Sequence[str],
    settings: Sequence[tuple[str, str]],
    prometheus_url: str,
    output: Path,
) -> int:
    """Draw a board from what Prometheus knows, without Grafana.

    BOARD is one of fleet, model, pipeline, slo, accelerators, hosts, delivery. Exit status 1 when nothing on
    it has data.
    """
    from tritonobs.clients.prometheus import PrometheusClient  # noqa: PLC0415 (brings requests)
    from tritonobs.picture.knobs import knobs_of  # noqa: PLC0415
    from tritonobs.picture.page import page  # noqa: PLC0415 (brings matplotlib)
    from tritonobs.picture.sheet import sheet  # noqa: PLC0415
    from tritonobs.picture.story import tell  # noqa: PLC0415
    from tritonobs.render.dashboards import load_boards  # noqa: PLC0415 (brings grafanalib)

    if end <= start:
        raise click.UsageError("--from must be before --to")
    wanted: dict[str, list[str]] = {"model": [*model], "version": [*version]}
    for name, value in settings:
        wanted.setdefault(name, []).append(value)

    client = PrometheusClient(prometheus_url)
    json = load_boards(knobs_of(client, start=start, end=end))[board]
    known = {one["name"] for one in json["templating"]["list"] if one["type"] == "query"}
    for name in sorted(name for name, values in wanted.items() if values and name not in known):
        raise click.UsageError(f"the {board} board has no variable {name}; it has {', '.join(sorted(known))}")
    story = tell(client, json, wanted, start=start, end=end)
    data = page(story).encode() if output.suffix.lower() == ".html" else sheet(story)
    try:
        output.write_bytes(data)
    except OSError as error:
        raise TritonobsError(f"{output}: cannot be written: {error.strerror}") from error
    click.echo(str(output))
    if story.silent:
        click.echo(f"no data: {', '.join(dict.fromkeys(story.silent))}", err=True)
    return int(len(story.silent) == len(story.answers))
