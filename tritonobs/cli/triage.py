"""`triage`: what is wrong, since when, why, and what now."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tritonobs.cli.known import refuse_unknown
from tritonobs.cli.saved import load_option, loaded
from tritonobs.cli.values import Address, Duration, prometheus_option

if TYPE_CHECKING:
    from tritonobs.live.snapshot import Snapshot, Span
    from tritonobs.live.triage import Verdict

_STATUS = {"healthy": 0, "wrong": 1, "blind": 3}
_PATH = click.Path(path_type=Path, dir_okay=False)


@click.command(epilog="Example: tritonobs triage --model inspect --since 15m")
@click.argument("fleet", required=False, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--model", default="", help="Only this model and what it calls.  [default: the whole fleet]")
@click.option("--version", default="", help="Only this version of it.")
@click.option(
    "--since", type=Duration(), default="10m", show_default=True, help="When the trouble began, or before."
)
@click.option(
    "--at",
    "until",
    default="now",
    show_default=True,
    help="When it ended, for a look back: 2026-05-01T10:00Z.",
)
@click.option(
    "--baseline",
    default="previous",
    show_default=True,
    help="Held against: previous, yesterday, last-week, or how long before, like 3h.",
)
@prometheus_option
@click.option(
    "--alertmanager", "alertmanager_url", type=Address(), help="Alertmanager to ask about silences."
)
@click.option("--triton", "triton_urls", type=Address(), multiple=True, help="Replica to ask about itself.")
@click.option("--save", type=_PATH, help="Keep what was seen in this file.")
@load_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "text", "json", "html"]),
    default="table",
    show_default=True,
    help="text fits into a chat message.",
)
def triage(
    *,
    fleet: Path | None,
    model: str,
    version: str,
    since: float,
    until: str,
    baseline: str,
    prometheus_url: str,
    alertmanager_url: str | None,
    triton_urls: tuple[str, ...],
    save: Path | None,
    saved: Path | None,
    form: str,
) -> int:
    """Say what is wrong, since when, why, and what to do now.

    Compares the time of the trouble with a time before it. FLEET is a fleet file; it names Prometheus,
    Alertmanager, Grafana and the replicas. Exit status 0 when nothing is wrong, 1 when something is, 3 when
    that could not be seen.
    """
    from tritonobs.live.triage import triage as judge  # noqa: PLC0415 (only this command needs it)

    where = _where(fleet, prometheus_url, alertmanager_url, triton_urls)
    spans = _spans(until, since, baseline)
    snapshot = loaded(saved) if saved else _taken(where, spans, model, version)
    if save:
        from tritonobs.live.saved import save_snapshot  # noqa: PLC0415

        save_snapshot(snapshot, save)
        click.echo(
            f"kept what was seen in {save}; judge it again with: tritonobs triage --load {save}", err=True
        )
    verdict = judge(snapshot)
    if verdict.status == "blind" and not verdict.unseen and not saved:
        from tritonobs.clients.prometheus import PrometheusClient  # noqa: PLC0415 (brings requests)

        refuse_unknown(PrometheusClient(where.prometheus), spans[0], model, version)
    _show(verdict, snapshot, where, form)
    return _STATUS[verdict.status]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Where:
    """Whom to ask, and where links point."""

    prometheus: str
    prometheus_link: str
    alertmanager: str = ""
    grafana: str = ""
    replicas: tuple[str, ...] = ()


def _where(
    fleet: Path | None, prometheus: str, alertmanager: str | None, replicas: tuple[str, ...]
) -> _Where:
    if fleet is None:
        return _Where(
            prometheus=prometheus,
            prometheus_link=prometheus,
            alertmanager=alertmanager or "",
            replicas=replicas,
        )
    from tritonobs.plan.build import build_plan  # noqa: PLC0415 (needs pydantic)
    from tritonobs.spec.load import load_fleet  # noqa: PLC0415

    plan = build_plan(load_fleet(fleet), fleet.parent)
    return _Where(
        prometheus=plan.addresses.prometheus_url,
        prometheus_link=plan.addresses.prometheus_link,
        alertmanager=alertmanager or plan.addresses.alertmanager_url,
        grafana=plan.addresses.grafana_url,
        replicas=replicas or tuple(replica.http_url for replica in plan.replicas),
    )


def _spans(until: str, since: float, baseline: str) -> tuple[Span, Span]:
    from tritonobs.live.windows import windows  # noqa: PLC0415 (only this command needs it)

    try:
        return windows(_moment(until), since, baseline)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--baseline") from None


def _taken(where: _Where, spans: tuple[Span, Span], model: str, version: str) -> Snapshot:
    from tritonobs.clients.alertmanager import AlertmanagerClient  # noqa: PLC0415 (brings requests)
    from tritonobs.clients.prometheus import PrometheusClient  # noqa: PLC0415
    from tritonobs.clients.triton import TritonClient  # noqa: PLC0415
    from tritonobs.live.snapshot import Sources, take_snapshot  # noqa: PLC0415

    sources = Sources(
        prometheus=PrometheusClient(where.prometheus, timeout_seconds=15.0),
        alertmanager=AlertmanagerClient(where.alertmanager) if where.alertmanager else None,
        replicas=tuple(TritonClient(url, timeout_seconds=2.0) for url in where.replicas),
    )
    return take_snapshot(sources, incident=spans[0], baseline=spans[1], model=model, version=version)


def _moment(text: str) -> float:
    if text == "now":
        return time.time()
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise click.BadParameter(f"{text!r} is no time; write 2026-05-01T10:00Z", param_hint="--at") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()


def _show(verdict: Verdict, snapshot: Snapshot, where: _Where, form: str) -> None:
    from tritonobs import report  # noqa: PLC0415 (brings rich)

    asked = tuple(report.questions(verdict, snapshot.asked))
    urls = tuple(
        report.links(verdict, snapshot.asked, prometheus_url=where.prometheus_link, grafana_url=where.grafana)
    )
    if form == "json":
        click.echo(report.json_text(verdict, links=dict(urls), questions=dict(asked)))
    elif form == "html":
        from tritonobs.report.html import verdict_page  # noqa: PLC0415 (brings jinja2)

        click.echo(verdict_page(verdict, links=urls, questions=asked))
    elif form == "text":
        click.echo(report.verdict_text(verdict, tables=False))
    else:
        report.print_verdict(verdict)
        for name, url in urls:
            report.print_link(name, url)
