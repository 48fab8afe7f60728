"""`top`: every model of a fleet, live."""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tritonobs.cli.values import Address, Duration, format_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from tritonobs.live.timings import Subject
    from tritonobs.live.top import TopView

_SMOOTH_SECONDS, _FIRST_SECONDS = 5.0, 2.0
_SORTS = ("qps", "errors", "mean", "p99", "queue", "model")


@click.command(epilog="Example: tritonobs top --metrics http://127.0.0.1:8002/metrics")
@click.argument("fleet", required=False, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--metrics", "pages", type=Address(), multiple=True, help="A replica's metrics page; may be repeated."
)
@click.option(
    "--prometheus", "prometheus_url", type=Address(), help="Ask Prometheus instead of the replicas."
)
@click.option("--interval", type=Duration(), default="1s", show_default=True, help="Between two looks.")
@click.option(
    "--window", type=Duration(), default="30s", show_default=True, help="How far Prometheus looks back."
)
@click.option(
    "--sort", type=click.Choice(_SORTS), default="qps", show_default=True, help="What stands first."
)
@click.option("--model", "chosen", default="", help="Only models whose name contains this.")
@click.option("--once", is_flag=True, help="Look once and print; also what happens without a terminal.")
@format_option
def top(
    *,
    fleet: Path | None,
    pages: tuple[str, ...],
    prometheus_url: str | None,
    interval: float,
    window: float,
    sort: str,
    chosen: str,
    once: bool,
    form: str,
) -> int:
    """Watch every model version: requests against limits, errors, latency, queue, stages, workers.

    Reads the replicas' own metrics pages, once a second and without Prometheus: those of FLEET, those of
    --metrics, or the one of this machine. Exit status 3 when nothing could be seen.
    """
    from tritonobs.live.top import SORT_KEYS  # noqa: PLC0415 (only this command needs it)

    urls, limits = _replicas(fleet, pages)
    look = _prometheus(prometheus_url, window) if prometheus_url else _pages(urls, limits, interval)
    key = next(name for name in SORT_KEYS if name == sort)
    if once or form == "json" or not (sys.stdin.isatty() and sys.stdout.isatty()):
        view = look()
        _refuse_unseen(view, chosen)
        if form == "json":
            from tritonobs.report.formats import json_text  # noqa: PLC0415

            click.echo(json_text(view))
        else:
            from tritonobs.report.top import print_top  # noqa: PLC0415 (brings rich)

            print_top(view, sort=key, chosen=chosen)
        return 0 if view.rows else 3
    from tritonobs.report.top import run_top  # noqa: PLC0415 (brings rich)

    try:
        run_top(look, sort=key, chosen=chosen, interval_seconds=interval)
    except KeyboardInterrupt:
        return 0
    return 0


def _refuse_unseen(view: TopView, chosen: str) -> None:
    """End with wrong usage when there are models, and none of them was meant."""
    from tritonobs.live.known import unknown_word  # noqa: PLC0415 (only this command needs it)
    from tritonobs.live.top import sorted_rows  # noqa: PLC0415

    if view.rows and not sorted_rows(view.rows, "model", chosen):
        there = tuple(sorted({row.model for row in view.rows}))
        raise click.BadParameter(unknown_word(chosen, there, "model was seen"), param_hint="--model")


def _replicas(fleet: Path | None, pages: tuple[str, ...]) -> tuple[tuple[str, ...], dict[Subject, float]]:
    """Which pages to read, and the limits in force, which only a fleet file knows."""
    if fleet is None:
        return pages or ("http://127.0.0.1:8002/metrics",), {}
    from datetime import datetime, timezone  # noqa: PLC0415

    from tritonobs.plan.build import build_plan  # noqa: PLC0415 (needs pydantic)
    from tritonobs.plan.limits import limits_at  # noqa: PLC0415
    from tritonobs.spec.load import load_fleet  # noqa: PLC0415

    plan = build_plan(load_fleet(fleet), fleet.parent)
    limits = limits_at(plan.limits, datetime.now(timezone.utc))
    urls = pages or tuple(replica.metrics_url for replica in plan.replicas)
    return urls, {(limit.model, limit.version): float(limit.qps) for limit in limits}


def _pages(urls: tuple[str, ...], limits: dict[Subject, float], interval: float) -> Callable[[], TopView]:
    from tritonobs.live.pages import read_pages  # noqa: PLC0415 (brings requests)
    from tritonobs.live.top import view_of_pages  # noqa: PLC0415

    # Models hand over their numbers once a second: shorter than some seconds, a rate would jump.
    looks = deque([read_pages(urls)], maxlen=max(2, math.ceil(_SMOOTH_SECONDS / interval)))
    time.sleep(max(interval, _FIRST_SECONDS))

    def look() -> TopView:
        looks.append(read_pages(urls))
        return view_of_pages(looks[0], looks[-1], limits)

    return look


def _prometheus(url: str, window: float) -> Callable[[], TopView]:
    from tritonobs.clients.prometheus import PrometheusClient  # noqa: PLC0415 (brings requests)
    from tritonobs.live.top import view_of_prometheus  # noqa: PLC0415

    client = PrometheusClient(url)
    return lambda: view_of_prometheus(client, window_seconds=window)
