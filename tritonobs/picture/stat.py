"""The latest value, large; a word on its colour where the value means one."""

from __future__ import annotations

from typing import Final

from tritonobs.picture import theme
from tritonobs.picture.answers import Answer, Line
from tritonobs.picture.board import Look
from tritonobs.picture.canvas import Box, shortened
from tritonobs.picture.values import text_of

_MOST: Final = 6
_DARK: Final = "#101216"


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
    colour = (len(look.steps) > 1 and look.colour_at(line.last)) or theme.TEXT
    axes = box.blank()
    if len(line.points) > 1:
        _spark(box, line, colour)
    text = text_of(line.last, look.unit, look.decimals)
    size = min(box.height * 0.34, box.width / max(len(text), 3) * 1.15, 26)
    axes.text(
        box.width / 2,
        box.height * 0.42,
        text,
        color=colour,
        fontsize=size,
        weight="bold",
        ha="center",
        va="center",
    )
    if named:
        _name(axes, box, line.name)


def _word(box: Box, line: Line, look: Look, *, named: bool) -> None:
    # Grafana's mappings have texts as keys: 1 and not 1.0.
    word, colour = look.words.get(f"{line.last:g}", (text_of(line.last, look.unit), theme.FAINT))
    axes = box.blank()
    axes.axhspan(0, box.height, color=colour, alpha=0.9, linewidth=0)
    size = min(box.height * 0.3, box.width / max(len(word), 3) * 1.1, 20)
    axes.text(
        box.width / 2,
        box.height * (0.4 if named else 0.5),
        word,
        color=_DARK,
        fontsize=size,
        weight="bold",
        ha="center",
        va="center",
    )
    if named:
        _name(axes, box, line.name, _DARK)


def _name(axes: object, box: Box, name: str, colour: str = theme.FAINT) -> None:
    axes.text(  # type: ignore[attr-defined] # matplotlib's Axes, kept out of the runtime imports
        box.width / 2,
        box.height - 9,
        shortened(name, box.width - 6),
        color=colour,
        fontsize=theme.SIZE,
        ha="center",
        va="center_baseline",
    )


def _spark(box: Box, line: Line, colour: str) -> None:
    below = box.inner(top=box.height * 0.68).axes()
    below.set(xticks=[], yticks=[])
    times = [time for time, _ in line.points]
    values = [value for _, value in line.points]
    low, high = min(*values, 0.0) if len(values) > 1 else 0.0, max(values)
    below.set_ylim(low, high * 1.1 if high > low else low + 1)
    below.set_xlim(times[0], times[-1])
    below.plot(times, values, color=colour, linewidth=1)
    below.fill_between(times, values, low, color=colour, alpha=0.2, linewidth=0)
