"""`stages`: where the time of requests goes in a running fleet."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tritonobs.cli.asking import LOAD, asked_prometheus, refuse_unknown
from tritonobs.cli.say import say
from tritonobs.cli.values import Duration, cluster_option, format_option, prometheus_option
from tritonobs.registry import answer
from tritonobs.units import format_duration

if TYPE_CHECKING:
    from tritonobs.clients.prometheus import PrometheusClient
    from tritonobs.timings.stages import StageTable


_DAY_SECONDS = 86_400.0
# Triton counts every ensemble under this version and not under its own.
_ENSEMBLES_VERSION = "1"


@click.command(epilog="Example: tritonobs stages --model inspect --window 5m")
@click.option("--model", default="", help="Only this model.  [default: every model with requests]")
@click.option("--version", default="", help="Only this version of it.")
@click.option("--window", type=Duration(), default="1m", show_default=True, help="How far back to read.")
@prometheus_option
@cluster_option
@LOAD
@format_option
def stages(
    *,
    model: str,
    version: str,
    window: float,
    prometheus_url: str,
    cluster: str,
    saved: Path | None,
    form: str,
) -> int:
    """Show where the time of a request goes, stage by stage, through every model a pipeline calls.

    Exit status 1 when there were no requests.
    """
    from tritonobs.report.console import print_table  # noqa: PLC0415 (brings rich)
    from tritonobs.report.formats import json_text  # noqa: PLC0415
    from tritonobs.report.stages import stage_table  # noqa: PLC0415

    if saved:
        tables, window = _kept(saved, model, version)
    else:
        tables = _read(asked_prometheus(prometheus_url, cluster), model, version, window)
    if form == "json":
        say(json_text(tables))
    else:
        for table in tables:
            print_table(stage_table(table))
    if not tables:
        asked = f" to {model}{f' version {version}' if version else ''}" if model else ""
        say(f"no requests{asked} in the last {format_duration(window)}", err=True)
    return int(not tables)


def _kept(saved: Path, model: str, version: str) -> tuple[tuple[StageTable, ...], float]:
    """The incident of a saved snapshot, and how many seconds it is."""
    from tritonobs.errors import SnapshotUnusable  # noqa: PLC0415 (only a saved snapshot needs it)
    from tritonobs.timings.ask import unknown_word  # noqa: PLC0415
    from tritonobs.timings.stages import stage_tables  # noqa: PLC0415

    readings = answer("readings")
    if readings is None:
        raise click.UsageError("--load needs triage, which this installation does not have")
    try:
        now, seconds = readings(saved)
    except SnapshotUnusable as error:
        raise click.BadParameter(str(error), param_hint="--load") from None
    there = tuple(sorted({name for name, _ in now.subjects()}))
    if model and model not in there:
        raise click.BadParameter(unknown_word(model, there, "model was seen"), param_hint="--model")
    return stage_tables(now, model=model, version=version), seconds


def _read(client: PrometheusClient, model: str, version: str, window: float) -> tuple[StageTable, ...]:
    from tritonobs.timings.promql import Span  # noqa: PLC0415
    from tritonobs.timings.stages import read_stages  # noqa: PLC0415

    now = time.time()
    tables = read_stages(client, model, version, window_seconds=window)
    if not tables and version not in {"", _ENSEMBLES_VERSION} and _is_ensemble(client, model):
        say(
            f"Triton reports every ensemble under version {_ENSEMBLES_VERSION}, not its own: "
            f"these are all requests to {model}",
            err=True,
        )
        tables = read_stages(client, model, _ENSEMBLES_VERSION, window_seconds=window)
    if not tables:
        # A model without requests in a short window is idle and not unknown.
        refuse_unknown(client, Span(start=now - max(window, _DAY_SECONDS), end=now), model, version)
    return tables


def _is_ensemble(client: PrometheusClient, model: str) -> bool:
    """Whether the fleet file says so."""
    from tritonobs.timings.promql import Scope  # noqa: PLC0415
    from tritonobs.timings.questions import ensemble_question  # noqa: PLC0415

    return bool(client.query(ensemble_question(Scope.asked(client, (model,)))))
