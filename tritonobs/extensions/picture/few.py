"""A few panels of boards, each as a picture of its own: what other parts ask for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import tzinfo
from typing import Any

from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.extensions.picture import canvas
from tritonobs.extensions.picture.answers import Drawing, read_drawing
from tritonobs.extensions.picture.board import knobs_of
from tritonobs.extensions.picture.page import svg
from tritonobs.render.grafana import load_boards
from tritonobs.timings.promql import Span

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
