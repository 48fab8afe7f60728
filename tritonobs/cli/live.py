"""A running fleet: `top` shows every model live, `stages` where the time of requests goes."""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from tritonobs.cli.say import say
from tritonobs.cli.values import (
    LOAD,
    Address,
    Duration,
    asked_plan,
    asked_prometheus,
    cluster_option,
    fleet_cluster,
    format_option,
    prometheus_option,
    refuse_unknown,
    running_fleet,
)
from tritonobs.errors import SnapshotUnusable
from tritonobs.plan.limits import limits_at
from tritonobs.plan.rules import SCRAPES_PER_WINDOW
from tritonobs.registry import answer
from tritonobs.report.formats import json_text
from tritonobs.timings.promql import Scope, Span
from tritonobs.units import format_duration

if TYPE_CHECKING:
    from tritonobs.clients.prometheus import PrometheusClient
    from tritonobs.timings.stages import StageTable
    from tritonobs.timings.top import TopView

_SMOOTH_SECONDS = 10.0
"""Models flush their numbers every 0.5 s to 5 s (`stage.settings`): shorter readings would jump."""
_FIRST_SECONDS, _ONLY_SECONDS = 3.0, 6.5
"""The length of the first of several readings, and of the only one: longer than a worker may be silent."""
_LEAST_SECONDS, _UNTOLD_SECONDS = 30.0, 60.0
"""The window of rates: at least this; without a fleet file the interval of scrapes is unknown."""
# Those of `timings.top`, whose import brings requests and would slow --help.
_SORTS = ("qps", "errors", "mean", "p99", "queue", "model")


@click.command(epilog="Example: tritonobs top --metrics http://127.0.0.1:8002/metrics")
@click.argument("fleet", required=False, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--metrics", "pages", type=Address(), multiple=True, help="A replica's metrics endpoint; may be repeated."
)
@click.option(
    "--prometheus", "prometheus_url", type=Address(), help="Ask Prometheus instead of the replicas."
)
@cluster_option
@click.option(
    "--interval", type=Duration(), default="1s", show_default=True, help="Time between two readings."
)
@click.option(
    "--window",
    type=Duration(),
    help="Window of the rates from Prometheus; 30s or four scrapes of FLEET when left out, without FLEET 1m.",
)
@click.option(
    "--sort", type=click.Choice(_SORTS), default="qps", show_default=True, help="Column to sort by."
)
@click.option("--model", "chosen", default="", help="Only models whose name contains this.")
@click.option("--once", is_flag=True, help="Print once and end; the default without a terminal.")
@format_option
def top(
    *,
    fleet: Path | None,
    pages: tuple[str, ...],
    prometheus_url: str | None,
    cluster: str,
    interval: float,
    window: float | None,
    sort: str,
    chosen: str,
    once: bool,
    form: str,
) -> int:
    """Show every model version: requests and limits, errors, latency, queue, stages, workers.

    A limit marked Σ is that of the model and counts all its versions. A row over a limit is red. Reads the
    replicas' own metrics endpoints, once a second and without Prometheus: those of FLEET, those of --metrics,
    those of the stack running here, or the one of this machine. Exit status 3 when nothing could be read.
    """
    from tritonobs.timings.top import SORT_KEYS, sorted_rows

    if fleet is None and not pages and not prometheus_url:
        fleet = running_fleet()
    # The live view reads keys from stdin, so a terminal behind stdout alone is not enough.
    live = not once and form != "json" and sys.stdin.isatty() and sys.stdout.isatty()
    look = (
        _prometheus(prometheus_url, cluster or fleet_cluster(fleet), window or _window(fleet))
        if prometheus_url
        else _pages(fleet, pages, interval, live=live)
    )
    key = next(name for name in SORT_KEYS if name == sort)
    if not live:
        view = look()
        if view.rows and not sorted_rows(view.rows, "model", chosen):
            _refuse_model(chosen, {row.model for row in view.rows})
        if form == "json":
            say(json_text(view))
        else:
            from tritonobs.report.top import print_top

            print_top(view, sort=key, chosen=chosen)
        return 0 if view.rows else 3
    from tritonobs.report.top import run_top

    with suppress(KeyboardInterrupt):
        run_top(look, sort=key, chosen=chosen, interval_seconds=interval)
    return 0


def _window(fleet: Path | None) -> float:
    """Seconds with enough scrapes for a rate, even where one is missed."""
    if fleet is None:
        return _UNTOLD_SECONDS
    return max(
        _LEAST_SECONDS, SCRAPES_PER_WINDOW * float(asked_plan(fleet).prometheus.scrape_interval_seconds)
    )


def _refuse_model(model: str, seen: Iterable[str]) -> NoReturn:
    """End with wrong usage: no model of this name, or with this in its name, was seen."""
    from tritonobs.timings.ask import unknown_word

    there = tuple(sorted(seen))
    raise click.BadParameter(unknown_word(model, there, "model was seen"), param_hint="--model")


def _pages(
    fleet: Path | None, pages: tuple[str, ...], interval: float, *, live: bool
) -> Callable[[], TopView]:
    """Reads the pages, with what a fleet file knows: limits in force, ensembles, calls of pipelines."""
    from tritonobs.replicas import find_replicas
    from tritonobs.timings.top import read_pages, view_of_pages

    urls: tuple[str, ...] | dict[str, str] = pages or ("http://127.0.0.1:8002/metrics",)
    view = partial(view_of_pages, limits={})
    if fleet is not None:
        plan = asked_plan(fleet)
        limits = limits_at(plan.limits, datetime.now(timezone.utc))
        urls = pages or {replica.name: replica.metrics_url for replica in find_replicas(plan)}
        view = partial(
            view_of_pages,
            limits={(limit.model, limit.version): float(limit.qps) for limit in limits},
            ensembles=frozenset(model.name for model in plan.models if model.kind == "ensemble"),
            calls=frozenset((model.name, call.model) for model in plan.models for call in model.calls),
        )
    looks = deque([read_pages(urls)], maxlen=math.ceil(_SMOOTH_SECONDS / interval) + 1)
    seconds = max(interval, _FIRST_SECONDS if live else _ONLY_SECONDS)
    if sys.stderr.isatty():
        say(f"counting requests for {seconds:g} s", err=True)
    time.sleep(seconds)

    def look() -> TopView:
        looks.append(read_pages(urls))
        return view(looks[0], looks[-1])

    return look


def _prometheus(url: str, cluster: str, window: float) -> Callable[[], TopView]:
    from tritonobs.timings.top import view_of_prometheus

    client = asked_prometheus(url, cluster)
    return lambda: view_of_prometheus(client, window_seconds=window)


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
    from tritonobs.report.console import print_table
    from tritonobs.report.tables import stage_table

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
    from tritonobs.timings.stages import stage_tables

    readings = answer("readings")
    if readings is None:
        raise click.UsageError("--load needs triage, which this installation does not have")
    try:
        now, seconds = readings(saved)
    except SnapshotUnusable as error:
        raise click.BadParameter(str(error), param_hint="--load") from None
    there = {name for name, _ in now.subjects()}
    if model and model not in there:
        _refuse_model(model, there)
    return stage_tables(now, model=model, version=version), seconds


def _read(client: PrometheusClient, model: str, version: str, window: float) -> tuple[StageTable, ...]:
    from tritonobs.timings.stages import read_stages

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
    from tritonobs.timings.questions import ensemble_question

    return bool(client.query(ensemble_question(Scope.asked(client, (model,)))))
