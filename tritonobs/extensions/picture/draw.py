"""One panel of any type into one box: bars, bands, a large value, buckets over time, a table.

Lines over time have a file of their own.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final

from tritonobs.extensions.picture import canvas
from tritonobs.extensions.picture.answers import Answer, Line, Moment, Times
from tritonobs.extensions.picture.board import Look
from tritonobs.extensions.picture.canvas import Box, shortened, show_times, text_of, width_of, write
from tritonobs.extensions.picture.graph import draw_graph
from tritonobs.timings.episodes import runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_panel(box: Box, answer: Answer, times: Times, moments: Sequence[Moment]) -> None:
    """Draw the answers of the queries; missing values are left empty, never drawn as zero."""
    if answer.trouble or not answer.lines:
        _nothing(box, answer)
        return
    match answer.panel.kind:
        case "timeseries":
            draw_graph(box, answer, times, moments)
        case "stat":
            draw_stat(box, answer)
        case "bargauge":
            draw_bars(box, answer)
        case "heatmap":
            draw_heat(box, answer, times)
        case "state-timeline":
            draw_bands(box, answer, times)
        case "table":
            draw_grid(box, answer)


def _nothing(box: Box, answer: Answer) -> None:
    text = "could not be read" if answer.trouble else answer.panel.empty
    _centred(box.blank(), box, 0.5, text, canvas.FAINT, size=canvas.SIZE + 2, weight="normal")


def _centred(
    axes: Axes, box: Box, share: float, text: str, colour: str, *, size: float, weight: str = "bold"
) -> None:
    """Write a text into the middle of the width, at a share of the height."""
    across, down = box.width / 2, box.height * share
    write(axes, across, down, text, colour, size=size, va="center", weight=weight, ha="center")


_TALLEST_BAR: Final = 34.0
_LOWEST_BAR: Final = 13.0
_NAMES_BESIDE_BARS: Final = 0.38
_VALUE_WIDTH: Final = 74.0


def draw_bars(box: Box, answer: Answer) -> None:
    """A panel of the type bargauge: name, bar, value, a line each."""
    lines: Sequence[Line] = answer.lines
    axes = box.blank()
    room_for = int(box.height // _LOWEST_BAR)
    hidden = len(lines) - room_for + 1 if len(lines) > room_for else 0
    lines = lines[: len(lines) - hidden]
    height = min(box.height / (len(lines) + bool(hidden)), _TALLEST_BAR)
    if hidden:
        write(axes, box.width - 2, box.height - height / 2, f"+ {hidden} more", canvas.FAINT, ha="right")
    names = min(max(width_of(line.name) for line in lines) + 10, box.width * _NAMES_BESIDE_BARS)
    room = box.width - names - _VALUE_WIDTH
    base = answer.panel.base
    low = base.minimum if base.minimum is not None else min(0.0, *(line.last for line in lines))
    high = base.maximum if base.maximum is not None else max(line.last for line in lines)
    for row, line in enumerate(lines):
        look = answer.panel.look(line.name)
        colour = look.colour_at(line.last) or canvas.TEXT
        top, thick = row * height + height * 0.15, height * 0.7
        share = min(max((line.last - low) / (high - low), 0.0), 1.0) if high > low else 0.0
        axes.broken_barh([(names, room)], (top, thick), facecolor=canvas.EMPTY)
        # A bar at its minimum stays visible: nothing drawn would mean no value.
        axes.broken_barh([(names, max(room * share, 1.5))], (top, thick), facecolor=colour, alpha=0.85)
        middle = top + thick / 2
        write(axes, names - 6, middle, shortened(line.name, names - 8), ha="right")
        write(
            axes,
            box.width - 2,
            middle,
            text_of(line.last, look.unit, look.decimals),
            colour,
            size=canvas.SIZE + 0.5,
            weight="bold",
            ha="right",
        )


_TALLEST_BAND: Final = 26.0
# Text is 11 dots high (`canvas.SIZE`); names of lower bands would touch.
_LOWEST_BAND: Final = 13.0
_NAMES_BESIDE_BANDS: Final = 0.3
_DARK: Final = "#101216"


def draw_bands(box: Box, answer: Answer, times: Times) -> None:
    """A panel of the type state-timeline; the newest states stand on top."""
    room = box.height - 22
    every = sorted(answer.lines, key=lambda line: (-line.last, line.name))
    lines = every[: int(room // _LOWEST_BAND)]
    names = min(max(width_of(line.name) for line in lines) + 12, box.width * _NAMES_BESIDE_BANDS)
    height = min(room / len(lines), _TALLEST_BAND)
    body = box.inner(left=names, bottom=max(box.height - height * len(lines), 22))
    axes = body.axes()
    axes.set_ylim(len(lines), 0)
    if len(every) > len(lines):
        write(
            box.blank(),
            names - 26,
            box.height - 8,
            f"+ {len(every) - len(lines)} more",
            canvas.FAINT,
            ha="right",
        )
    show_times(axes, times.start, times.end, body.width)
    labels = [shortened(line.name, names - 4) for line in lines]
    axes.set_yticks([row + 0.5 for row in range(len(lines))], labels, color=canvas.TEXT)
    for row, line in enumerate(lines):
        look = answer.panel.look(line.name)
        for start, end, value in _runs(line, answer.step_seconds, times):
            word, colour = look.words.get(f"{value:g}", ("", canvas.FAINT))
            axes.broken_barh([(start, end - start)], (row + 0.1, 0.8), facecolor=colour, alpha=0.9)
            dots = (end - start) / times.seconds * body.width
            if word and dots > width_of(word) + 8:
                write(
                    axes,
                    start + times.seconds * 4 / body.width,
                    row + 0.5,
                    word,
                    _DARK,
                    size=canvas.SIZE - 0.5,
                    clip=True,
                )


def _runs(line: Line, step: float, times: Times) -> list[tuple[float, float, float]]:
    """From when to when the series had one value."""
    found: list[tuple[float, float, float]] = []
    # A band ends where a sample is missing, because the state is not known there.
    for run in runs(line.points, step):
        for value, same in groupby(run, key=lambda point: point[1]):
            moments = [time for time, _ in same]
            # They are rounded down to steps, so the first may lie before the picture.
            found.append((max(moments[0], times.start), min(moments[-1] + step, times.end), value))
    return [run for run in found if run[1] > run[0]]


_SCALE_WIDTH: Final = 90
_RAMP: Final = ("#2a2118", "#6b3f14", "#b5651d", "#e69f00", "#ffe9a8")
_LABELS: Final = 9
_LEAST_FOR_LINES: Final = 6


def draw_heat(box: Box, answer: Answer, times: Times) -> None:
    """A panel of the type heatmap, from cumulative buckets."""
    from matplotlib.colors import LinearSegmentedColormap, PowerNorm  # noqa: PLC0415 (half a second)

    bounds, cells = _cells(answer)
    step = answer.step_seconds
    columns = columns_of(sorted({time for time, _ in cells}), step)
    rows = _used(bounds, cells)
    # Empty cells are holes: the lowest colour would look like a few requests.
    grid = [[cells.get((time, bound), math.nan) or math.nan for _, time in columns] for bound in rows]
    most = max((value for line in grid for value in line if not math.isnan(value)), default=1.0)
    axes = box.inner(left=58, top=8, right=_SCALE_WIDTH, bottom=22).axes()
    edges = [*(start for start, _ in columns), columns[-1][1]]
    ramp = LinearSegmentedColormap.from_list("heat", _RAMP)
    mesh = axes.pcolormesh(
        edges,
        range(len(rows) + 1),
        grid,
        cmap=ramp,
        norm=PowerNorm(0.5, vmin=0, vmax=most),
        edgecolors=canvas.PANEL,
        # Lines between rows of a few pixels would cover the rows.
        linewidth=1 if axes.bbox.height / len(rows) >= _LEAST_FOR_LINES else 0,
    )
    every = max(1, math.ceil(len(rows) / _LABELS))
    axes.set_yticks(
        [place + 1 for place in range(len(rows)) if place % every == 0],
        ["∞" if math.isinf(bound) else text_of(bound, "s") for bound in rows[::every]],
    )
    show_times(axes, times.start, times.end, axes.bbox.width)
    axes.grid(visible=False)
    scale = box.inner(left=box.width - _SCALE_WIDTH + 14, top=12, right=_SCALE_WIDTH - 24, bottom=26).axes()
    bar = axes.figure.colorbar(mesh, cax=scale)
    bar.outline.set_visible(False)
    marks = [most * share for share in (0.0, 0.25, 0.5, 1.0)]
    bar.set_ticks(marks, labels=[text_of(mark, answer.panel.counted, like=most) for mark in marks])
    scale.tick_params(colors=canvas.FAINT, labelsize=canvas.SIZE - 0.5, length=0)


def columns_of(moments: Sequence[float], step_seconds: float) -> list[tuple[float, float]]:
    """Where each column starts, and its moment; the moment of a gap is NaN."""
    columns: list[tuple[float, float]] = []
    for previous, time in zip([math.inf, *moments], moments):  # noqa: B905 (one is longer)
        # A rate is about the time before its moment.
        start = time - step_seconds
        if start > previous:
            columns.append((previous, math.nan))
        columns.append((start, time))
    return columns


def _cells(answer: Answer) -> tuple[list[float], dict[tuple[float, float], float]]:
    """The bounds from low to high, and what is between each and the one below it at every moment."""
    columns: dict[float, dict[float, float]] = defaultdict(dict)
    for line in answer.lines:
        bound = float(line.labels["le"])
        for time, value in line.points:
            columns[time][bound] = value
    bounds = sorted({bound for column in columns.values() for bound in column})
    cells = {}
    for time, column in columns.items():
        below = 0.0
        for bound in bounds:
            value = column.get(bound, below)
            cells[time, bound] = max(value - below, 0.0)
            below = max(value, below)
    return bounds, cells


def _used(bounds: list[float], cells: dict[tuple[float, float], float]) -> list[float]:
    """The bounds from the lowest to the highest that ever held something, with one empty on either side."""
    held = {bound for (_, bound), value in cells.items() if value > 0}
    full = [place for place, bound in enumerate(bounds) if bound in held]
    if not full:
        return bounds
    return bounds[max(full[0] - 1, 0) : full[-1] + 2]


_MOST: Final = 6


def draw_stat(box: Box, answer: Answer) -> None:
    """A panel of the type stat; several series stand side by side."""
    lines = answer.lines[:_MOST]
    width = box.width / len(lines)
    for place, line in enumerate(lines):
        look = answer.panel.look(line.name)
        left = place * width
        cell = box.inner(left=left + 2, right=box.width - left - width + 2)
        named = len(lines) > 1
        (_word if look.words else _number)(cell, line, look, named=named)


def _number(box: Box, line: Line, look: Look, *, named: bool) -> None:
    # A single threshold says neither good nor bad.
    colour = (len(look.steps) > 1 and look.colour_at(line.last)) or canvas.TEXT
    axes = box.blank()
    if len(line.points) > 1:
        _spark(box, line, colour)
    text = text_of(line.last, look.unit, look.decimals)
    size = min(box.height * 0.34, box.width / max(len(text), 3) * 1.15, 26)
    _centred(axes, box, 0.42, text, colour, size=size)
    if named:
        _name(axes, box, line.name)


def _word(box: Box, line: Line, look: Look, *, named: bool) -> None:
    # Grafana's mappings have texts as keys: 1 and not 1.0.
    word, colour = look.words.get(f"{line.last:g}", (text_of(line.last, look.unit), canvas.FAINT))
    axes = box.blank()
    axes.axhspan(0, box.height, color=colour, alpha=0.9, linewidth=0)
    size = min(box.height * 0.3, box.width / max(len(word), 3) * 1.1, 20)
    _centred(axes, box, 0.4 if named else 0.5, word, _DARK, size=size)
    if named:
        _name(axes, box, line.name, _DARK)


def _name(axes: Axes, box: Box, name: str, colour: str = canvas.FAINT) -> None:
    write(axes, box.width / 2, box.height - 9, shortened(name, box.width - 6), colour, ha="center")


def _spark(box: Box, line: Line, colour: str) -> None:
    below = box.inner(top=box.height * 0.68).axes()
    below.set(xticks=[], yticks=[])
    times = [time for time, _ in line.points]
    values = [value for _, value in line.points]
    low, high = min(*values, 0.0), max(values)
    below.set_ylim(low, high * 1.1 if high > low else low + 1)
    below.set_xlim(times[0], times[-1])
    below.plot(times, values, color=colour, linewidth=1)
    below.fill_between(times, values, low, color=colour, alpha=0.2, linewidth=0)


_ROW: Final = 24.0
_HEAD: Final = 24.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A text, its colour, and whether it is a number."""

    text: str
    colour: str = canvas.TEXT
    number: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Headlines and rows, in the order of the first column."""

    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def grid_of(answer: Answer) -> Grid:
    """The table of a panel of the type table."""
    # As the query names them: `max by (model, version) (…)`.
    query = answer.queries[0]
    found = {name for line in answer.lines for name in line.labels}
    labels = sorted(found, key=lambda name: (query.find(name), name))
    columns = [(ref.removeprefix("Value #"), title) for ref, title in answer.panel.columns.items()]
    values: dict[tuple[str, ...], dict[str, float]] = {}
    for line in answer.lines:
        values.setdefault(tuple(line.labels.get(name, "") for name in labels), {})[line.ref] = line.last
    first = columns[0][0]
    sign = -1 if answer.panel.descending else 1
    ordered = sorted(values.items(), key=lambda item: (sign * item[1].get(first, sign * math.inf), item[0]))
    return Grid(
        heads=(*labels, *(title for _, title in columns)),
        rows=tuple(
            (
                *(Cell(text=name) for name in names),
                *(_cell(found.get(ref), answer.panel.look(title)) for ref, title in columns),
            )
            for names, found in ordered
        ),
    )


def draw_grid(box: Box, answer: Answer) -> None:
    """A panel of the type table."""
    grid = grid_of(answer)
    axes = box.blank()
    lengths = [
        max(len(head), *(len(row[place].text) for row in grid.rows)) + 2
        for place, head in enumerate(grid.heads)
    ]
    widths = [box.width * length / sum(lengths) for length in lengths]
    room = int((box.height - _HEAD) // _ROW)
    hidden = len(grid.rows) - room
    for row, cells in enumerate(
        (tuple(Cell(text=head, colour=canvas.FAINT) for head in grid.heads), *grid.rows[:room])
    ):
        left, middle = 0.0, _HEAD / 2 if row == 0 else _HEAD + (row - 0.5) * _ROW
        axes.axhline(middle + _ROW / 2, color=canvas.EDGE, linewidth=0.6)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True)):
            number = grid.rows[0][place].number
            write(
                axes,
                left + (width - 8 if number else 4),
                middle,
                shortened(cell.text, width - 6),
                cell.colour,
                ha="right" if number else "left",
            )
            left += width
    if hidden > 0:
        write(axes, box.width, box.height - 4, f"+ {hidden} more", canvas.FAINT, va="baseline", ha="right")


def _cell(value: float | None, look: Look) -> Cell:
    if value is None:
        return Cell(text="", number=True)
    colour = look.colour_at(value) if look.steps else None
    return Cell(text=text_of(value, look.unit, look.decimals), colour=colour or canvas.TEXT, number=True)
