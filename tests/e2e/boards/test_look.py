"""`look` takes no board for granted: defects seen in a real Grafana are planted on a page with its marks."""

from __future__ import annotations

import pytest

from support.grafana_look import look

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]
TYPES = {
    "Traffic": "timeseries",
    "Now": "stat",
    "Alerts": "state-timeline",
    "Models": "table",
    "Share of the limit": "bargauge",
    "Latency over time": "heatmap",
}
PAGE = """<!doctype html><title>stands in for Grafana</title>
<style>
section {{ width: 330px; }}
h2 {{ width: 200px; font-size: 14px; overflow: hidden; white-space: nowrap; }}
</style>
{panels}
<script>
const draw = (canvas, text) => {{
  const pen = canvas.getContext('2d');
  pen.fillStyle = canvas.dataset.colour || 'steelblue';
  pen.fill(new Path2D('M0 0H80V8H0Z'));
  pen.fillText(text, 4, 30);
  if (canvas.dataset.colour) {{
    pen.fillStyle = 'blue';
    pen.fillRect(40, 0, 2, 80);
  }}
}};
document.querySelectorAll('canvas[data-says]').forEach(one => draw(one, one.dataset.says));
{script}
</script>"""
HEAD = (
    '<div data-testid="data-testid header-container">'
    "<h2>{title}</h2><span>No data means no traffic.</span></div>"
)
PANEL = (
    '<section data-testid="data-testid Panel header {title}">'
    f'{HEAD}<div data-testid="data-testid panel content">{{inside}}</div></section>'
)
LINES = '<canvas width="300" height="80" data-says="12 req/s"></canvas>'
GOOD = {
    "Traffic": LINES,
    "Now": "<div><span>12</span><span>req/s</span></div>",
    "Alerts": '<canvas width="300" height="80" data-says="critical"></canvas>',
    "Models": '<div role="columnheader">Model</div><div role="row"><div role="cell">detector</div></div>',
    "Share of the limit": "<div>detector 2</div><div>54 %</div>",
    "Latency over time": f'<div class="uplot">{LINES}</div>',
}
# The current minute is not on the graph yet: axes, a mark, and the scale of colours below.
NO_CELLS = (
    '<div class="uplot">' + LINES.replace("data-says", 'data-colour="grey" data-says') + f"</div>{LINES}"
)
NO_DATA = '<div data-testid="data-testid Panel data error message">No data</div>'
LOADING = '<div aria-label="Panel loading bar"></div>'
BROKEN = '<button data-testid="data-testid Panel status error" aria-label="Panel status"></button>'
HEADERS_ONLY = '<div role="columnheader">Model</div><div role="row"></div>'
NAMELESS = '<div role="row"><div role="cell"></div><div role="cell">51 ms</div></div>'
# What 0.5.0 showed in a real Grafana, and its siblings: the panels that change, and what is said of them.
DEFECTS = {
    "a link without a version": (
        {"Traffic": NO_DATA, "Now": NO_DATA},
        {"Traffic": "No data", "Now": "No data"},
    ),
    "All handed to a choice of one": (dict.fromkeys(GOOD, NO_DATA), dict.fromkeys(GOOD, "No data")),
    "another Prometheus": ({"Alerts": "<p>No data in response</p>"}, {"Alerts": "No data"}),
    "words only": ({"Models": "<div><div><span> No data </span></div></div>"}, {"Models": "No data"}),
    "no data source at all": ({"Now": BROKEN}, {"Now": "error"}),
    "states without words": (
        {"Alerts": '<canvas width="300" height="80" data-says="-∞+"></canvas>'},
        {"Alerts": "says -∞+"},
    ),
    "a legend without words": ({"Alerts": LINES + "<div>-∞+</div>"}, {"Alerts": "says -∞+"}),
    "a value that is no number": ({"Now": "<span>NaN</span>"}, {"Now": "says NaN"}),
    "nothing yet, and no bar that says so": (dict.fromkeys(GOOD, ""), {
        "Traffic": "nothing drawn", "Now": "no value", "Alerts": "nothing drawn", "Models": "no rows",
        "Share of the limit": "no value", "Latency over time": "no cell of the heatmap",
    }),
    "an empty canvas": (
        {"Traffic": '<canvas width="300" height="80"></canvas><div>detector 2</div>'},
        {"Traffic": "nothing drawn"},
    ),
    "a table of headers": ({"Models": HEADERS_ONLY}, {"Models": "no rows"}),
    "a row without a name": (
        {"Models": GOOD["Models"] + NAMELESS},
        {"Models": "a row without a name"},
    ),
    "a heatmap of axes": ({"Latency over time": NO_CELLS}, {"Latency over time": "no cell of the heatmap"}),
    "a column outside of a table": (
        {"Models": GOOD["Models"] + '<div style="margin-left: 320px; width: 90px">workers</div>'},
        {"Models": "wider than the panel"},
    ),
    "always loading": ({"Traffic": LINES + LOADING}, {"Traffic": "loading"}),
}  # fmt: skip
# Ten alerts as regions: rectangles over the whole height of the graph.
RED_BLOCK = """
const pen = document.querySelector('canvas').getContext('2d');
pen.fillStyle = '#e5484d18';
for (let alert = 0; alert < 10; alert++) pen.fillRect(60 * (alert % 5), 0, 60, 80);
"""
LATE = """setTimeout(() => {
  document.querySelector('canvas').insertAdjacentHTML('afterend', `%s`);
}, 1200);"""


