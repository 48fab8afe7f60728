"""The practice stack on a terminal: its start and its state, runs of load, drills."""

from __future__ import annotations

import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn
from rich.progress import Progress as Bar
from rich.text import Text

from tritonobs.report.console import Column, Line, Style, Table, plain, plain_console
from tritonobs.report.formats import latency, rate
from tritonobs.units import format_duration

if TYPE_CHECKING:  # they bring aiohttp, NumPy and OpenCV, and `status` needs none of them
    from tritonobs.extensions.lab.drill.drill import Drill, Moment, Outcome
    from tritonobs.extensions.lab.load.schedule import LoadResult, Percentiles, Progress
    from tritonobs.extensions.lab.stack.local import Health

_STYLES: dict[str, Style] = {"ready": "green", "starting": "yellow", "dead": "red"}

_LATE_SECONDS = 0.01
_QUIET_SECONDS = 10.0

_NOTHING_WRONG = "nothing wrong"
_NONE = "-"


@contextmanager
def startup_progress() -> Iterator[Callable[[str], None]]:
    """Print on stderr when each part became ready; a spinner turns during waits."""
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    began = time.monotonic()
    with console.status(Text("starting the stack; Triton loads its models, which takes some seconds")):
        yield lambda name: console.print(f"  {name} ready after {time.monotonic() - began:.1f} s")


def stack_table(rows: Iterable[Health]) -> Table:
    """Every part with its state, age and address; the log of each that is not ready."""
    rows = tuple(rows)
    return Table(
        title="the stack",
        columns=(
            Column(title="part"),
            Column(title="state"),
            Column(title="since", right=True),
            Column(title="address", wrap=True),
        ),
        lines=tuple(
            Line(
                cells=(row.part.name, row.state, format_duration(int(row.age_seconds)), row.part.url),
                style=_STYLES[row.state],
            )
            for row in rows
        ),
        notes=tuple(
            f"{row.part.name} is {row.state}: read {row.part.log}" for row in rows if row.state != "ready"
        ),
    )


def load_tables(result: LoadResult) -> tuple[Table, ...]:
    """Requests sent and their results; how long they took; errors."""
    tables = [_counts(result), _latencies(result)]
    if result.errors:
        tables.append(_errors(result))
    return tuple(tables)


@contextmanager
def progress_bar(what: str, *, file: TextIO | None = None) -> Iterator[Callable[[float, str], None]]:
    """A bar on stderr while the block runs; call what it gives with a share of 1 and a few words."""
    console = plain_console(file or sys.stderr)
    if not console.is_terminal:
        yield _spoken(what, console)
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn())
    with Bar(
        *columns, TextColumn("{task.fields[words]}", markup=False), console=console, transient=True
    ) as bar:
        task = bar.add_task(plain(what), total=1.0, words="")
        yield lambda share, words: bar.update(task, completed=share, words=plain(words))


def _spoken(what: str, console: Console) -> Callable[[float, str], None]:
    spoke = time.monotonic()

    def speak(share: float, words: str) -> None:
        nonlocal spoke
        if time.monotonic() - spoke >= _QUIET_SECONDS:
            spoke = time.monotonic()
            console.print(Text(plain(f"{what} {share:.0%} {words}")))

    return speak


@contextmanager
def load_progress(what: str = "load") -> Iterator[Callable[[Progress], None]]:
    """A bar on stderr; what it gives is an `on_progress` for `run_load`."""
    with progress_bar(what) as show:
        yield lambda now: show(
            min(1.0, now.elapsed_seconds / now.total_seconds),
            f"sent {now.sent}, ok {now.ok}, errors {now.errors}, in flight {now.in_flight}",
        )


def _counts(result: LoadResult) -> Table:
    subject = f"{result.model} version {result.version}" if result.version else result.model
    ended = ", stopped early" if result.stopped else ""
    whole = Line(
        cells=("all", str(result.sent), str(result.ok), str(result.failed)),
        style="red" if result.failed else "bold",
    )
    kinds = [
        Line(cells=(image.kind, str(image.sent), str(image.ok), str(image.errors))) for image in result.images
    ]
    return Table(
        title=f"{subject}: {rate(result.achieved_qps)} requests/s for {result.seconds:.1f} s{ended}",
        columns=(
            Column(title="kind", wrap=True),
            Column(title="sent", right=True),
            Column(title="ok", right=True),
            Column(title="errors", right=True),
        ),
        lines=(*(kinds if len(kinds) > 1 else ()), whole),
    )


