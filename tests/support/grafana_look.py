"""What a browser sees of a board in Grafana: each panel must prove that it shows data, and go on showing it.

A page that is still loading has no "No data" on it, so the absence of trouble proves nothing. What proves a
panel depends on its type: lines and bands are drawn on a canvas, and the cells of a heatmap in colour; a stat
or a bar says a value; a table has rows, and each has a name. The marks on elements are those of Grafana's own
tests (@grafana/e2e-selectors from 11.2 on).
"""

from __future__ import annotations

import time

PASSWORD = "made-up-for-this-test"
# What proves a panel that is not drawn on a canvas, and what is said where that lacks.
PROOF = {
    "stat": ("values", "no value"),
    "bargauge": ("values", "no value"),
    "table": ("cells", "no rows"),
    "heatmap": ("cellsDrawn", "no cell of the heatmap"),
}
# Texts on a canvas are pixels: they are noted when they are drawn, with their places. So is the widest
# rectangle over the whole height: that is a region of annotations.
NOTE_DRAWING = """(() => {
  const pen = CanvasRenderingContext2D.prototype;
  const note = canvas => (canvas.noted ||= {texts: new Set(), places: [], band: 0});
  const {fillText, fillRect, clearRect} = pen;
  pen.clearRect = function (x, y, width, height) {
    if (width >= this.canvas.width && height >= this.canvas.height) this.canvas.noted = undefined;
    return clearRect.call(this, x, y, width, height);
  };
  pen.fillText = function (text, ...rest) {
    note(this.canvas).texts.add(String(text));
    note(this.canvas).places.push(rest);
    return fillText.call(this, text, ...rest);
  };
  pen.fillRect = function (x, y, width, height) {
    if (height >= this.canvas.height / 2) note(this.canvas).band = Math.max(note(this.canvas).band, width);
    return fillRect.call(this, x, y, width, height);
  };
})()"""
# Pixels: marks are lines.
WIDEST_MARK = 5
PANELS = """() => {
// Pixels: texts have 12 of them, and letters little less.
const LEAST_BETWEEN_TEXTS = 10;
// Between the strongest and the weakest of red, green and blue.
const LEAST_COLOUR = 40;
const WIDEST_MARK = WIDEST;
const crowded = places => {
  const columns = {};
  for (const [x, y] of places) (columns[Math.round(x)] ||= new Set()).add(Math.round(y));
  return Object.values(columns).some(found => [...found].sort((a, b) => a - b).some(
    (y, place, all) => place && y - all[place - 1] < LEAST_BETWEEN_TEXTS));
};
return [...document.querySelectorAll('[data-testid^="data-testid Panel header "]')].map(panel => {
  const inside = name => [...panel.querySelectorAll(`[data-testid="data-testid ${name}"]`)];
  const heads = [...panel.querySelectorAll('[data-testid$="header-container"]')];
  const body = inside('panel content')[0] || panel;
  const canvases = [...body.querySelectorAll('canvas')];
  const leaves = [...body.querySelectorAll('*')].filter(one =>
    !one.children.length && !['STYLE', 'SCRIPT'].includes(one.tagName) && one.textContent.trim() &&
    !heads.some(head => head.contains(one)));
  const blank = canvas => !canvas.width || !canvas.height ||
    !canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some(Boolean);
  // Axes are grey, and a mark is a line; the scale of colours below the heatmap is none of its cells.
  const cells = canvas => {
    const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    for (let at = 0, run = 0; at < data.length; at += 4) {
      const [red, green, blue, seen] = data.subarray(at, at + 4);
      run = seen && Math.max(red, green, blue) - Math.min(red, green, blue) > LEAST_COLOUR ? run + 1 : 0;
      if (run > WIDEST_MARK) return true;
    }
    return false;
  };
  const rows = [...body.querySelectorAll('[role="row"]')].map(
    row => [...row.querySelectorAll('[role="cell"], [role="gridcell"]')].map(one => one.textContent.trim()));
  return {
    title: panel.dataset.testid.slice('data-testid Panel header '.length),
    loading: panel.querySelector('[aria-label="Panel loading bar"]') !== null,
    error: inside('Panel status error').length > 0,
    message: inside('Panel data error message').length > 0,
    texts: [...leaves.map(one => one.textContent.trim()),
            ...canvases.flatMap(one => [...(one.noted?.texts || [])])],
    values: leaves.length,
    drawn: canvases.some(one => !blank(one)),
    band: Math.max(0, ...canvases.map(one => one.noted?.band || 0)),
    cut: heads.some(head => [...head.querySelectorAll('h2')].some(one => one.scrollWidth > one.clientWidth)),
    outside: leaves.some(one => one.getBoundingClientRect().right > body.getBoundingClientRect().right + 1),
    crowded: canvases.some(one => crowded(one.noted?.places || [])),
    cellsDrawn: canvases.some(one => one.closest('.uplot') && one.width && one.height && cells(one)),
    nameless: rows.some(cells => cells.some(Boolean) && !cells[0]),
    cells: [...body.querySelectorAll('[role="cell"], [role="gridcell"], td')].filter(
      one => one.textContent.trim()).length,
  };
})}""".replace("WIDEST;", f"{WIDEST_MARK};")
EMPTY = {"No data", "No data in response", "No data in selected time range"}
# States that Grafana made of thresholds instead of the words they have.
NONSENSE = ("-∞", "+∞", "NaN", "undefined")