def page(folder, changed=(), script=""):
    """The address of a page of good panels but for those that changed."""
    inside = GOOD | dict(changed)
    panels = "\n".join(PANEL.format(title=title, inside=inside[title]) for title in TYPES)
    path = folder / "page.html"
    path.write_text(PAGE.format(panels=panels, script=script), encoding="utf-8")
    return path.as_uri()


def test_a_board_with_data_everywhere_is_fine(browser, tmp_path):
    """A description that speaks of "No data" is no empty panel; what was seen is kept as a picture."""
    picture = tmp_path / "seen.png"

    assert look(browser, page(tmp_path), TYPES, picture, seconds=20, steady=0.5) == {}
    assert picture.stat().st_size > 1000


def test_a_panel_that_takes_its_time_is_waited_for(browser, tmp_path):
    """Loading is no trouble while there is time."""
    script = "setTimeout(() => document.querySelector('[aria-label=\"Panel loading bar\"]').remove(), 700);"
    address = page(tmp_path, {"Traffic": LINES + LOADING}, script)

    assert look(browser, address, TYPES, None, seconds=20, steady=0.5) == {}


@pytest.mark.parametrize(("changed", "expected"), DEFECTS.values(), ids=DEFECTS.keys())
def test_a_planted_defect_is_noticed(browser, tmp_path, changed, expected):
    """By its panel and by what is wrong with it."""
    assert look(browser, page(tmp_path, changed), TYPES, None, seconds=1.5, steady=0.5) == expected


def test_graphs_covered_by_marks_are_noticed(browser, tmp_path):
    """Marks that last while an alert fires hide what they mark."""
    address = page(tmp_path, script=RED_BLOCK)

    assert look(browser, address, TYPES, None, seconds=1.5, steady=0.5) == {"Traffic": "a mark is a band"}


def test_names_of_rows_over_each_other_are_noticed(browser, tmp_path):
    """Ten rows in the room of five: a name every seven pixels."""
    script = (
        "const pen = document.querySelectorAll('canvas')[1].getContext('2d');"
        "for (let row = 0; row < 10; row++) pen.fillText('TritonStageSlow', 60, 7 * row);"
    )
    found = look(browser, page(tmp_path, script=script), TYPES, None, seconds=1.5, steady=0.5)

    assert found == {"Alerts": "texts over each other"}


def test_a_title_that_is_cut_is_noticed(browser, tmp_path):
    """What is behind the ellipsis nobody reads."""
    script = "document.querySelector('h2').textContent = 'Slowest P99 of its threshold, 5 min';"
    found = look(browser, page(tmp_path, script=script), TYPES, None, seconds=1.5, steady=0.5)

    assert found == {"Traffic": "title cut"}


def test_a_panel_may_say_why_it_is_empty(browser, tmp_path):
    """In its own words, and in no others."""
    words = '<div data-testid="data-testid Panel data error message">no other replica with traffic</div>'
    address = page(tmp_path, {"Traffic": words})
    found = look(browser, address, TYPES, None, seconds=1.5, steady=0.5)
    said = {"Traffic": "no other replica with traffic"}

    assert found == {"Traffic": "No data"}
    assert look(browser, address, TYPES, None, empty=said, seconds=20, steady=0.5) == {}


def test_marks_that_are_lines_are_fine(browser, tmp_path):
    """Ten lines of two pixels over the whole height."""
    script = RED_BLOCK.replace("60 * (alert % 5), 0, 60", "20 * alert, 0, 2")

    assert look(browser, page(tmp_path, script=script), TYPES, None, seconds=20, steady=0.5) == {}


def test_a_panel_that_loses_its_data_is_noticed(browser, tmp_path):
    """Good at the first look, empty when the answer arrives: only what lasts counts."""
    address = page(tmp_path, script=LATE % NO_DATA)

    assert look(browser, address, TYPES, None, seconds=5) == {"Traffic": "No data"}


def test_a_second_panel_of_the_same_title_counts(browser, tmp_path):
    """A repeated panel hides nothing behind the last of them."""
    empty = PANEL.format(title="Traffic", inside=NO_DATA)
    address = page(tmp_path, script=f"document.body.insertAdjacentHTML('afterbegin', `{empty}`);")

    assert look(browser, address, TYPES, None, seconds=1.5, steady=0.5) == {"Traffic": "No data"}


def test_a_panel_that_is_not_there_is_noticed(browser, tmp_path):
    """A title that never appears."""
    found = look(browser, page(tmp_path), TYPES | {"Gone": "stat"}, None, seconds=1.5, steady=0.5)

    assert found == {"Gone": "not drawn"}
