"""The steps of `demo`, printed while they happen."""

from __future__ import annotations

import textwrap
import time
from typing import TYPE_CHECKING

from tritonobs.cli.say import say
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.errors import StackError
from tritonobs.extensions.lab import demo as scenario
from tritonobs.extensions.lab.report import load_progress
from tritonobs.extensions.lab.stack.ports import wait_for
from tritonobs.plan.fleet import ALL_VERSIONS
from tritonobs.registry import answer
from tritonobs.report.console import print_table
from tritonobs.report.tables import stage_table
from tritonobs.timings.stages import read_stages

if TYPE_CHECKING:
    from tritonobs.extensions.lab.stack.local import Running

_TRACED_SECONDS = 120.0


def run_steps(running: Running) -> None:
    """Traffic within the limit, above it, and stopped, with the reactions of Prometheus, alert and robot."""
    plan = running.plan
    url = plan.replicas[0].http_url
    limit = float(
        next(each.qps for each in plan.limits if (each.model, each.version) == (scenario.MODEL, ALL_VERSIONS))
    )
    observer = scenario.Observer(running)

    heading(
        f"2. {scenario.MODEL} within its limit of {limit:g} requests/s, for {scenario.CALM_SECONDS:.0f} s"
    )
    with load_progress("load") as progress:
        calm = scenario.calm(url, limit, progress)
    say(f"   {calm.achieved_qps:.1f} requests/s: {calm.ok} of {calm.sent} answered well")
    if observer.fires() or observer.messages():
        raise StackError(f"{observer.alert} fired although {scenario.MODEL} was within its limit")
    say("   no alert, no message")

    over = limit * scenario.OVERFLOW_RATIO
    heading(f"3. {scenario.MODEL} above its limit: {over:g} requests/s")
    beside = scenario.Overflow(url, scenario.ENSEMBLE_QPS, scenario.ENSEMBLE)
    with beside, scenario.Overflow(url, over) as overflow:
        message = scenario.follow_alert(observer, overflow, _moment)
        _show(message)
        heading("4. Where the time of a request goes, from Prometheus")
        for table in read_stages(PrometheusClient(running.address("prometheus")), scenario.MODEL):
            print_table(stage_table(table))
        _show_slowest(running.address("serve"))
        # Counted while requests still come, so that the end of the alert is surely among the later ones.
        before = len(observer.messages())
    stopped_at = time.time()

    heading("6. The traffic stops")
    resolved = scenario.wait_resolved(observer, before)
    say(f"   + {resolved.received_at - stopped_at:5.1f} s  resolved message accepted by the robot")
    _show(resolved)


def _show_slowest(receiver: str) -> None:
    slowest = answer("slowest")
    if slowest is None:
        return
    heading(f"5. The slowest request to {scenario.ENSEMBLE}, which has no timers, from Triton's traces")
    began = time.time() - _TRACED_SECONDS
    # Triton sends the end of a traced request up to five seconds late (docs/traces.md).
    table, *_ = wait_for(
        lambda: slowest(receiver, scenario.ENSEMBLE, start=began, end=time.time()).tables or None,
        f"a traced request to {scenario.ENSEMBLE}",
        scenario.PATIENCE_SECONDS,
    )
    print_table(table)


def heading(text: str) -> None:
    """The title of a step."""
    say(f"\n{text}", bold=True)


def _moment(moment: scenario.Moment) -> None:
    say(f"   + {moment.seconds:5.1f} s  {moment.what}")


def _show(message: scenario.Message) -> None:
    say(f"\n   the message, “{message.title}”:")
    say(textwrap.indent(message.text.strip(), "   │ ", lambda _: True))
