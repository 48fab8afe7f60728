"""`stages`: a running fleet, looked at."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from tritonobs.cli.known import refuse_unknown
from tritonobs.cli.saved import load_option, loaded
from tritonobs.cli.values import Duration, format_option, prometheus_option
from tritonobs.units import format_duration

if TYPE_CHECKING:
    from pathlib import Path

    from tritonobs.live.stages import StageTable

_DAY_SECONDS = 86_400.0


@click.command(epilog="Example: tritonobs stages --model inspect --window 5m")
@click.option("--model", default="", help="Only this model.  [default: every model with requests]")
@click.option("--version", default="", help="Only this version of it.")
@click.option("--window", type=Duration(), default="1m", show_default=True, help="How far to look back.")
@prometheus_option
@load_option
@format_option
def stages(
    *, model: str, version: str, window: float, prometheus_url: str, saved: Path | None, form: str
) -> int:
    """Show where the time of a request goes, stage by stage, through every model a pipeline calls.

    Exit status 1 when there were no requests to look at.
    """
    from tritonobs.report.console import print_table  # noqa: PLC0415 (brings rich)
    from tritonobs.report.formats import json_text  # noqa: PLC0415
    from tritonobs.report.stages import stage_table  # noqa: PLC0415

    if saved:
        tables, window = _kept(saved, model, version)
    else:
        tables = _read(prometheus_url, model, version, window)
    if form == "json":
        click.echo(json_text(tables))
    else:
        for table in tables:
            print_table(stage_table(table))
    if not tables:
        asked = f" to {model}{f' version {version}' if version else ''}" if model else ""
        click.echo(f"no requests{asked} in the last {format_duration(window)}", err=True)
    return int(not tables)


def _kept(saved: Path, model: str, version: str) -> tuple[tuple[StageTable, ...], float]:
    """The incident of a saved snapshot, and how many seconds it is."""
    from tritonobs.live.known import unknown_word  # noqa: PLC0415 (only this command needs it)
    from tritonobs.live.stages import stage_tables  # noqa: PLC0415
    from tritonobs.live.view import View  # noqa: PLC0415

    snapshot = loaded(saved)
    now = View(snapshot).now
    there = tuple(sorted({name for name, _ in now.subjects()}))
    if model and model not in there:
        raise click.BadParameter(unknown_word(model, there, "model was seen"), param_hint="--model")
    return stage_tables(now, model=model, version=version), snapshot.incident.seconds


def _read(prometheus_url: str, model: str, version: str, window: float) -> tuple[StageTable, ...]:
    from tritonobs.clients.prometheus import PrometheusClient  # noqa: PLC0415 (brings requests)
    from tritonobs.live.snapshot import Span  # noqa: PLC0415
    from tritonobs.live.stages import read_stages  # noqa: PLC0415

    client, now = PrometheusClient(prometheus_url), time.time()
    tables = read_stages(client, model, version, window_seconds=window)
    if not tables:
        refuse_unknown(client, Span(start=now - max(window, _DAY_SECONDS), end=now), model, version)
    return tables
