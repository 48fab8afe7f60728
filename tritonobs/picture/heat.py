"""Buckets over time: the darker, the more."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from tritonobs.picture import theme
from tritonobs.picture.answers import Answer, Times
from tritonobs.picture.canvas import Box
from tritonobs.picture.clock import time_ticks
from tritonobs.picture.values import text_of

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
        edgecolors=theme.PANEL,
        # Lines between rows of a few pixels would cover the rows.
        linewidth=1 if axes.bbox.height / len(rows) >= _LEAST_FOR_LINES else 0,
    )
    every = max(1, math.ceil(len(rows) / _LABELS))
    axes.set_yticks(
        [place + 1 for place in range(len(rows)) if place % every == 0],
        ["∞" if math.isinf(bound) else text_of(bound, "s") for bound in rows[::every]],
    )
    axes.set_xlim(times.start, times.end)
    ticks = time_ticks(times.start, times.end, axes.bbox.width)
    axes.set_xticks([time for time, _ in ticks], [text for _, text in ticks])
    axes.grid(visible=False)
    scale = box.inner(left=box.width - _SCALE_WIDTH + 14, top=12, right=_SCALE_WIDTH - 24, bottom=26).axes()
    bar = axes.figure.colorbar(mesh, cax=scale)
    bar.outline.set_visible(False)
    marks = [most * share for share in (0.0, 0.25, 0.5, 1.0)]
    bar.set_ticks(marks, labels=[text_of(mark, answer.panel.counted, like=most) for mark in marks])
    scale.tick_params(colors=theme.FAINT, labelsize=theme.SIZE - 0.5, length=0)


def columns_of(moments: Sequence[float], step_seconds: float) -> list[tuple[float, float]]:
    """Where each column starts, and its moment; that of a gap is no number."""
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
    full = [
        place for place, bound in enumerate(bounds) if any(cells[key] > 0 for key in cells if key[1] == bound)
    ]
    if not full:
        return bounds
    return bounds[max(full[0] - 1, 0) : full[-1] + 2]