def _latencies(result: LoadResult) -> Table:
    def line(name: str, values: Percentiles | None) -> Line:
        numbers = (
            (values.mean, values.p50, values.p90, values.p95, values.p99, values.max)
            if values
            else (None,) * 6
        )
        return Line(cells=(name, *map(latency, numbers)))

    late = result.lateness
    notes = () if late is None or late.p99 <= _LATE_SECONDS else (_lateness(late),)
    titles = ("mean", "p50", "p90", "p95", "p99", "max")
    return Table(
        title="latency of successful responses",
        columns=(Column(title="counted from"), *(Column(title=title, right=True) for title in titles)),
        lines=(
            line("scheduled send time", result.latency_from_schedule),
            line("actual send time", result.latency_from_send),
        ),
        notes=notes,
    )


def _lateness(late: Percentiles) -> str:
    return (
        f"This machine sent some requests up to {latency(late.max)} late (p99 {latency(late.p99)}): "
        "use the latency measured from the scheduled send time."
    )


def _errors(result: LoadResult) -> Table:
    return Table(
        title="errors",
        columns=(
            Column(title="count", right=True),
            Column(title="kind (N and … are placeholders)", wrap=True),
        ),
        lines=tuple(Line(cells=(str(error.count), error.kind)) for error in result.errors),
        notes=(f"for example: {result.errors[0].example}",),
    )


def drill_table(drills: Iterable[Drill], speed: float) -> Table:
    """Every drill: what breaks, what is promised, and about how long it takes."""
    return Table(
        title="drills",
        columns=(
            Column(title="name, and what breaks", wrap=True),
            Column(title="alerts"),
            Column(title="triage says"),
            Column(title="takes", right=True),
        ),
        lines=tuple(line for drill in drills for line in _promises(drill, speed)),
        notes=(f"Times are for rules that run {speed:g} times as fast as the fleet's: up --drill-speed.",),
    )


def outcome_table(outcomes: Sequence[Outcome]) -> Table:
    """Promises and results; every promise that was not kept is listed below."""
    return Table(
        title="rehearsed",
        columns=(
            Column(title="drill"),
            Column(title="seen after", right=True),
            Column(title="resolved after", right=True),
            Column(title="as promised"),
        ),
        lines=tuple(line for outcome in outcomes for line in _lines(outcome)),
        notes=tuple(f"{outcome.drill}: {broken}" for outcome in outcomes for broken in outcome.broken),
    )


def _promises(drill: Drill, speed: float) -> Iterator[Line]:
    first, *more = [alert.name for alert in drill.alerts] or [_NONE]
    takes = format_duration(round(drill.seconds(speed)))
    yield Line(cells=(drill.name, first, drill.check or _NOTHING_WRONG, takes), style="bold")
    yield Line(cells=(drill.breaks, ", ".join(more), "", ""))


def outcome_values(outcome: Outcome) -> dict[str, object]:
    """The results, for programs, with the outcome."""
    return {**asdict(outcome), "kept": outcome.kept, "broken": outcome.broken}


def _lines(outcome: Outcome) -> Iterator[Line]:
    kept = outcome.kept
    style: Style = "" if kept else "red"
    yield Line(cells=(outcome.drill, "", "", "yes" if kept else "no"), style="bold" if kept else style)
    for alert in outcome.alerts:
        fired, resolved = seconds(alert.fired_after), seconds(alert.resolved_after)
        yield Line(cells=(f"  {alert.name}", fired, resolved, ""), style=style)
    cause = outcome.cause or _NOTHING_WRONG
    yield Line(cells=(f"  triage: {cause}", seconds(outcome.named_after), "", ""), style=style)


def seconds(value: float | None) -> str:
    """Whole seconds, or a hyphen."""
    return _NONE if value is None else f"{value:.0f} s"


@contextmanager
def drill_timeline() -> Iterator[Callable[[str, Moment], None]]:
    """Print on stderr what happens in which second; a spinner turns during waits."""
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)

    def tell(name: str, moment: Moment) -> None:
        start = f"{name:<16} + {moment.seconds:5.1f} s  "
        lines = textwrap.wrap(
            plain(moment.what),
            console.width,
            initial_indent=start,
            subsequent_indent=" " * len(start),
            break_on_hyphens=False,
        )
        for line in lines:
            console.print(Text(line), soft_wrap=True)

    with console.status(Text("rehearsing, each drill after a calm minute; Ctrl-C cleans up")):
        yield tell
