"""What `tritonobs snapshot` writes, opened in a browser."""

from __future__ import annotations

import re

import pytest

from tritonobs import names
from tritonobs.extensions.picture.page import page, sheet

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


def test_a_snapshot_is_one_file(busy):
    """The page names no other address, and the same board is one PNG."""
    story = busy.drawn(busy.boards()["fleet"])

    assert re.findall(r"(?:src|href)=\"(?!data:)", page(story)) == []
    assert sheet(story).startswith(b"\x89PNG")


@pytest.mark.parametrize("name", [name for name in names.BOARDS if name != "accelerators"])
def test_a_browser_draws_a_snapshot_without_asking_anybody(busy, browser, tmp_path, name):
    """Every panel has its title and a picture that loads, nothing overflows, no request leaves the page."""
    story = busy.drawn(busy.boards()[name])
    path = tmp_path / f"{name}.html"
    path.write_text(page(story), encoding="utf-8")
    asked, said = [], []
    sheet_of_glass = browser.new_page(viewport={"width": 1440, "height": 900})
    sheet_of_glass.on("request", lambda one: asked.append(one.url))
    sheet_of_glass.on("console", lambda one: said.append(one.text))
    sheet_of_glass.goto(path.as_uri())
    titles = sheet_of_glass.locator("h3").all_inner_texts()
    empty = sheet_of_glass.evaluate("[...document.images].filter(one => !one.naturalWidth).length")
    wide = sheet_of_glass.evaluate("document.documentElement.scrollWidth > window.innerWidth")
    sheet_of_glass.close()

    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert said == []
    assert [answer.panel.title for answer in story.answers] == titles
    assert not empty
    assert not wide
