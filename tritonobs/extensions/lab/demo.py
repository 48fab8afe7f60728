"""The demo: traffic within a limit, then above it, and the time until the alert arrives, told meanwhile."""

from __future__ import annotations

import re
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass

from tritonobs import names
from tritonobs.cli.say import say
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.clients.transport import Transport
from tritonobs.errors import StackError
from tritonobs.extensions.lab.load.run import Background, LoadPlan, run_load
from tritonobs.extensions.lab.load.schedule import LoadResult, Progress, Segment
from tritonobs.extensions.lab.report import load_progress
from tritonobs.extensions.lab.stack.local import Running
from tritonobs.extensions.lab.stack.processes import wait_for
from tritonobs.plan.fleet import ALL_VERSIONS
from tritonobs.registry import answer
from tritonobs.report.console import print_table
from tritonobs.report.tables import stage_table
from tritonobs.timings.stages import read_stages

MODEL = "inspect"
ENSEMBLE = "inspect_ensemble"
"""The same pipeline without our code: only Triton's traces have its percentiles."""
ENSEMBLE_QPS = 1.0
CALM_RATIO, OVERFLOW_RATIO = 0.6, 2.0
CALM_SECONDS = 45.0
OVERFLOW_SECONDS = 150.0
PATIENCE_SECONDS = 90.0
"""How long the demo waits for a message before it gives up; an alert needs about 20 s."""
RESOLVED_PATIENCE_SECONDS = 180.0
_FIRES, _OVER = "🔴", "✅"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What the robot accepted, and when (Unix seconds)."""

    title: str
    text: str
    received_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Something that happened, in seconds since the first overflowing second."""

    what: str
    seconds: float


def overflow(url: str, qps: float, model: str = MODEL) -> Background:
    """Traffic above the limit while the block runs."""
    return Background(
        LoadPlan(segments=(Segment(qps=qps, seconds=OVERFLOW_SECONDS),), urls=(url,), model=model)
    )


class Observer:
    """Reads the running stack through the addresses people use: Prometheus' API and the robot's page."""

    def __init__(self, running: Running) -> None:
        self._prometheus = PrometheusClient(running.address("prometheus"))
        self._robot = Transport(running.address("robot"))
        self.alert = names.ALERT_QPS_ABOVE_LIMIT
        rules = {rule.name: rule.query for rule in self._prometheus.rules()}
        if self.alert not in rules:
            raise StackError(f"Prometheus has loaded no rule {self.alert}")
        self._condition = rules[self.alert]

    def exceeds(self) -> bool:
        """Whether the alert's own condition holds for the demo's model now."""
        found = self._prometheus.query(self._condition)
        return any(reading.labels.get(names.MODEL) == MODEL for reading in found)

    def fires(self) -> bool:
        """Whether the alert fires for the demo's model."""
        return any(
            alert.name == self.alert and alert.state == "firing" and alert.labels.get(names.MODEL) == MODEL
            for alert in self._prometheus.alerts()
        )

    def messages(self) -> tuple[Message, ...]:
        """What the robot accepted about the demo's alert, oldest first."""
        return tuple(one for one in self.all_messages() if self.alert in one.text)

    def all_messages(self) -> tuple[Message, ...]:
        """What the robot accepted, oldest first."""
        return tuple(
            Message(title=each["title"], text=each["text"], received_at=each["received_at"])
            for each in self._robot.get("").required().json()
        )

    def troubles(self) -> tuple[str, ...]:
        """Pages and warnings that fire: a slow machine may have others than the demo's alert."""
        firing = (alert for alert in self._prometheus.alerts() if alert.state == "firing")
        return tuple(
            alert.name for alert in firing if alert.labels.get("severity") in {"critical", "warning"}
        )


def calm(url: str, limit_qps: float, on_progress: Callable[[Progress], None]) -> LoadResult:
    """Traffic within the limit."""
    plan = LoadPlan(
        segments=(Segment(qps=limit_qps * CALM_RATIO, seconds=CALM_SECONDS),), urls=(url,), model=MODEL
    )
    result = run_load(plan, on_progress)
    if result.stopped:
        # Ctrl-C ends the sending only; here it means all of the demo.
        raise KeyboardInterrupt
    return result


