"""`demo`: the story of a QPS limit, told on a real stack."""

from __future__ import annotations

import signal
import sys
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tritonobs import demo as story
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.errors import StackError
from tritonobs.live.stages import read_stages
from tritonobs.plan.fleet import ALL_VERSIONS
from tritonobs.report.console import print_table
from tritonobs.report.load import load_progress
from tritonobs.report.stack import startup_progress
from tritonobs.report.stages import stage_table
from tritonobs.stack import local
from tritonobs.stack.services import Folders

if TYPE_CHECKING:
    from tritonobs.stack.local import Running


@click.command(epilog="Example: tritonobs demo --keep")
@click.option(
    "--state",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(".tritonobs"),
    show_default=True,
    help="Folder for configuration, data and logs of the stack.",
)
@click.option("--keep", is_flag=True, help="Leave the stack running and print its addresses.")
def demo(*, state: Path, keep: bool) -> None:
    """Overflow a QPS limit on a real stack and watch the alert arrive.

    Starts Triton with the inspection models, Prometheus, Alertmanager and `tritonobs serve` on free loopback
    ports, with a stand-in for DingTalk; takes about four minutes.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    _heading("1. Start Triton, Prometheus, Alertmanager and tritonobs serve")
    with startup_progress() as on_ready:
        running = local.start(None, Folders(root=state.absolute()), on_ready, move_ports=True)
    for part in running.parts:
        click.echo(f"   {part.name:<13} {part.url}")
    try:
        _tell(running)
    except BaseException:
        local.stop(running)
        raise
    if keep:
        click.echo("\nThe stack is still running; stop it with: make down  (or: tritonobs down)")
        for part in running.parts:
            click.echo(f"   {part.name:<13} {part.url}")
        return
    local.stop(running)
    click.echo("\nThe stack is stopped.")


def _tell(running: Running) -> None:
    plan = running.plan
    url = plan.replicas[0].http_url
    limit = float(
        next(each.qps for each in plan.limits if (each.model, each.version) == (story.MODEL, ALL_VERSIONS))
    )
    observer = story.Observer(running)

    _heading(f"2. {story.MODEL} within its limit of {limit:g} requests/s, for {story.CALM_SECONDS:.0f} s")
    with load_progress("load") as progress:
        calm = story.calm(url, limit, progress)
    click.echo(f"   {calm.achieved_qps:.1f} requests/s: {calm.ok} of {calm.sent} answered well")
    if observer.fires() or observer.messages():
        raise StackError(f"{observer.alert} fired although {story.MODEL} was within its limit")
    click.echo("   no alert, no message")

    over = limit * story.OVERFLOW_RATIO
    _heading(f"3. {story.MODEL} above its limit: {over:g} requests/s")
    with story.Overflow(url, over) as overflow:
        message = story.follow_alert(observer, overflow, _moment)
        _show(message)
        _heading("4. Where the time of a request goes, from Prometheus")
        for table in read_stages(PrometheusClient(running.address("prometheus")), story.MODEL):
            print_table(stage_table(table))
        before = len(observer.messages())
    stopped_at = time.time()

    _heading("5. The traffic stops")
    resolved = story.wait_resolved(observer, before)
    click.echo(f"   + {resolved.received_at - stopped_at:5.1f} s  resolved message accepted by the robot")
    _show(resolved)


def _heading(text: str) -> None:
    click.secho(f"\n{text}", bold=True)


def _moment(moment: story.Moment) -> None:
    click.echo(f"   + {moment.seconds:5.1f} s  {moment.what}")


def _show(message: story.Message) -> None:
    click.echo(f"\n   the message, “{message.title}”:")
    click.echo(textwrap.indent(message.text.strip(), "   │ ", lambda _: True))
