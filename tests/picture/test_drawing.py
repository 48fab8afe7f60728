"""A board asked and drawn: every sort of panel, silence, refusals, hostile names."""

from __future__ import annotations

import base64
import io
import math
import re
from datetime import datetime
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest
from PIL import Image, ImageColor

from tritonobs import names
from tritonobs.errors import BadAnswer
from tritonobs.extensions.picture import canvas
from tritonobs.extensions.picture.answers import Answer, Line, fill, one_of, options, read_drawing
from tritonobs.extensions.picture.board import KINDS, Look, knobs_of, read_board
from tritonobs.extensions.picture.draw import columns_of, grid_of
from tritonobs.extensions.picture.page import page, pictures, sheet
from tritonobs.render.grafana import board_text, load_boards
from tritonobs.timings.promql import Span

NOW = 1_700_000_000.0


def drawn(client, board, **wanted):
    """The last ten minutes of a board."""
    return read_drawing(client, board, wanted, start=NOW - 600, end=NOW)


def test_every_panel_of_every_board_can_be_drawn(boards):
    """No board has a sort of panel that a picture lacks; all kinds are in use."""
    kinds = {panel.kind for board in boards.values() for panel in read_board(board).panels}

    assert kinds == KINDS


@pytest.mark.parametrize("name", names.BOARDS)
def test_a_board_becomes_a_png_and_a_page(client, boards, name):
    """Both forms, with every title in the page."""
    drawing = drawn(client, boards[name])
    text = page(drawing)

    with Image.open(io.BytesIO(sheet(drawing))) as picture:
        assert picture.format == "PNG"
        # Grounds keep their colours, however few a picture has.
        seen = {colour for _, colour in picture.convert("RGB").getcolors(1 << 24)}
    assert {ImageColor.getrgb(colour) for colour in (canvas.PAGE, canvas.PANEL)} <= seen
    assert all(answer.panel.title.replace("'", "&#39;") in text for answer in drawing.answers)


def test_many_buckets_are_still_seen(client, wire, boards):
    """Lines between 150 rows would leave nothing of them."""
    wire.buckets = tuple(f"{bound / 100:g}" for bound in range(1, 151))
    heatmaps = [one for one in boards["model"]["panels"] if one["type"] == "heatmap"]
    board = boards["model"] | {"panels": heatmaps[:1]}

    with Image.open(io.BytesIO(sheet(drawn(client, board)))) as picture:
        seen = {colour: count for count, colour in picture.convert("RGB").getcolors(1 << 24)}
    assert seen.get(ImageColor.getrgb("#ffe9a8"), 0) > 50_000


def test_years_are_drawn(client, boards):
    """With the widest step there is."""
    board = boards["fleet"]

    drawing = read_drawing(client, board, {}, start=NOW - 2000 * 86_400, end=NOW)

    assert drawing.answers


def _answer(lines, **panel):
    return Answer(
        panel=SimpleNamespace(columns={"Value #A": "p99", "Value #B": "p50"}, look=lambda _: Look(), **panel),
        lines=lines,
        queries=("max by (model) (x)",),
        step_seconds=10,
    )


@pytest.mark.parametrize("descending", [True, False])
def test_rows_without_a_value_come_last(descending):
    """Whichever way the others are sorted."""
    rows = {"a": ("B", 5.0), "b": ("A", 1.0), "c": ("A", 2.0)}
    lines = tuple(
        Line(ref=ref, name=name, labels={"model": name}, points=((0, value),))
        for name, (ref, value) in rows.items()
    )

    grid = grid_of(_answer(lines, descending=descending))

    assert [row[0].text for row in grid.rows] == (["c", "b", "a"] if descending else ["b", "c", "a"])


def test_a_gap_in_a_heatmap_is_a_gap():
    """It has a column of its own, in which nothing is."""
    assert columns_of([10.0, 20.0, 60.0], 10) == [(0, 10), (10, 20), (20, math.nan), (50, 60)]


def test_the_same_answers_give_the_same_page(client, boards):
    """Two snapshots of one moment are equal, byte for byte."""
    assert page(drawn(client, boards["hosts"])) == page(drawn(client, boards["hosts"]))


def test_nothing_is_drawn_as_nothing(client, wire, boards):
    """A board without data is no board of zeros: every panel says so."""
    wire.empty = True
    drawing = drawn(client, boards["delivery"])

    assert len(drawing.silent) == len(drawing.answers)
    assert "no data" in _pictures(page(drawing))


