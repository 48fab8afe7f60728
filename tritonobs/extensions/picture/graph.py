"""Lines over time: plain, stacked, with dashed limits, thresholds and marks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from tritonobs.extensions.picture import canvas
from tritonobs.extensions.picture.answers import Answer, Line, Moment, Times
from tritonobs.extensions.picture.board import Look
from tritonobs.extensions.picture.canvas import (
    Box,
    binary_step,
    shortened,
    show_times,
    text_of,
    width_of,
    write,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ASIDE: Final = 0.3
_WIDEST: Final = 0.5
_LEGEND_ROW: Final = 16
_LEGEND_ROWS: Final = 3
_TICKS: Final = 5
_FILLED: Final = 2
"""More areas than this on top of each other cannot be read."""


def draw_graph(box: Box, answer: Answer, times: Times, moments: Sequence[Moment]) -> None:
    """A panel of the type timeseries."""
    looks = {line.name: answer.panel.look(line.name) for line in answer.lines}
    colours = canvas.colours_of(looks, {name: look.colour for name, look in looks.items()})
    if answer.panel.legend_aside:
        names = max((width_of(name) for name in looks), default=0)
        aside = min(max(names + 160, box.width * _ASIDE), box.width * _WIDEST)
        _legend_aside(box.inner(left=box.width - aside + 10), answer, colours)
        box = box.inner(right=aside)
    else:
        box = box.inner(bottom=_legend_below(box, colours))
    axes = box.inner(left=58, top=8, right=10, bottom=22).axes()
    stacked = [line for line in answer.lines if looks[line.name].stacked]
    _stack(axes, stacked, colours, answer.step_seconds)
    for line in answer.lines:
        if not looks[line.name].stacked:
            look, colour = looks[line.name], colours[line.name]
            _line(axes, line, look, colour, answer.step_seconds, filled=len(colours) <= _FILLED)
    _scale(axes, answer, times)
    for moment in moments:
        axes.axvline(moment.time, color=moment.mark.colour, linewidth=0.8, alpha=0.7, linestyle=(0, (1, 2)))


def _line(axes: Axes, line: Line, look: Look, colour: str, step: float, *, filled: bool) -> None:
    times, values = _with_gaps(line.points, step)
    style = (0, (5, 4)) if look.dashed else "solid"
    marker = "." if len(line.points) == 1 else None
    axes.plot(
        times,
        values,
        color=colour,
        linewidth=1.1 if look.dashed else 1.6,
        linestyle=style,
        marker=marker,
        solid_capstyle="round",
    )
    if not look.dashed and filled:
        axes.fill_between(times, values, 0, color=colour, alpha=0.06, linewidth=0)


def _stack(axes: Axes, lines: Sequence[Line], colours: Mapping[str, str], step: float) -> None:
    moments = sorted({time for line in lines for time, _ in line.points})
    below = [0.0] * len(moments)
    for line in lines:
        known = dict(line.points)
        above = [low + known.get(time, 0.0) for time, low in zip(moments, below, strict=True)]
        times, lows = _with_gaps(list(zip(moments, below, strict=True)), step)
        _, highs = _with_gaps(list(zip(moments, above, strict=True)), step)
        colour = colours[line.name]
        axes.fill_between(times, lows, highs, color=colour, alpha=0.55, linewidth=0)
        # A series of zeros is not drawn as a line on top of the others.
        drawn = [high if time in known else math.nan for time, high in zip(times, highs, strict=True)]
        axes.plot(times, drawn, color=colour, linewidth=1.0)
        below = above


def _with_gaps(points: Sequence[tuple[float, float]], step: float) -> tuple[list[float], list[float]]:
    """Times and values, with a hole where samples are missing, so that no line is drawn over it."""
    times: list[float] = []
    values: list[float] = []
    for time, value in points:
        if times and time - times[-1] > 1.5 * step:
            times.append(times[-1] + step / 2)
            values.append(math.nan)
        times.append(time)
        values.append(value)
    return times, values


def _scale(axes: Axes, answer: Answer, times: Times) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator  # noqa: PLC0415 (half a second)

    base = answer.panel.base
    low, high = axes.get_ylim()
    if not any(value for line in answer.lines for _, value in line.points):
        # matplotlib would draw zeros in the middle, between -0.055 and 0.055.
        high = 1.0
    low = low if base.minimum is None else base.minimum
    steps = [step for step in base.steps if answer.panel.lines_at_steps and math.isfinite(step.value)]
    # A threshold at more than three times the lines is left out: with it they would be flat.
    high = max([high, *(step.value * 1.08 for step in steps if step.value <= high * 3)])
    if base.maximum is not None and high > base.maximum * 0.6:
        high = base.maximum
    if high <= low:
        high = low + 1
    if answer.panel.logarithmic:
        _logarithmic(axes, answer)
    else:
        axes.set_ylim(low, high)
        axes.yaxis.set_major_locator(
            MultipleLocator(binary_step(high - low)) if base.unit == "bytes" else MaxNLocator(_TICKS)
        )
        scale = max(abs(high), abs(low))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: text_of(value, base.unit, like=scale)))
    show_times(axes, times.start, times.end, axes.bbox.width)
    axes.grid(color=canvas.GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    for step in steps:
        if step.value <= high:
            axes.axhline(step.value, color=step.colour, linewidth=1, linestyle=(0, (5, 4)), alpha=0.8)


def _logarithmic(axes: Axes, answer: Answer) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: PLC0415 (as above)

    values = [value for line in answer.lines for _, value in line.points if value > 0] or [1.0]
    axes.set_yscale("log")
    axes.set_ylim(min(values) / 1.5, max(values) * 1.5)
    axes.yaxis.set_major_locator(LogLocator(10, subs=(1.0, 3.0), numticks=_TICKS + 3))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: text_of(value, answer.panel.base.unit)))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _legend_below(box: Box, colours: Mapping[str, str]) -> float:
    """Draw names with their colours under the graph; gives the height they take."""
    left, row = 0.0, 0
    placed: list[tuple[str, float, int]] = []
    for name in colours:
        text = shortened(name, box.width - 40)
        width = 22 + width_of(text) + 8
        if left and left + width > box.width:
            left, row = 0.0, row + 1
        if row == _LEGEND_ROWS:
            break
        placed.append((text, left, row))
        left += width
    if not placed:
        return 0
    height = (placed[-1][2] + 1) * _LEGEND_ROW + 2
    axes = box.inner(top=box.height - height).blank()
    for (text, across, down), colour in zip(placed, colours.values(), strict=False):
        middle = down * _LEGEND_ROW + _LEGEND_ROW / 2
        axes.plot([across + 2, across + 16], [middle, middle], color=colour, linewidth=2.5)
        write(axes, across + 21, middle, text)
    hidden = len(colours) - len(placed)
    if hidden:
        write(axes, box.width, height - _LEGEND_ROW / 2, f"+ {hidden} more", canvas.FAINT, ha="right")
    return height


def _legend_aside(box: Box, answer: Answer, colours: Mapping[str, str]) -> None:
    """Names with their latest and highest values, to the right of the graph."""
    axes = box.blank()
    last, most = box.width - 66, box.width - 2
    for text, right in (("last", last), ("max", most)):
        write(axes, right, 8, text, canvas.FAINT, ha="right")
    room = int((box.height - 18) // _LEGEND_ROW)
    for row, line in enumerate(answer.lines[:room]):
        middle = 18 + row * _LEGEND_ROW + _LEGEND_ROW / 2
        look = answer.panel.look(line.name)
        axes.plot([2, 14], [middle, middle], color=colours[line.name], linewidth=2.5)
        name = shortened(line.name, box.width - 150)
        write(axes, 19, middle, name)
        for value, right in ((line.last, last), (max(one for _, one in line.points), most)):
            write(axes, right, middle, text_of(value, look.unit), ha="right")