def follow_alert(
    observer: Observer, load: Background, on_moment: Callable[[Moment], None], *, before: int = 0
) -> Message:
    """Wait for each step from the overflow to the first accepted message that says the alert fires.

    `on_moment` is called with each as it happens; the first `before` messages are of earlier overflows.

    Raises:
        StackError: a step did not come within `PATIENCE_SECONDS`.
    """
    wait_for(lambda: observer.exceeds() or None, "Prometheus to see the overflow", PATIENCE_SECONDS)
    on_moment(Moment(what="seen by Prometheus", seconds=time.time() - load.began_at))
    wait_for(lambda: observer.fires() or None, "the alert to fire", PATIENCE_SECONDS)
    on_moment(Moment(what="firing", seconds=time.time() - load.began_at))
    first = wait_for(
        lambda: next((one for one in observer.messages()[before:] if _FIRES in one.text), None),
        "the robot to accept a message",
        PATIENCE_SECONDS,
    )
    on_moment(Moment(what="message accepted by the robot", seconds=first.received_at - load.began_at))
    return first


def wait_resolved(observer: Observer) -> Message:
    """The newest message that says that the demo's alert is over, once it is.

    Raises:
        StackError: none came within `RESOLVED_PATIENCE_SECONDS`.
    """
    # Each chat has its own marks around the name.
    fires, over = (re.compile(rf"{icon}\W*{observer.alert}\b") for icon in (_FIRES, _OVER))

    def told() -> Message | None:
        if observer.fires():
            return None
        newest = next(iter(observer.messages()[::-1]), None)
        return newest if newest and over.search(newest.text) and not fires.search(newest.text) else None

    try:
        return wait_for(told, "the resolved message", RESOLVED_PATIENCE_SECONDS)
    except StackError as error:
        firing = ", ".join(observer.troubles()) or "nothing"
        newest = observer.all_messages()[-1:]
        last_said = f"the last message is “{newest[0].title}”" if newest else "there was no message"
        raise StackError(f"{error}; firing: {firing}; {last_said}") from None


_TRACED_SECONDS = 120.0


def run_steps(running: Running) -> None:
    """Traffic within the limit, above it, and stopped, with the reactions of Prometheus, alert and robot."""
    plan = running.plan
    url = plan.replicas[0].http_url
    limit = float(
        next(each.qps for each in plan.limits if (each.model, each.version) == (MODEL, ALL_VERSIONS))
    )
    observer = Observer(running)

    heading(f"2. {MODEL} within its limit of {limit:g} requests/s, for {CALM_SECONDS:.0f} s")
    with load_progress("load") as progress:
        calmly = calm(url, limit, progress)
    say(f"   {calmly.achieved_qps:.1f} requests/s: {calmly.ok} of {calmly.sent} succeeded")
    if observer.fires() or observer.messages():
        raise StackError(f"{observer.alert} fired although {MODEL} was within its limit")
    say("   no alert, no message")

    over = limit * OVERFLOW_RATIO
    heading(f"3. {MODEL} above its limit: {over:g} requests/s")
    with overflow(url, ENSEMBLE_QPS, ENSEMBLE), overflow(url, over) as load:
        message = follow_alert(observer, load, _tell)
        _show(message)
        heading("4. Where the time of a request goes, from Prometheus")
        for table in read_stages(PrometheusClient(running.address("prometheus")), MODEL):
            print_table(stage_table(table))
        _show_slowest(running.address("serve"))
    stopped_at = time.time()

    heading("6. The traffic stops")
    resolved = wait_resolved(observer)
    say(f"   + {resolved.received_at - stopped_at:5.1f} s  resolved message accepted by the robot")
    _show(resolved)
    troubles = observer.troubles()
    if troubles:
        say(f"\n   still firing: {', '.join(troubles)}: the machine was too slow to meet its SLOs")


def _show_slowest(receiver: str) -> None:
    slowest = answer("slowest")
    if slowest is None:
        return
    heading(f"5. The slowest request to {ENSEMBLE}, which has no timers, from Triton's traces")
    began = time.time() - _TRACED_SECONDS
    # Triton sends the end of a traced request up to five seconds late (docs/traces.md).
    table, *_ = wait_for(
        lambda: slowest(receiver, ENSEMBLE, start=began, end=time.time()).tables or None,
        f"a traced request to {ENSEMBLE}",
        PATIENCE_SECONDS,
    )
    print_table(table)


def heading(text: str) -> None:
    """The title of a step."""
    say(f"\n{text}", bold=True)


def _tell(moment: Moment) -> None:
    say(f"   + {moment.seconds:5.1f} s  {moment.what}")


def _show(message: Message) -> None:
    say(f"\n   the message, “{message.title}”:")
    say(textwrap.indent(message.text.strip(), "   │ ", lambda _: True))