def test_a_panel_that_was_refused_says_why(client, wire, boards):
    """Prometheus' own words; the other panels are drawn."""
    wire.refuse = "nv_cpu_utilization"
    drawing = drawn(client, boards["hosts"])

    assert drawing.silent == ("CPU of the hosts",)
    assert "too many samples" in page(drawing)
    assert "could not be read" in _pictures(page(drawing))


def test_hostile_names_are_data(client, wire, boards, hostile):
    """Nothing in a name becomes a tag, a formula or a matcher."""
    wire.metric = dict.fromkeys(wire.metric, hostile) | {"le": "0.05"}
    drawing = drawn(client, boards["fleet"], model=[hostile])
    text = page(drawing)

    assert "<script" not in text + _pictures(text)
    assert sheet(drawing)


def test_what_is_wanted_enters_queries_as_itself(client, wire, boards):
    """A dot in a name matches a dot; quotes and backslashes stay inside the matcher."""
    drawn(client, boards["model"], model=['det.ector"x'])

    assert any('model=~"det\\\\.ector\\"x"' in query for query in wire.queries)
    assert not any("$" in query.replace('"$1"', "") for query in wire.queries)


def test_several_values_are_one_expression():
    """Grafana's way of choosing more than one."""
    assert one_of(["a", "b.c"]) == "a|b\\\\.c"
    assert (
        fill('x{m=~"$model", v=~"${version}"}', {"model": "a|b", "version": ".*"}) == 'x{m=~"a|b", v=~".*"}'
    )


def test_a_variable_that_asks_otherwise_is_refused(client, boards):
    """Better no choice than a wrong one."""
    board = boards["fleet"] | {
        "templating": {
            "list": [one | {"query": "metrics(x)"} for one in boards["fleet"]["templating"]["list"]]
        }
    }

    with pytest.raises(BadAnswer, match="known are label_values and query_result"):
        options(client, read_board(board).variables[0], {}, NOW - 60, NOW)


def test_windows_are_found_in_the_names_of_records(client, wire):
    """A snapshot needs nobody to say how often the fleet is scraped, or how replicas are labelled."""
    wire.metric = {"model": "inspect", "version": "1", "instance": "a:8002"}
    found = knobs_of(client, start=NOW - 60, end=NOW)
    assert (found["mixin"]["shortWindow"], found["mixin"]["mediumWindow"]) == ("20s", "1m")
    assert found["replica"] == "instance"
    assert "rate20s" in board_text(load_boards(found)["model"])
    assert any("model_version:triton_requests_succeeded:rate20s[1h]" in query for query in wire.queries)

    wire.values = []
    with pytest.raises(BadAnswer, match="no records of tritonobs"):
        knobs_of(client, start=NOW - 60, end=NOW)


def _pictures(text):
    """The SVG inside a page."""
    found = re.findall(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)", text)
    return "".join(base64.b64decode(one).decode() for one in found)


def test_a_few_panels_are_pictures_of_their_own(client):
    """Asked for by board and title, whatever window the rules have; in the zone that is wanted."""
    wanted = [("model", "Outcomes"), ("fleet", "Requests per second by replica"), ("model", "No such panel")]
    span = Span(start=NOW - 600, end=NOW)

    found = pictures(client, wanted, ["inspect"], span=span, zone=ZoneInfo("Asia/Shanghai"))

    assert [title for title, _ in found] == ["Outcomes, 20 s", "Requests per second by replica, 20 s"]
    at = datetime.fromtimestamp(NOW - 300, ZoneInfo("Asia/Shanghai"))
    for _, svg in found:
        assert svg.startswith(b"<?xml")
        assert f"{at:%H}:".encode() in svg


def test_a_panel_without_data_is_no_picture(client, wire):
    """The page does without."""
    wire.empty = True

    assert pictures(client, [("model", "Outcomes")], [], span=Span(start=NOW - 600, end=NOW)) == ()


def test_hostile_names_are_text_in_a_picture(client, wire, hostile):
    """And no element of it."""
    wire.metric = dict.fromkeys(wire.metric, hostile)

    ((_, svg),) = pictures(
        client, [("fleet", "Requests per second by replica")], [], span=Span(start=NOW - 600, end=NOW)
    )

    assert b"<script" not in svg
