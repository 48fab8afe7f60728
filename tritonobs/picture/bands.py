"""States over time: a band a series, in the colour of its state."""

from __future__ import annotations

from typing import Final

from tritonobs.picture import theme
from tritonobs.picture.answers import Answer, Line, Times
from tritonobs.picture.canvas import Box, shortened, width_of
from tritonobs.picture.clock import time_ticks

_TALLEST: Final = 26.0
# Text is 11 dots high (`theme.SIZE`); names of lower bands would touch.
_SHORTEST: Final = 13.0
_NAME_SHARE: Final = 0.3
_DARK: Final = "#101216"


def draw_bands(box: Box, answer: Answer, times: Times) -> None:
    """A panel of the type state-timeline; the newest states stand on top."""
    room = box.height - 22
    every = sorted(answer.lines, key=lambda line: (-line.last, line.name))
    lines = every[: int(room // _SHORTEST)]
    names = min(max(width_of(line.name) for line in lines) + 12, box.width * _NAME_SHARE)
    height = min(room / len(lines), _TALLEST)
    body = box.inner(left=names, bottom=max(box.height - height * len(lines), 22))
    axes = body.axes()
    axes.set(xlim=(times.start, times.end), ylim=(len(lines), 0))
    if len(every) > len(lines):
        box.blank().text(
            names - 26,
            box.height - 8,
            f"+ {len(every) - len(lines)} more",
            color=theme.FAINT,
            fontsize=theme.SIZE,
            ha="right",
            va="center_baseline",
        )
    ticks = time_ticks(times.start, times.end, body.width)
    axes.set_xticks([time for time, _ in ticks], [text for _, text in ticks])
    labels = [shortened(line.name, names - 4) for line in lines]
    axes.set_yticks([row + 0.5 for row in range(len(lines))], labels, color=theme.TEXT)
    for row, line in enumerate(lines):
        look = answer.panel.look(line.name)
        for start, end, value in _runs(line, answer.step_seconds, times):
            word, colour = look.words.get(f"{value:g}", ("", theme.FAINT))
            axes.broken_barh([(start, end - start)], (row + 0.1, 0.8), facecolor=colour, alpha=0.9)
            dots = (end - start) / times.span * body.width
            if word and dots > width_of(word) + 8:
                axes.text(
                    start + times.span * 4 / body.width,
                    row + 0.5,
                    word,
                    color=_DARK,
                    fontsize=theme.SIZE - 0.5,
                    va="center_baseline",
                    clip_on=True,
                )


def _runs(line: Line, step: float, times: Times) -> list[tuple[float, float, float]]:
    """From when to when the series had one value."""
    runs: list[tuple[float, float, float]] = []
    for time, value in line.points:
        end = min(time + step, times.end)
        # A band ends where a sample is missing, because the state is not known there.
        if runs and runs[-1][2] == value and time - runs[-1][1] < step / 2:
            runs[-1] = (runs[-1][0], end, value)
        else:
            # Moments are rounded down to steps, so the first may lie before the picture.
            runs.append((max(time, times.start), end, value))
    return [run for run in runs if run[1] > run[0]]
