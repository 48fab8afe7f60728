"""What a board says fits into its panels on a screen of 1280 pixels, as Grafana 12 draws it."""

from __future__ import annotations

import re

import pytest

from tritonobs.render.grafana import load_boards

# Pixels: a column and a line of the grid, the gap between panels.
COLUMN, LINE, GAP = 52, 38, 8
NARROW = frozenset(" ,.'1Ifijlrt/")


def width_of(panel):
    """Pixels of a panel from side to side."""
    return COLUMN * panel["gridPos"]["w"] - GAP


def length(title):
    """Pixels of a title."""
    return sum(4.5 if letter in NARROW else 8.4 for letter in title)


def cut(panel):
    """Whether the title ends in an ellipsis: the rest of its line is for the description and the menu."""
    return length(panel["title"]) > width_of(panel) - 75


def test_titles_are_not_cut(panels):
    """`Messages left th…` is no title."""
    assert [(board, panel["title"]) for board, panel in panels if cut(panel)] == []


@pytest.mark.parametrize(
    ("title", "columns"),
    [("Requests of clients, 20 s", 4), ("Bad requests, 5 min", 4), ("Messages left this minute", 4)],
)
def test_the_check_of_titles_sees_those_that_were_cut(title, columns):
    """As Grafana 12 cut them."""
    assert cut({"title": title, "gridPos": {"w": columns}})


def test_legends_beside_a_graph_show_all_their_columns(panels):
    """A name and one number; a second number is outside of what less than half a panel has room for."""
    for board, panel in panels:
        legend = panel["options"].get("legend", {})
        if legend.get("placement") == "right":
            assert len(legend["calcs"]) == 1, (board, panel["title"])
            assert legend["width"] >= 280, (board, panel["title"])


def test_tables_need_no_scrolling(panels):
    """Numbers take what they need; names share the rest, and shrink to a width that is said."""
    tables = [(board, panel) for board, panel in panels if panel["type"] == "table"]
    assert tables
    for board, panel in tables:
        (organised,) = [one["options"] for one in panel["transformations"] if one["id"] == "organize"]
        numbers = organised["renameByName"].values()
        names = [one for one in organised["indexByName"] if one not in organised["renameByName"]]
        taken = {
            one["matcher"]["options"]: value["value"]
            for one in panel["fieldConfig"]["overrides"]
            for value in one["properties"]
            if value["id"] == "custom.width"
        }
        assert set(taken) == set(numbers), (board, panel["title"])
        least = panel["fieldConfig"]["defaults"]["custom"]["minWidth"]
        assert sum(taken.values()) + least * len(names) <= width_of(panel) - 18, (board, panel["title"])


def test_a_name_of_digits_is_no_number(panels):
    """The version 20260115 is not `20.3 Mil`."""
    for board, panel in panels:
        if panel["type"] == "table":
            (organised,) = [one["options"] for one in panel["transformations"] if one["id"] == "organize"]
            units = {
                one["matcher"]["options"]: value["value"]
                for one in panel["fieldConfig"]["overrides"]
                for value in one["properties"]
                if value["id"] == "unit"
            }
            names = set(organised["indexByName"]) - set(organised["renameByName"])
            assert {units.get(name) for name in names} == {"string"}, (board, panel["title"])


def test_rows_of_a_timeline_have_a_line_each(panels):
    """A page has as many rows as there is room for words of 12 pixels, and four at least."""
    timelines = [(board, panel) for board, panel in panels if panel["type"] == "state-timeline"]
    assert timelines
    for board, panel in timelines:
        rows = panel["options"]["perPage"]
        # The title, the axis of time and the line to choose a page.
        room = LINE * panel["gridPos"]["h"] - GAP - 114
        assert room / rows >= 15.5, (board, panel["title"])
        assert rows >= 4, (board, panel["title"])


def test_links_and_toggles_are_short():
    """Links, toggles and variables of a board fit into two lines beside the time; icons would not."""
    for name, board in load_boards({"source": "tritonobs-prometheus"}).items():
        assert not any(link["icon"] for link in board["links"]), name
        words = [link["title"] for link in board["links"]]
        toggles = [mark["name"] for mark in board["annotations"]["list"]]
        chosen = [one for one in board["templating"]["list"] if not one["hide"]]
        taken = (
            sum(0.85 * length(word) + 26 for word in words)
            + sum(length(toggle) + 70 for toggle in toggles)
            + sum(185 for _ in chosen)
        )
        assert taken <= 2 * 880, (name, taken)


def test_a_graph_without_decimals_has_none_of_zero(panels):
    """`15.00 req/s` says no more than `15 req/s`: two decimals are for what stays below ten."""
    for board, panel in panels:
        defaults = panel["fieldConfig"]["defaults"]
        if re.fullmatch(r"req\w+", defaults["unit"]):
            assert defaults.get("decimals", 0) <= 1, (board, panel["title"])
