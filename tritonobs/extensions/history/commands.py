"""`limits suggest` and `limits backtest`: which limit fits, and which alerts it would have caused."""

from __future__ import annotations

import time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tritonobs.cli.say import say
from tritonobs.cli.values import (
    Duration,
    Parsed,
    address,
    asked_prometheus,
    cluster_option,
    format_option,
    prometheus_option,
    refuse_unknown,
    running_url,
)
from tritonobs.files import replace
from tritonobs.registry import answer
from tritonobs.spec.values import parse_qps
from tritonobs.units import parse_ratio

if TYPE_CHECKING:
    from tritonobs.clients.prometheus import PrometheusClient
    from tritonobs.extensions.history.suggest import Operation


def _replica(value: object) -> str:
    """An address, or `here`."""
    return address(running_url("triton", "http://127.0.0.1:8000") if value == "here" else value)


def _ratio(value: object) -> Decimal:
    return parse_ratio(str(value))


@click.command(epilog="Example: tritonobs limits suggest --model inspect --over 7d")
@click.option("--model", required=True, help="The model that needs a limit.")
@click.option("--over", type=Duration(), default="7d", show_default=True, help="How much history to read.")
@click.option(
    "--drive",
    "url",
    type=Parsed("url", _replica),
    help="Send load in rising steps to this replica instead of looking back; `here` is that of the stack "
    "running here.",
)
@click.option(
    "--from",
    "lowest",
    type=click.FloatRange(min=0, min_open=True),
    default=1.0,
    show_default=True,
    help="First step, requests/s.",
)
@click.option(
    "--to",
    "highest",
    type=click.FloatRange(min=0, min_open=True),
    default=50.0,
    show_default=True,
    help="Last step.",
)
# Fewer than five rates show no knee (`history.suggest`).
@click.option("--steps", type=click.IntRange(min=5), default=8, show_default=True, help="How many steps.")
@click.option(
    "--step", "seconds", type=Duration(), default="10s", show_default=True, help="Length of a step."
)
@click.option("--mix", default="1280x720", show_default=True, help="Images to send, as in `tritonobs load`.")
@click.option(
    "--headroom",
    type=Parsed("share", _ratio),
    default="20%",
    show_default=True,
    help="Share kept free below the knee.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a plot of the knee as an HTML page.",
)
@prometheus_option
@cluster_option
@format_option
def suggest(
    *,
    model: str,
    over: float,
    url: str | None,
    lowest: float,
    highest: float,
    steps: int,
    seconds: float,
    mix: str,
    headroom: Decimal,
    plot: Path | None,
    prometheus_url: str,
    cluster: str,
    form: str,
) -> int:
    """Estimate the rate at which requests begin to queue, and suggest a limit below it.

    Reads recorded history. --drive measures with load instead; use a replica without other traffic. Exit
    status 3 when there is too little data.
    """
    from tritonobs.extensions.history.suggest import describe, suggestion_page, suggestion_table
    from tritonobs.extensions.history.suggest import suggest as find_knee
    from tritonobs.report.console import print_table, print_text
    from tritonobs.report.formats import json_text

    if url and highest <= lowest:
        raise click.BadParameter(f"{highest:g} is not above --from {lowest:g}", param_hint="--to")
    rates = [lowest + (highest - lowest) * at / (steps - 1) for at in range(steps)]
    operations = (
        _driven(url, model, mix, rates, seconds)
        if url
        else _history(asked_prometheus(prometheus_url, cluster, timeout_seconds=60.0), model, over)
    )
    try:
        found = find_knee(model, operations, headroom_ratio=float(headroom))
    except ValueError as error:
        say(f"tritonobs: {error}; read more history (--over) or measure with load (--drive)", err=True)
        return 3
    if plot:
        replace(plot, suggestion_page(found, describe(found)).encode())
    if form == "json":
        say(json_text(found))
    else:
        print_text(describe(found))
        print_table(suggestion_table(found))
    return 0


@click.command(epilog="Example: tritonobs limits backtest --model inspect --qps 12 --over 30d")
@click.option("--model", required=True, help="The model the limit or objective is about.")
@click.option("--version", default="", help="One version of it.  [default: all versions together]")
@click.option("--qps", type=Parsed("qps", parse_qps), help="The limit to try, in requests/s.")
@click.option("--slo", default="availability", show_default=True, help="The SLO that --objective is for.")
@click.option("--objective", type=Parsed("objective", _ratio), help="The objective to try, like 99.9%.")
@click.option("--over", type=Duration(), default="7d", show_default=True, help="How much history to replay.")
@prometheus_option
@cluster_option
@format_option
def backtest(
    *,
    model: str,
    version: str,
    qps: Decimal | None,
    slo: str,
    objective: Decimal | None,
    over: float,
    prometheus_url: str,
    cluster: str,
    form: str,
) -> int:
    """List the alerts that another limit or objective would have caused.

    Applies the alert rules to recorded history. Exit status 1 when an alert would have fired.
    """
    from tritonobs.extensions.history.backtest import (
        backtest_limit,
        backtest_objective,
        backtest_table,
    )
    from tritonobs.report.console import print_table
    from tritonobs.report.formats import json_text
    from tritonobs.timings.promql import Span

    if (qps is None) == (objective is None):
        raise click.UsageError("give either --qps or --objective")
    if qps is not None and not qps.is_finite():
        raise click.BadParameter("no alert fires without a limit; give a number", param_hint="--qps")
    client, now = asked_prometheus(prometheus_url, cluster, timeout_seconds=60.0), time.time()
    span = Span(start=now - over, end=now)
    refuse_unknown(client, span, model, version)
    if qps is not None:
        found = backtest_limit(client, span, model=model, version=version, qps=qps)
    else:
        assert objective is not None  # noqa: S101 (one of the two is given, see above)
        found = backtest_objective(client, span, model=model, version=version, slo=slo, objective=objective)
    if form == "json":
        say(json_text(found))
    else:
        print_table(backtest_table(found))
    return int(bool(found.episodes))


def _history(client: PrometheusClient, model: str, over: float) -> tuple[Operation, ...]:
    from tritonobs.extensions.history.suggest import operations_in_history
    from tritonobs.timings.promql import Span

    now = time.time()
    span = Span(start=now - over, end=now)
    operations = operations_in_history(client, span, model=model)
    if not operations:
        refuse_unknown(client, span, model)
    return operations


def _driven(url: str, model: str, mix: str, rates: list[float], seconds: float) -> tuple[Operation, ...]:
    """Steps of load; ends early once a step is far too much."""
    from tritonobs.extensions.history.suggest import Operation, far_too_much

    driven = answer("driven")
    if driven is None:
        raise click.UsageError("--drive needs the load generator, which this installation does not have")
    found: list[Operation] = []
    try:
        for qps, result in driven(url, model, mix, rates, seconds):
            # The mean counts from when a request was due, which is what a user feels.
            timing = result.latency_from_schedule
            failed = result.failed / result.sent if result.sent else 0.0
            if timing and result.ok:
                found.append(Operation(qps=qps, seconds=timing.mean, failed_ratio=failed))
            if not result.ok:
                say(f"stopped: at {qps:.3g} requests/s none of {result.sent} succeeded", err=True)
                break
            if far_too_much(found):
                break
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--mix") from None
    return tuple(found)
