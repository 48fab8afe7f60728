"""The whole board as one PNG, or as one HTML file that needs nothing else: no script, no address."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Final

from tritonobs.extensions.picture import canvas
from tritonobs.extensions.picture.answers import Answer, Drawing, Line
from tritonobs.extensions.picture.canvas import Box, local, new_box, saved, shortened, span_text, text_of
from tritonobs.extensions.picture.draw import Grid, draw_panel, grid_of

_TEMPLATE: Final = "page.html.j2"
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

    title: str
    description: str
    place: tuple[int, int, int, int]
    height: float
    picture: str
    grid: Grid | None
    numbers: tuple[tuple[str, str], ...]
    queries: tuple[str, ...]
    trouble: str


def page(drawing: Drawing) -> str:
    """The page. Names from Prometheus are data in it.

    Raises:
        TritonobsError: matplotlib is not installed.
    """
    from jinja2 import Environment, PackageLoader  # noqa: PLC0415 (only needed here)

    loader = PackageLoader(__package__ or "", ".")
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.get_template(_TEMPLATE).render(
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
        title=answer.panel.title,
        description=answer.panel.description,
        place=answer.panel.place,
        height=height,
        picture="" if table else _picture(answer, drawing, wide * COLUMN - GAP - 2 * PAD, height),
        grid=grid_of(answer) if table else None,
        numbers=tuple((line.name, _latest(answer, line)) for line in answer.lines[:_MOST_ROWS]),
        queries=answer.queries,
        trouble=answer.trouble,
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
        axes.text(2, ROW * 0.55, title, color=canvas.TEXT, fontsize=canvas.SIZE + 2.5, va="center")
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
    axes.text(
        2, 22, drawing.board.title, color=canvas.TEXT, fontsize=canvas.SIZE + 7, weight="bold", va="center"
    )
    question = shortened(drawing.board.question, page.width - 2 * _MARGIN, canvas.SIZE + 1)
    axes.text(2, 50, question, color=canvas.FAINT, fontsize=canvas.SIZE + 1, va="center")
    right = page.width - 2 * _MARGIN - GAP
    span = span_text(drawing.times.start, drawing.times.end)
    axes.text(right, 22, span, color=canvas.TEXT, fontsize=canvas.SIZE + 1, va="center", ha="right")


def _frame(box: Box, title: str) -> None:
    axes = box.blank()
    axes.axhspan(0, box.height, facecolor=canvas.PANEL, edgecolor=canvas.EDGE, linewidth=1)
    text = shortened(title, box.width - 2 * PAD, canvas.SIZE + 1)
    axes.text(
        PAD,
        TITLE / 2 + 4,
        text,
        color=canvas.TEXT,
        fontsize=canvas.SIZE + 1,
        weight="bold",
        va="center_baseline",
    )
