"""`stages`: a running fleet, looked at."""

from __future__ import annotations

import click

from tritonobs.cli.values import Duration, format_option, prometheus_option


@click.command(epilog="Example: tritonobs stages --model inspect --window 5m")
@click.option("--model", default="", help="Only this model.  [default: every model with requests]")
@click.option("--version", default="", help="Only this version of it.")
@click.option("--window", type=Duration(), default="1m", show_default=True, help="How far to look back.")
@prometheus_option
@format_option
def stages(*, model: str, version: str, window: float, prometheus_url: str, form: str) -> int:
    """Show where the time of a request goes, stage by stage, through every model a pipeline calls.

    Exit status 1 when there were no requests to look at.
    """
    from tritonobs.clients.prometheus import PrometheusClient  # noqa: PLC0415 (brings requests)
    from tritonobs.live.stages import read_stages  # noqa: PLC0415
    from tritonobs.report.console import print_table  # noqa: PLC0415 (brings rich)
    from tritonobs.report.formats import json_text  # noqa: PLC0415
    from tritonobs.report.stages import stage_table  # noqa: PLC0415

    tables = read_stages(PrometheusClient(prometheus_url), model, version, window_seconds=window)
    if form == "json":
        click.echo(json_text(tables))
    else:
        for table in tables:
            print_table(stage_table(table))
    if not tables:
        click.echo(f"no requests{f' to {model}' if model else ''} in the last {window:g} s", err=True)
    return int(not tables)
