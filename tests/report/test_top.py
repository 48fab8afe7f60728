"""The live view, drawn and steered."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.console import Console

from tritonobs.report.top import Screen, draw, press, stage_bar
from tritonobs.timings.ask import Unseen
from tritonobs.timings.top import TopRow, TopView

ROW = TopRow(
    model="inspect",
    version="1",
    qps=12.34,
    limit=8.0,
    limited_qps=12.34,
    error_ratio=0.05,
    mean=0.0523,
    p99=0.2,
    queue=0.001,
    pending=3,
    batch=1.5,
    stages=(("preprocess", 0.03), ("detector", 0.015), ("nms", 0.002)),
    workers=1,
    silent_workers=0,
)
HOSTILE = TopRow(
    **{**{name: getattr(ROW, name) for name in ROW.__slots__}, "model": "x\x1b[2J" * 9, "silent_workers": 2}
)
VIEW = TopView(
    at=0.0,
    seconds=5.0,
    source="2 metrics pages",
    rows=(ROW, HOSTILE),
    unseen=(Unseen(what="http://c:8002/metrics", why="GET http://c:8002/metrics: connection refused"),),
)


@pytest.mark.parametrize("width", [80, 160])
def test_the_picture_fits_the_terminal(width: int) -> None:
    """No line is wider than the terminal, no name drives it, nothing unseen is left out."""
    lines = draw(VIEW, Screen(), width).plain.splitlines()

    assert max(map(len, lines)) <= width
    assert all(line.isprintable() for line in lines)
    assert any(line.startswith("inspect ") and "12.3" in line and "52.3ms" in line for line in lines)
    assert any("2 DEAD" in line for line in lines)
    assert lines[-1].startswith("unavailable data: GET http://c:8002/metrics: connection refused")


@pytest.mark.parametrize(
    ("qps", "limited_qps", "shown", "style"),
    [
        pytest.param(6.0, 12.0, " Σ8 ", "red", id="over the limit of the model by its versions together"),
        pytest.param(3.0, 6.0, " Σ8 ", "", id="within it"),
        pytest.param(12.0, 12.0, " 8 ", "red", id="one version, over"),
    ],
)
def test_a_limit_of_the_model_is_marked(qps: float, limited_qps: float, shown: str, style: str) -> None:
    """Red is what the limit says of all versions, and Σ says that it counts them."""
    view = replace(VIEW, rows=(replace(ROW, qps=qps, limited_qps=limited_qps),), unseen=())

    *_, line = draw(view, Screen(), 120).split("\n")

    assert shown in line.plain
    assert (line.get_style_at_offset(Console(), 0).color is not None) == bool(style)


def test_stages_are_lengths_with_letters() -> None:
    """Two thirds of the bar is preprocess, readable without colour."""
    assert stage_bar((("preprocess", 0.02), ("nms", 0.01)), 30).plain == "preprocess==========|nms======"


@pytest.mark.parametrize(
    ("keys", "screen"),
    [
        pytest.param("s", Screen(sort="errors"), id="sort by the next column"),
        pytest.param("ssssss", Screen(sort="qps"), id="and round to the first"),
        pytest.param(" ", Screen(paused=True), id="pause"),
        pytest.param("  ", Screen(), id="and go on"),
        pytest.param("/nmq\r", Screen(chosen="nmq"), id="filter: q is a letter there"),
        pytest.param("/nmq\x7f\r", Screen(chosen="nm"), id="filter with a slip"),
        pytest.param("/nm\x1b", Screen(), id="filter dropped"),
        pytest.param("q", Screen(done=True), id="quit"),
        pytest.param("x\x1b", Screen(), id="other keys do nothing"),
    ],
)
def test_keys_do_what_the_foot_line_says(keys: str, screen: Screen) -> None:
    """From a fresh screen, key by key."""
    now = Screen()
    for key in keys:
        now = press(now, key)

    assert now == screen


def test_more_rows_than_lines_are_counted() -> None:
    """A fleet of a hundred on a small terminal: the rest is told, and the foot line keeps its place."""
    view = TopView(at=0.0, seconds=5.0, source="1 metrics page", rows=(ROW,) * 100, unseen=VIEW.unseen)

    lines = draw(view, Screen(), 80, 10).plain.splitlines()

    assert len(lines) == 10
    assert lines[-1] == "94 more rows do not fit here"
    assert "unavailable data" in lines[-2]


def test_a_filter_without_a_match_is_said() -> None:
    """An empty table could be a dead fleet."""
    assert draw(VIEW, Screen(chosen="nosuch"), 80).plain.splitlines()[-1] == (
        "no model's name contains 'nosuch'"
    )


def test_reasons_are_whole_where_rows_need_no_room() -> None:
    """Also on a narrow terminal; the live view gives each a line."""
    why = "GET http://c:8002/metrics: " + "connection refused by a server with a long name " * 3
    view = replace(VIEW, unseen=(Unseen(what="c", why=why),))
    words = f"unavailable data: {why}".split()

    assert " ".join(draw(view, Screen(), 80).plain.splitlines()[-3:]).split() == words
    assert draw(view, Screen(), 80, 20).plain.splitlines()[-1].split() == words[:10]


def test_a_page_without_models_is_said() -> None:
    """Another program may answer at that port; where none answered, the reason is enough."""
    empty = replace(VIEW, rows=(), unseen=())
    last = draw(empty, Screen(), 80).plain.splitlines()[2:]

    assert " ".join(last) == (
        "no model is loaded, or this is not Triton: 2 metrics pages without nv_inference_request_success"
    )
    assert draw(replace(VIEW, rows=()), Screen(), 80).plain.splitlines()[2:] == [
        "unavailable data: GET http://c:8002/metrics: connection refused"
    ]


def test_rows_keep_their_places_for_a_while() -> None:
    """Given an order, the numbers of one second do not shuffle the rows; a row nobody knows comes last."""
    rows = [replace(ROW, model=model, qps=qps) for model, qps in (("a", 1.0), ("b", 9.0), ("new", 99.0))]
    view = TopView(at=0.0, seconds=5.0, source="x", rows=tuple(rows))

    lines = draw(view, Screen(), 80, order={("a", "1"): 0, ("b", "1"): 1}).plain.splitlines()

    assert [line.split()[0] for line in lines[2:]] == ["a", "b", "new"]
