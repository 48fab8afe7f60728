"""`snapshot`: a board as one file, for incident reports and for people without Grafana."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from tritonobs import names
from tritonobs.cli.say import say
from tritonobs.cli.values import Parsed, When, prometheus_option
from tritonobs.files import replace

_FORMS = (".html", ".png")


def _setting(value: object) -> tuple[str, str]:
    """Name and value of `NAME=VALUE`."""
    name, sign, text = str(value).partition("=")
    if not name or not sign:
        raise ValueError(f"{value!r} is not a setting; write one like stage=decode")
    return name, text


def _output(value: object) -> Path:
    """The path of a file, when its ending is one we write."""
    path = Path(str(value))
    if path.suffix.lower() not in _FORMS:
        raise ValueError(f"{str(value)!r} ends in neither {' nor '.join(_FORMS)}")
    return path


@click.command(epilog="Example: tritonobs snapshot pipeline --model inspect --from now-30m -o report.html")
@click.argument("board", type=click.Choice(names.BOARDS))
@click.option("--from", "start", type=When(), default="now-1h", show_default=True, help="From when.")
@click.option("--to", "end", type=When(), default="now", show_default=True, help="Until when.")
@click.option("--model", multiple=True, help="Only this model; may be repeated.")
@click.option("--version", multiple=True, help="Only this version; may be repeated.")
@click.option(
    "--set",
    "settings",
    type=Parsed("name=value", _setting),
    multiple=True,
    help="Another variable of the board: stage, slo, vendor, device, cluster.",
)
@prometheus_option
@click.option(
    "-o",
    "--output",
    required=True,
    type=Parsed("file", _output),
    help="A .html file (self-contained) or a .png.",
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
    """Draw a board from Prometheus' data, without Grafana.

    Exit status 1 when no panel has data.
    """
    from tritonobs.clients.prometheus import PrometheusClient
    from tritonobs.extensions.picture.answers import read_drawing
    from tritonobs.extensions.picture.board import knobs_of
    from tritonobs.extensions.picture.page import page, sheet
    from tritonobs.render.grafana import load_boards

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
    drawing = read_drawing(client, json, wanted, start=start, end=end)
    data = page(drawing).encode() if output.suffix.lower() == ".html" else sheet(drawing)
    replace(output, data)
    say(str(output))
    if drawing.silent:
        say(f"no data: {', '.join(dict.fromkeys(drawing.silent))}", err=True)
    return int(len(drawing.silent) == len(drawing.answers))
