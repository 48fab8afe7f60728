"""The whole board as one PNG."""

from __future__ import annotations

from typing import Final

from tritonobs.picture import theme
from tritonobs.picture.canvas import Box, new_box, saved, shortened
from tritonobs.picture.clock import span_text
from tritonobs.picture.draw import draw_panel
from tritonobs.picture.drawing import Drawing

COLUMN: Final = 58.0
ROW: Final = 30.0
GAP: Final = 8.0
TITLE: Final = 26.0
PAD: Final = 10.0
_MARGIN: Final = 16.0
_HEAD: Final = 74.0
_COLUMNS: Final = 24


def sheet(drawing: Drawing) -> bytes:
    """A PNG with every panel in its place, as wide as a screen.

    Raises:
        TritonobsError: matplotlib is not installed.
    """
    bottom = max(place[1] + place[3] for place in (answer.panel.place for answer in drawing.answers))
    width = 2 * _MARGIN + _COLUMNS * COLUMN
    page = new_box(width, _HEAD + bottom * ROW + _MARGIN, theme.PAGE)
    _head(page, drawing)
    for title, top in drawing.board.rows:
        axes = page.inner(left=_MARGIN, top=_HEAD + top * ROW, bottom=0).blank()
        axes.text(2, ROW * 0.55, title, color=theme.TEXT, fontsize=theme.SIZE + 2.5, va="center")
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
        2, 22, drawing.board.title, color=theme.TEXT, fontsize=theme.SIZE + 7, weight="bold", va="center"
    )
    question = shortened(drawing.board.question, page.width - 2 * _MARGIN, theme.SIZE + 1)
    axes.text(2, 50, question, color=theme.FAINT, fontsize=theme.SIZE + 1, va="center")
    right = page.width - 2 * _MARGIN - GAP
    span = span_text(drawing.times.start, drawing.times.end)
    axes.text(right, 22, span, color=theme.TEXT, fontsize=theme.SIZE + 1, va="center", ha="right")


def _frame(box: Box, title: str) -> None:
    axes = box.blank()
    axes.axhspan(0, box.height, facecolor=theme.PANEL, edgecolor=theme.EDGE, linewidth=1)
    text = shortened(title, box.width - 2 * PAD, theme.SIZE + 1)
    axes.text(
        PAD,
        TITLE / 2 + 4,
        text,
        color=theme.TEXT,
        fontsize=theme.SIZE + 1,
        weight="bold",
        va="center_baseline",
    )
