"""A whole board as one PNG, or as one HTML file that needs nothing else; and a few panels, each a picture.

The HTML has no script and no address.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Any, Final

from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.extensions.picture import canvas
from tritonobs.extensions.picture.answers import Answer, Drawing, Line, read_drawing
from tritonobs.extensions.picture.board import knobs_of
from tritonobs.extensions.picture.canvas import (
    Box,
    local,
    new_box,
    saved,
    shortened,
    span_text,
    text_of,
    write,
)
from tritonobs.extensions.picture.draw import Grid, draw_panel, grid_of
from tritonobs.render.grafana import load_boards
from tritonobs.report.formats import template
from tritonobs.timings.promql import Span

_MOST_ROWS: Final = 40

COLUMN: Final = 58.0
ROW: Final = 30.0
GAP: Final = 8.0
TITLE: Final = 26.0
PAD: Final = 10.0
_MARGIN: Final = 16.0
_HEAD: Final = 74.0
_COLUMNS: Final = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A panel as the page shows it: a picture or a table, and the numbers behind it."""

    answer: Answer
    picture: str
    grid: Grid | None
    numbers: tuple[tuple[str, str], ...]


def page(drawing: Drawing) -> str:
    """The page. Names from Prometheus are data in it.

    Raises:
        TritonobsError: matplotlib is not installed.
    """
    return template(__package__, "page.html").render(
        board=drawing.board,
        span=span_text(drawing.times.start, drawing.times.end),
        choices=_choices(drawing),
        rows=_rows(drawing),
        moments=[(f"{local(one.time):%H:%M:%S}", one.mark) for one in drawing.moments],
        theme=canvas,
        gap=GAP,
    )


def _rows(drawing: Drawing) -> list[tuple[str, list[Shown]]]:
    """The panels under the headline of their row."""
    tops = [*(top for _, top in drawing.board.rows[1:]), float("inf")]
    return [
        (title, [_shown(one, drawing) for one in drawing.answers if top < one.panel.place[1] < end])
        for (title, top), end in zip(drawing.board.rows, tops, strict=True)
    ]


def _shown(answer: Answer, drawing: Drawing) -> Shown:
    wide, high = answer.panel.place[2:]
    table = answer.panel.kind == "table" and bool(answer.lines)
    height = high * ROW - GAP - TITLE - PAD
    return Shown(
        answer=answer,
        picture="" if table else _picture(answer, drawing, wide * COLUMN - GAP - 2 * PAD, height),
        grid=grid_of(answer) if table else None,
        numbers=tuple((line.name, _latest(answer, line)) for line in answer.lines[:_MOST_ROWS]),
    )


def _picture(answer: Answer, drawing: Drawing, width: float, height: float) -> str:
    # The source of an image runs no script, and so no name in it does.
    return "data:image/svg+xml;base64," + base64.b64encode(svg(answer, drawing, width, height)).decode()


def svg(answer: Answer, drawing: Drawing, width: float, height: float) -> bytes:
    """One panel, without its title. Names from Prometheus are text in it.

    Raises:
        TritonobsError: matplotlib is not installed.
    """
    box = new_box(width, height, canvas.PANEL)
    draw_panel(box, answer, drawing.times, drawing.moments)
    return saved(box, "svg")


def _latest(answer: Answer, line: Line) -> str:
    look = answer.panel.look(line.name)
    said = look.words.get(f"{line.last:g}")
    return said[0] if said else text_of(line.last, look.unit, look.decimals)


def _choices(drawing: Drawing) -> list[tuple[str, str]]:
    """Labels of variables and what was chosen, in words."""
    labels = {variable.name: variable.label for variable in drawing.board.variables}
    return [
        (labels[name], "all" if word == ".*" else word.replace("|", ", ").replace("\\", "") or "none")
        for name, word in drawing.words.items()
        if name != "cluster" or word != ".*"
    ]


