"""The whole board as one HTML file that needs nothing else: pictures inside, no script, no address."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Final

from tritonobs.picture import theme
from tritonobs.picture.answers import Answer, Line
from tritonobs.picture.canvas import new_box, saved
from tritonobs.picture.clock import local, span_text
from tritonobs.picture.draw import draw_panel
from tritonobs.picture.drawing import Drawing
from tritonobs.picture.grid import Grid, grid_of
from tritonobs.picture.sheet import COLUMN, GAP, PAD, ROW, TITLE
from tritonobs.picture.values import text_of

_TEMPLATE: Final = "page.html.j2"
_MOST_ROWS: Final = 40


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

    loader = PackageLoader("tritonobs.picture", ".")
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.get_template(_TEMPLATE).render(
        board=drawing.board,
        span=span_text(drawing.times.start, drawing.times.end),
        choices=_choices(drawing),
        rows=_rows(drawing),
        moments=[(f"{local(one.time):%H:%M:%S}", one.mark) for one in drawing.moments],
        theme=theme,
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
    box = new_box(width, height, theme.PANEL)
    draw_panel(box, answer, drawing.times, drawing.moments)
    # The source of an image runs no script, and so no name in it does.
    return "data:image/svg+xml;base64," + base64.b64encode(saved(box, "svg")).decode()


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
