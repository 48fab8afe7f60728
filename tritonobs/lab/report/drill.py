"""Drills on a terminal: the list, the events, the results."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from tritonobs.lab.drill.drill import Drill
from tritonobs.lab.drill.outcome import Moment, Outcome
from tritonobs.report.console import Column, Line, Style, Table, plain
from tritonobs.units import format_duration

_NOTHING_WRONG = "nothing wrong"
_NONE = "-"


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
    """What was promised and what was seen; every promise that was not kept below."""
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
    """What was seen, for programs, with what it comes to."""
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
    """Say on stderr what happens in which second; a spinner turns while something is awaited."""
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