def sheet(drawing: Drawing) -> bytes:
    """A PNG with every panel in its place, as wide as a screen.

    Raises:
        TritonobsError: matplotlib is not installed.
    """
    bottom = max(place[1] + place[3] for place in (answer.panel.place for answer in drawing.answers))
    width = 2 * _MARGIN + _COLUMNS * COLUMN
    page = new_box(width, _HEAD + bottom * ROW + _MARGIN, canvas.PAGE)
    _head(page, drawing)
    for title, top in drawing.board.rows:
        axes = page.inner(left=_MARGIN, top=_HEAD + top * ROW, bottom=0).blank()
        write(axes, 2, ROW * 0.55, title, size=canvas.SIZE + 2.5, va="center")
    for answer in drawing.answers:
        left, top, wide, high = answer.panel.place
        box = Box(
            figure=page.figure,
            left=_MARGIN + left * COLUMN,
            top=_HEAD + top * ROW,
            width=wide * COLUMN - GAP,
            height=high * ROW - GAP,
        )
        _frame(box, answer.panel.title)
        body = box.inner(left=PAD, top=TITLE + 4, right=PAD, bottom=PAD)
        draw_panel(body, answer, drawing.times, drawing.moments)
    return saved(page, "png")


def _head(page: Box, drawing: Drawing) -> None:
    axes = page.inner(left=_MARGIN, right=_MARGIN, bottom=page.height - _HEAD).blank()
    write(axes, 2, 22, drawing.board.title, size=canvas.SIZE + 7, va="center", weight="bold")
    question = shortened(drawing.board.question, page.width - 2 * _MARGIN, canvas.SIZE + 1)
    write(axes, 2, 50, question, canvas.FAINT, size=canvas.SIZE + 1, va="center")
    right = page.width - 2 * _MARGIN - GAP
    span = span_text(drawing.times.start, drawing.times.end)
    write(axes, right, 22, span, size=canvas.SIZE + 1, va="center", ha="right")


def _frame(box: Box, title: str) -> None:
    axes = box.blank()
    axes.axhspan(0, box.height, facecolor=canvas.PANEL, edgecolor=canvas.EDGE, linewidth=1)
    text = shortened(title, box.width - 2 * PAD, canvas.SIZE + 1)
    write(axes, PAD, TITLE / 2 + 4, text, size=canvas.SIZE + 1, weight="bold")


_WIDTH, _HEIGHT = 380.0, 200.0
"""As wide as a telephone; the size of letters follows from it."""


def pictures(
    prometheus: PrometheusClient,
    wanted: Sequence[tuple[str, str]],
    models: Sequence[str],
    *,
    span: Span,
    zone: tzinfo | None = None,
) -> tuple[tuple[str, bytes], ...]:
    """The titles and SVG of these panels (board, and title without its window), of a span of time.

    They show these models, or all where none is named. A panel without data, or that is on no board, is left
    out; titles and names from Prometheus are data. Times of day are of `zone`, or of this machine.

    Raises:
        ClientError: Prometheus did not answer.
        TritonobsError: matplotlib is not installed.
    """
    boards = load_boards(knobs_of(prometheus, start=span.start, end=span.end))
    token = canvas.ZONE.set(zone)
    try:
        drawn: dict[tuple[str, str], tuple[str, bytes]] = {}
        for name in dict.fromkeys(board for board, _ in wanted):
            titles = {title for board, title in wanted if board == name}
            drawing = _read(prometheus, boards[name], titles, models, span)
            for answer in drawing.answers:
                if answer.lines:
                    title = answer.panel.title
                    drawn[name, _bare(title)] = (title, svg(answer, drawing, _WIDTH, _HEIGHT))
    finally:
        canvas.ZONE.reset(token)
    return tuple(drawn[one] for one in wanted if one in drawn)


def _bare(title: str) -> str:
    """`Outcomes` of `Outcomes, 1 min`."""
    return title.rpartition(", ")[0] or title


def _read(
    prometheus: PrometheusClient,
    board: Mapping[str, Any],
    titles: Collection[str],
    models: Sequence[str],
    span: Span,
) -> Drawing:
    few = [one for one in board["panels"] if one["type"] != "row" and _bare(one["title"]) in titles]
    wanted = {"model": list(models)} if models else {}
    drawing = read_drawing(prometheus, {**board, "panels": few}, wanted, start=span.start, end=span.end)
    # A legend beside it would leave no room on a telephone.
    answers = (replace(one, panel=replace(one.panel, legend_aside=False)) for one in drawing.answers)
    return replace(drawing, answers=tuple(answers))