def trouble(panel, sort, empty):
    """What is wrong with a panel of this type, or an empty text when it shows data for certain.

    `empty` is what the panel itself says where no data is no news.
    """
    if empty and empty in panel["texts"] and not panel["cut"]:
        return ""
    nonsense = next((text for text in panel["texts"] for one in NONSENSE if one in text), "")
    proof, lacking = PROOF.get(sort, ("drawn", "nothing drawn"))
    checks = (
        (panel["error"], "error"),
        (panel["message"] or set(panel["texts"]) & EMPTY, "No data"),
        (nonsense, f"says {nonsense}"),
        (panel["band"] > WIDEST_MARK, "a mark is a band"),
        (panel["cut"], "title cut"),
        (panel["outside"], "wider than the panel"),
        # Graphs leave out words for which there is no room; the names of rows are all written.
        (sort == "state-timeline" and panel["crowded"], "texts over each other"),
        (panel["nameless"], "a row without a name"),
        (panel["loading"], "loading"),
        (not panel[proof], lacking),
    )
    return next((words for wrong, words in checks if wrong), "")


def troubles(page, panels, empty):
    """The panels that do not show data, each with why; several of one title count together."""
    seen = {}
    for one in page.evaluate(PANELS):
        seen.setdefault(one["title"], []).append(one)
    found = {}
    for title, sort in panels.items():
        said = [trouble(one, sort, empty.get(title, "")) for one in seen.get(title, ())] or ["not drawn"]
        if any(said):
            found[title] = next(filter(None, said))
    return found


def look(browser, url, panels, picture, *, empty=None, login="", seconds=120.0, steady=3.0, width=1280):
    """The panels that are not as they should be, by title; `panels` are their types by title.

    `empty` is what a panel may say instead of data, by title. The answer is empty only when all have shown
    data without a break for `steady` seconds.
    """
    context = browser.new_context(viewport={"width": width, "height": 900})
    try:
        if login:
            answer = context.request.post(f"{login}/login", data={"user": "admin", "password": PASSWORD})
            assert answer.ok, answer.text()
        context.add_init_script(NOTE_DRAWING)
        page = context.new_page()
        page.goto(url)
        # Grafana draws only what is on the screen.
        page.set_viewport_size({"width": width, "height": 4500})
        last, since = {}, None
        deadline = time.monotonic() + seconds
        while since is None or time.monotonic() < since + steady:
            found = troubles(page, panels, empty or {})
            if found:
                last, since = found, None
            elif since is None:
                since = time.monotonic()
            if time.monotonic() > deadline:
                return last or {"": "not steady yet"}
            page.wait_for_timeout(250)
        page.screenshot(path=picture)
        return {}
    finally:
        context.close()
