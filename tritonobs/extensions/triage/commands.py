"""`triage`: what is wrong, since when, why, and what now."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tritonobs.cli.say import say
from tritonobs.cli.values import (
    LOAD,
    Address,
    Duration,
    When,
    asked_plan,
    asked_prometheus,
    cluster_option,
    found_replicas,
    plan_cluster,
    prometheus_option,
    refuse_unknown,
    running_fleet,
)
from tritonobs.plan.fleet import Plan, names_by_address
from tritonobs.registry import answer

if TYPE_CHECKING:
    from tritonobs.clients.prometheus import PrometheusClient
    from tritonobs.extensions.triage.judge import Verdict
    from tritonobs.extensions.triage.snapshot import Snapshot
    from tritonobs.timings.promql import Span


_STATUS = {"healthy": 0, "wrong": 1, "blind": 3}
_FIXED = frozenset(
    {*("model", "version", "since", "until", "baseline"), "cluster", "alertmanager_url", "triton_urls"}
)
_CLOCKS_SECONDS = 60.0
"""How far the clocks of two machines may differ."""
_PATH = click.Path(path_type=Path, dir_okay=False)


@click.command(epilog="Example: tritonobs triage --model inspect --since 15m")
@click.argument("fleet", required=False, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--model", default="", help="Only this model and what it calls.  [default: the whole fleet]")
@click.option("--version", default="", help="Only this version of it.")
@click.option(
    "--since",
    type=Duration(),
    default="10m",
    show_default=True,
    help="Length of the window to judge; choose it so that the incident began within it.",
)
@click.option(
    "--at",
    "until",
    type=When(),
    default="now",
    show_default=True,
    help="When it ended, for a past incident: 2026-05-01T10:00Z, now-2h.",
)
@click.option(
    "--baseline",
    default="previous",
    show_default=True,
    help="Compare with: previous, yesterday, last-week, or a time before, like 3h.",
)
@prometheus_option
@cluster_option
# Commands written for earlier releases may have it.
@click.option(
    "--alertmanager",
    "alertmanager_url",
    type=Address(),
    expose_value=False,
    hidden=True,
    help="Not read any more.",
)
@click.option("--triton", "triton_urls", type=Address(), multiple=True, help="Address of a replica to read.")
@click.option("--save", type=_PATH, help="Save the readings to this file.")
@LOAD
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "text", "json", "html", "markdown"]),
    default="table",
    show_default=True,
    help="text fits into a chat message, markdown into a ticket.",
)
def triage(
    *,
    fleet: Path | None,
    model: str,
    version: str,
    since: float,
    until: float,
    baseline: str,
    prometheus_url: str,
    cluster: str,
    triton_urls: tuple[str, ...],
    save: Path | None,
    saved: Path | None,
    form: str,
) -> int:
    """Say what is wrong, since when, why, and what to do now.

    Compares the time of the incident with a time before it. FLEET is a fleet file; it names Prometheus,
    Grafana and the replicas. The default is the stack running here. Exit status 0: healthy. 1: unhealthy.
    3: no verdict.
    """
    from tritonobs.extensions.triage.judge import triage as judge

    if saved:
        _refuse_what_is_fixed()
    # The stack here has a Prometheus of its own, which is not the one that the user names.
    if fleet is None and not saved and _is_default("prometheus_url"):
        fleet = running_fleet()
    plan, prometheus_link = asked_plan(fleet) if fleet else None, prometheus_url
    if plan:
        cluster = cluster or plan_cluster(plan)
        if _is_default("prometheus_url"):
            prometheus_url, prometheus_link = plan.addresses.prometheus_url, plan.addresses.prometheus_link
    spans = _spans(until, since, baseline)
    if saved:
        snapshot = _loaded(saved)
    else:
        prometheus = asked_prometheus(prometheus_url, cluster)
        snapshot = _taken(prometheus, plan, triton_urls, spans=spans, model=model, version=version)
    if save:
        from tritonobs.extensions.triage.saved import save_snapshot

        save_snapshot(snapshot, save)
        say(f"saved the readings in {save}; judge them again with: tritonobs triage --load {save}", err=True)
    verdict = judge(snapshot)
    # All servers answered and nothing was there to judge: the name may be wrong.
    if verdict.status == "blind" and not verdict.unseen and not saved:
        refuse_unknown(prometheus, spans[0], model, version)
    _show(verdict, snapshot, prometheus_link, plan, form)
    # The others are whole documents, with nothing behind them.
    if form in {"table", "text"} and verdict.causes and plan and plan.traces.receiver_url and not saved:
        _show_slowest(verdict, plan.traces.receiver_url)
    return _STATUS[verdict.status]


def _loaded(path: Path) -> Snapshot:
    from tritonobs.errors import SnapshotUnusable
    from tritonobs.extensions.triage.saved import load_snapshot

    try:
        return load_snapshot(path)
    except SnapshotUnusable as error:
        raise click.BadParameter(str(error), param_hint="--load") from None


def _refuse_what_is_fixed() -> None:
    """Refuse options of the reading, which cannot change readings that were saved."""
    context = click.get_current_context()
    given = [
        option.opts[0]
        for option in context.command.params
        if option.name in _FIXED
        and context.get_parameter_source(option.name) is click.core.ParameterSource.COMMANDLINE
    ]
    if given:
        raise click.UsageError(f"--load reads a saved file: {', '.join(given)} cannot change it")


def _show_slowest(verdict: Verdict, receiver: str) -> None:
    """The slowest traced requests of the incident, of each model that is to blame."""
    from tritonobs.errors import ClientError
    from tritonobs.report.console import print_text

    slowest = answer("slowest")
    if slowest is None:
        return
    incident = verdict.incident
    try:
        for model in dict.fromkeys(cause.model for cause in verdict.causes if cause.model):
            for line in slowest(receiver, model, start=incident.start, end=incident.end).lines:
                print_text(line)
    # The verdict stands without them, and its exit status, too.
    except ClientError as error:
        say(f"Slowest requests: unavailable: {error}", err=True)


def _is_default(option: str) -> bool:
    """Whether it was set neither on the command line nor in the environment."""
    source = click.get_current_context().get_parameter_source(option)
    return source is click.core.ParameterSource.DEFAULT


def _spans(until: float, since: float, baseline: str) -> tuple[Span, Span]:
    from tritonobs.extensions.triage.calm import windows

    if until > time.time() + _CLOCKS_SECONDS:
        raise click.BadParameter("is in the future", param_hint="--at")
    try:
        return windows(until, since, baseline)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--baseline") from None


def _taken(
    prometheus: PrometheusClient,
    plan: Plan | None,
    triton_urls: tuple[str, ...],
    *,
    spans: tuple[Span, Span],
    model: str,
    version: str,
) -> Snapshot:
    from tritonobs.clients.triton import TritonClient
    from tritonobs.extensions.triage.snapshot import take_snapshot

    found = found_replicas(plan) if plan else ()
    asked = triton_urls or tuple(replica.http_url for replica in found)
    return take_snapshot(
        prometheus,
        tuple(TritonClient(url, timeout_seconds=2.0) for url in asked),
        incident=spans[0],
        baseline=spans[1],
        called=names_by_address(found),
        model=model,
        version=version,
    )


def _show(verdict: Verdict, snapshot: Snapshot, prometheus_link: str, plan: Plan | None, form: str) -> None:
    from tritonobs.extensions.triage import tables
    from tritonobs.report.console import print_link
    from tritonobs.report.formats import json_text

    asked = dict(tables.questions(verdict, snapshot.asked))
    urls = tables.links(
        verdict,
        snapshot.asked,
        prometheus_url=prometheus_link,
        grafana_url=plan.addresses.grafana_url if plan else "",
        serve_url=plan.addresses.serve_link if plan else "",
    )
    if form == "json":
        say(json_text(verdict, links=urls, questions=asked))
    elif form == "html":
        say(tables.verdict_page(verdict, links=urls.items(), questions=asked.items()))
    elif form == "markdown":
        say(tables.verdict_markdown(verdict, urls.items()), nl=False)
    elif form == "text":
        say(tables.verdict_text(verdict, tables=False))
    else:
        tables.print_verdict(verdict)
        for name, url in urls.items():
            print_link(name, url)
