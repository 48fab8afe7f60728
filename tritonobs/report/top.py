"""The live view: rows on a terminal, keys to sort, filter, pause and quit."""

from __future__ import annotations

import math
import os
import select
import sys
import termios
import textwrap
import time
import tty
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from rich.console import Group
from rich.live import Live
from rich.text import Text

from tritonobs import names
from tritonobs.report.console import plain, plain_console
from tritonobs.report.formats import bounded, few, latency, rate, share
from tritonobs.timings.measured import Subject
from tritonobs.timings.top import SORT_KEYS, SortKey, TopRow, TopView, sorted_rows
from tritonobs.units import format_clock

_COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red")
_WIDE, _WIDEST = 110, 150
_NAME_WIDTHS = (14, 17, 30)
_ORDER_SECONDS = 5.0
_NOTABLY_INVALID = 0.005
"""Rows keep their places that long: models that call each other have the same rate, and would swap places."""
_HELP = "q quit · space pause · s sort · / filter · p99 in: without Triton's queue"
_LIMIT_OF_MODEL = ("", "Σ")
"""Before a limit that counts the model's other versions, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """What the person at the keyboard chose."""

    sort: SortKey = "qps"
    chosen: str = ""
    typing: bool = False
    paused: bool = False
    done: bool = False


def press(screen: Screen, key: str) -> Screen:
    """The screen after a key."""
    if screen.typing:
        return _type(screen, key)
    if key in {"q", "Q", "\x03"}:
        return replace(screen, done=True)
    if key == " ":
        return replace(screen, paused=not screen.paused)
    if key == "s":
        return replace(screen, sort=SORT_KEYS[(SORT_KEYS.index(screen.sort) + 1) % len(SORT_KEYS)])
    return replace(screen, typing=True, chosen="") if key == "/" else screen


def _type(screen: Screen, key: str) -> Screen:
    """A letter of the filter; Enter keeps it, Escape drops it."""
    if key in {"\r", "\n", "\x1b"}:
        return replace(screen, typing=False, chosen="" if key == "\x1b" else screen.chosen)
    if key in {"\x7f", "\b"}:
        return replace(screen, chosen=screen.chosen[:-1])
    return replace(screen, chosen=screen.chosen + key) if key.isprintable() else screen


def draw(
    view: TopView,
    screen: Screen,
    width: int,
    height: int | None = None,
    order: Mapping[Subject, int] | None = None,
) -> Text:
    """The whole picture, at most `width` columns wide and, when asked, `height` lines high.

    With an `order`, rows stand where it says instead of where their numbers of this moment put them.
    """
    head = f"{format_clock(view.at)}  {view.source}, last {view.seconds:.0f} s, by {screen.sort}"
    head += "  PAUSED" if screen.paused else ""
    lines = [Text(head[:width], style="bold")]
    titles = ("model", "ver", "qps", "limit", "err", "mean", "p99 in", "queue", "wait", "batch")
    lines.append(Text((_columns(titles, width) + "  stages")[:width], style="dim"))
    rows = sorted_rows(view.rows, screen.sort, screen.chosen)
    if order is not None:
        rows = tuple(sorted(rows, key=lambda row: order.get((row.model, row.version), len(order))))
    # Reasons are whole, except where rows need their room.
    most = None if height is None else 1
    said = [(f"unavailable data: {unseen.why}", "red") for unseen in view.unseen]
    said += [] if rows else [(_no_rows(view, screen.chosen), "yellow")]
    below = [
        Text(line, style=style) for text, style in said for line in textwrap.wrap(plain(text), width)[:most]
    ]
    room = len(rows) if height is None else max(0, height - len(lines) - len(below))
    if len(rows) > room:
        below.append(Text(f"{len(rows) - room + 1} more rows do not fit here"[:width], style="dim"))
        room -= 1
    lines += [*(_row(row, width) for row in rows[: max(0, room)]), *below]
    return Text("\n").join(lines)


def _no_rows(view: TopView, chosen: str) -> str:
    """Why no row is there; nothing where a reason stands below already."""
    if view.rows:
        return f"no model's name contains {chosen!r}"
    none = "" if view.unseen else names.TRITON_SUCCESS
    return none and f"no model is loaded, or this is not Triton: {view.source} without {none}"


def print_top(view: TopView, *, sort: SortKey = "qps", chosen: str = "") -> None:
    """The picture once, for a pipe or a script."""
    console = plain_console(sys.stdout)
    console.print(draw(view, Screen(sort=sort, chosen=chosen), console.width), soft_wrap=True)


def run_top(look: Callable[[], TopView], *, sort: SortKey, chosen: str, interval_seconds: float) -> None:
    """Read and draw until q or Ctrl-C is pressed."""
    screen, console = Screen(sort=sort, chosen=chosen), plain_console(sys.stdout)
    view = look()
    order, ordered_by, ordered_until = dict[Subject, int](), "", 0.0
    with _keys() as pressed, Live(console=console, screen=True, auto_refresh=False) as live:
        due = time.monotonic()
        while not screen.done:
            if time.monotonic() >= due:
                # Also while paused: `pressed` waits until then, and would not wait for a moment that is past.
                due = time.monotonic() + interval_seconds
                view = view if screen.paused else look()
            if screen.sort != ordered_by or (time.monotonic() > ordered_until and not screen.paused):
                rows = sorted_rows(view.rows, screen.sort)
                order = {(row.model, row.version): place for place, row in enumerate(rows)}
                ordered_by, ordered_until = screen.sort, time.monotonic() + _ORDER_SECONDS
            foot = f"filter: {screen.chosen}_" if screen.typing else _HELP
            # First, so that a narrow terminal does not cut it off.
            foot = f"only {screen.chosen!r} · {foot}" if screen.chosen and not screen.typing else foot
            picture = draw(view, screen, console.width, console.height - 1, order)
            live.update(Group(picture, Text(plain(foot)[: console.width], style="reverse")), refresh=True)
            for key in pressed(max(0.0, due - time.monotonic())):
                screen = press(screen, key)


def stage_bar(stages: tuple[tuple[str, float], ...], width: int) -> Text:
    """Stages as lengths, a stroke between them: of each name as many letters as its share has room for."""
    whole, bar = sum(seconds for _, seconds in stages), Text()
    for number, (stage, seconds) in enumerate(stages):
        # Prometheus may also answer NaN.
        length = round(width * seconds / whole) if whole and math.isfinite(seconds / whole) else 0
        stroke = "|" if number and length > 1 else ""
        name = plain(stage)[: length - len(stroke)]
        bar.append(stroke, style="dim")
        bar.append(name.ljust(length - len(stroke), "="), style=_COLOURS[number % len(_COLOURS)])
    # Lengths that are rounded one by one may add up to more than the width.
    bar.truncate(width)
    return bar


def _row(row: TopRow, width: int) -> Text:
    over = row.limit is not None and row.limited_qps > row.limit
    numbers = (
        plain(row.model),
        plain(row.version),
        rate(row.qps),
        "-" if row.limit is None else _LIMIT_OF_MODEL[row.limited_qps > row.qps] + rate(row.limit),
        share(row.error_ratio),
        _short(row.mean),
        _p99(row).replace(" ", ""),
        _short(row.queue),
        f"{row.pending:.0f}",
        "-" if row.batch is None else f"{row.batch:.1f}",
    )
    line = Text(_columns(numbers, width), style="red" if over or row.silent_workers else "")
    line.append("  ")
    if row.silent_workers:
        line.append(f"{row.silent_workers} DEAD ", style="bold red")
    if (row.invalid_ratio or 0.0) >= _NOTABLY_INVALID:
        line.append(f"{share(row.invalid_ratio)} invalid ", style="yellow")
    line.append_text(stage_bar(row.stages, max(0, width - len(line.plain))))
    line.truncate(width)
    return line


def _p99(row: TopRow) -> str:
    bounds = row.bounds or (None, None)
    return few(row.known, *bounds) if row.p99 is None else bounded(row.p99, *bounds)


def _short(seconds: float | None) -> str:
    """A latency in at most seven letters: `63µs`, `85ms`, `1.2s`."""
    return latency(seconds).replace(" ", "")


def _columns(cells: tuple[str, ...], width: int) -> str:
    """Cells under their titles; a narrow terminal has no room for the last two, the stages are worth more."""
    named = _NAME_WIDTHS[(width >= _WIDE) + (width >= _WIDEST)]
    rest = (4, 5, 5, 6, 7, 7, 7, 4, 5) if width >= _WIDE else (3, 5, 5, 5, 7, 7, 7)
    name = cells[0] if len(cells[0]) <= named else cells[0][: named - 1] + "~"
    numbers = (cell[:size].rjust(size) for cell, size in zip(cells[1:], rest, strict=False))
    return " ".join((name.ljust(named), *numbers))


@contextmanager
def _keys() -> Iterator[Callable[[float], str]]:
    """Keys as they are pressed, without Enter and without an echo; the terminal is put back afterwards."""
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)

    def pressed(timeout_seconds: float) -> str:
        ready, _, _ = select.select([descriptor], [], [], timeout_seconds)
        # sys.stdin has a buffer, which would keep keys that `select` does not see.
        return os.read(descriptor, 64).decode(errors="ignore") if ready else ""

    try:
        tty.setcbreak(descriptor)
        yield pressed
    finally:
        # After an error, too: a shell without an echo looks dead.
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
