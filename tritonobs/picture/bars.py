"""The latest value of every series as a bar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tritonobs.picture import theme
from tritonobs.picture.answers import Answer, Line
from tritonobs.picture.canvas import Box, shortened, width_of
from tritonobs.picture.values import text_of

_TALLEST: Final = 34.0
_SHORTEST: Final = 13.0
_NAME_SHARE: Final = 0.38
_VALUE_WIDTH: Final = 74.0


def draw_bars(box: Box, answer: Answer) -> None:
    """A panel of the type bargauge: name, bar, value, a line each."""
    lines: Sequence[Line] = answer.lines
    axes = box.blank()
    room_for = int(box.height // _SHORTEST)
    hidden = len(lines) - room_for + 1 if len(lines) > room_for else 0
    lines = lines[: len(lines) - hidden]
    height = min(box.height / (len(lines) + bool(hidden)), _TALLEST)
    if hidden:
        axes.text(
            box.width - 2,
            box.height - height / 2,
            f"+ {hidden} more",
            color=theme.FAINT,
            fontsize=theme.SIZE,
            ha="right",
            va="center_baseline",
        )
    names = min(max(width_of(line.name) for line in lines) + 10, box.width * _NAME_SHARE)
    room = box.width - names - _VALUE_WIDTH
    base = answer.panel.base
    low = base.minimum if base.minimum is not None else min(0.0, *(line.last for line in lines))
    high = base.maximum if base.maximum is not None else max(line.last for line in lines)
    for row, line in enumerate(lines):
        look = answer.panel.look(line.name)
        colour = look.colour_at(line.last) or theme.TEXT
        top, thick = row * height + height * 0.15, height * 0.7
        share = min(max((line.last - low) / (high - low), 0.0), 1.0) if high > low else 0.0
        axes.broken_barh([(names, room)], (top, thick), facecolor=theme.EMPTY)
        # A bar at its minimum stays visible: nothing drawn would mean no value.
        axes.broken_barh([(names, max(room * share, 1.5))], (top, thick), facecolor=colour, alpha=0.85)
        middle = top + thick / 2
        axes.text(
            names - 6,
            middle,
            shortened(line.name, names - 8),
            color=theme.TEXT,
            fontsize=theme.SIZE,
            ha="right",
            va="center_baseline",
        )
        axes.text(
            box.width - 2,
            middle,
            text_of(line.last, look.unit, look.decimals),
            color=colour,
            fontsize=theme.SIZE + 0.5,
            weight="bold",
            ha="right",
            va="center_baseline",
        )
