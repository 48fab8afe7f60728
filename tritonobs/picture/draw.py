"""One panel of any type into one box."""

from __future__ import annotations

from collections.abc import Sequence

from tritonobs.picture import theme
from tritonobs.picture.answers import Answer, Moment, Times
from tritonobs.picture.bands import draw_bands
from tritonobs.picture.bars import draw_bars
from tritonobs.picture.canvas import Box
from tritonobs.picture.graph import draw_graph
from tritonobs.picture.grid import draw_grid
from tritonobs.picture.heat import draw_heat
from tritonobs.picture.stat import draw_stat


def draw_panel(box: Box, answer: Answer, times: Times, moments: Sequence[Moment]) -> None:
    """Draw what the queries answered; nothing is drawn as nothing, never as zero."""
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
    axes = box.blank()
    axes.text(
        box.width / 2,
        box.height / 2,
        "could not be asked" if answer.trouble else answer.panel.empty,
        color=theme.FAINT,
        fontsize=theme.SIZE + 2,
        ha="center",
        va="center",
    )
