"""The accelerator board, on a page of each vendor's exporter: no such cards are at hand."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from tritonobs.extensions.picture.answers import options
from tritonobs.extensions.picture.board import read_board
from tritonobs.render.grafana import load_boards
from tritonobs.render.rules import evaluate_mixin

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]
# Queues are Triton's; no server stands behind these pages.
ABSENT = "Queue length"
PAGES = [
    path.read_text() for path in (Path(__file__).parents[2] / "dashboards" / "expositions").glob("*.prom")
]
CARDS = sum(int(re.search(r"^# Cards: (\d+)$", page, re.MULTILINE)[1]) for page in PAGES)
RECORDS = str(evaluate_mixin({})["records"])
VENDORS = set(re.findall(r'"vendor", "(\w+)", "", ""', RECORDS))


def test_every_vendors_cards_are_on_the_accelerator_board(cards):
    """Values of all of them, in one unit each."""
    board = load_boards()["accelerators"]

    def missing():
        seen = cards.drawn(board, 60)
        (used,) = [one for one in seen.answers if one.panel.title == "Utilisation"]
        return (set(seen.silent) - {ABSENT}) or VENDORS - {line.labels["vendor"] for line in used.lines}

    assert not cards.until(missing, 60)
    story = cards.drawn(board, 60)
    lines = {answer.panel.title: answer.lines for answer in story.answers}
    used = {line.labels["device"]: line.last for line in lines["Utilisation"]}

    assert used["185011D4-21104518-A0C4ED94-14CC040A-56102003"] == pytest.approx(0.64)
    assert used["MLU-20000000-0000-0000-0000-000000000001"] == pytest.approx(0.42)
    assert all(0 <= value <= 1 for value in used.values())
    # What DCGM cannot read is left out, not drawn as 9 EW.
    assert max(line.last for line in lines["Power"]) < 1000


def test_every_vendor_and_card_can_be_chosen(cards):
    """The variables of the accelerator board, on the pages of the vendors."""
    board = read_board(load_boards()["accelerators"])
    words = {variable.name: ".*" for variable in board.variables}
    now = time.time()
    found = {one.name: options(cards.client, one, words, now - 60, now) for one in board.variables}

    assert found["vendor"] == tuple(sorted(VENDORS))
    assert len(found["device"]) == CARDS
