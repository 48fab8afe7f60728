"""Grafana itself, with the provisioning that `tritonobs build` writes: every panel shows something.

Needs a Grafana (`TRITONOBS_GRAFANA_HOME`, the folder of its release, or `grafana` on PATH) and Chromium; is
skipped, with what is missing, where there is none. That `look` notices an empty or wrong panel is proven in
test_look.py, without Grafana.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
import yaml

from support.grafana_look import look
from support.grafana_server import grafana_server, provisioned
from support.language_load import prompts
from tritonobs import names
from tritonobs.render.grafana import load_boards

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]
CARDS = "cards"
# As people look at it: a heatmap has its first cell a minute after the first request.
SHOWN = "from=now-5m&to=now&refresh=30s"
WIDTH = int(os.environ.get("TRITONOBS_PICTURES_WIDTH", "1280"))
THEME = os.environ.get("TRITONOBS_PICTURES_THEME", "dark")


@pytest.fixture(name="home", scope="module")
def _home():
    """Where a Grafana lies: its program and its folder."""
    given = os.environ.get("TRITONOBS_GRAFANA_HOME")
    path = f"{given}/bin" if given else None
    program = shutil.which("grafana", path=path) or shutil.which("grafana-server", path=path)
    if program is None:
        pytest.skip(
            "no Grafana here: unpack a release from https://grafana.com/grafana/download and name its folder "
            "in TRITONOBS_GRAFANA_HOME, or put `grafana` on PATH"
        )
    return program, given or "/usr/share/grafana"


@pytest.fixture(name="grafana", scope="module")
def _grafana(home, stack, busy, cards, tmp_path_factory):
    """Its address and the boards, provisioned for the running stack; cards have a Prometheus of their own."""
    root = tmp_path_factory.mktemp("grafana")
    provisioning = provisioned(stack.plan, root)
    source = {"name": "Cards", "uid": "cards", "type": "prometheus", "access": "proxy"}
    source |= {"url": cards.client.address, "jsonData": {"timeInterval": "1s"}}
    text = yaml.safe_dump({"apiVersion": 1, "datasources": [source]})
    (provisioning / "datasources" / "cards.yaml").write_text(text)
    # Built boards name the fleet's data source; the cards have another one.
    of_cards = load_boards({"source": "cards"})["accelerators"] | {"uid": CARDS, "title": "Cards"}
    (provisioning / "dashboards" / "boards" / "cards.json").write_text(json.dumps(of_cards))
    with grafana_server(*home, provisioning, root) as server:
        assert not busy.until(lambda: not server.answers(), 120), server.log.read_text()[-2000:]
        yield server.url


def types_of(board):
    """The types of the panels of a board's JSON, by title."""
    return {panel["title"]: panel["type"] for panel in board["panels"] if panel["type"] != "row"}


def words_of(board):
    """What panels say where no data is no news, by title."""
    panels = [panel for panel in board["panels"] if panel["type"] != "row"]
    return {panel["title"]: panel["fieldConfig"]["defaults"].get("noValue", "") for panel in panels}


def pictured(name):
    """Where the picture of a board is kept; None where nobody asked for it."""
    folder = os.environ.get("TRITONOBS_PICTURES")
    return Path(folder) / f"grafana-{name}.png" if folder else None


# A language model has a stack of its own: below.
@pytest.mark.parametrize("name", [name for name in names.BOARDS if name != "language"])
def test_every_panel_shows_something_in_grafana(grafana, browser, busy, cards, name):
    """Every panel proves that it does, for seconds.

    TRITONOBS_PICTURES keeps the pictures, as wide as TRITONOBS_PICTURES_WIDTH, in TRITONOBS_PICTURES_THEME.
    """
    vendors = name == "accelerators"
    watched = cards if vendors else busy
    board = busy.boards()[name]
    words = {"model": ["inspect"]} if name == "model" else {}
    # Queues are Triton's; no server stands behind the pages of the cards.
    panels = {
        title: sort for title, sort in types_of(board).items() if not (vendors and title == "Queue length")
    }
    said = words_of(board)
    # One replica has no peers, and no stage is given bytes: the panels say so.
    wanted = {title for title in panels if not said[title]}
    watched.until(lambda: set(watched.drawn(board, 60 if vendors else 300, **words).silent) & wanted)
    chosen = "&var-model=inspect" if words else ""
    url = f"{grafana}/d/{CARDS if vendors else board['uid']}?kiosk&theme={THEME}&{SHOWN}{chosen}"

    assert look(browser, url, panels, pictured(name), empty=said, login=grafana, width=WIDTH) == {}


def test_every_panel_of_the_board_of_language_models_shows_something(
    home, browser, language, language_watched, tmp_path
):
    """Words stream while a full cache puts requests back."""
    board = language_watched.boards()["language"]
    panels, said = types_of(board), words_of(board)
    wanted = {title for title in panels if not said[title]}
    with (
        grafana_server(*home, provisioned(language.plan, tmp_path), tmp_path) as server,
        prompts(language.plan.replicas[0].http_url, at_once=12, words=60, answer=40),
    ):
        assert not language_watched.until(lambda: not server.answers(), 120), server.log.read_text()[-2000:]
        language_watched.until(lambda: set(language_watched.drawn(board, 300).silent) & wanted)
        url = f"{server.url}/d/{board['uid']}?kiosk&theme={THEME}&{SHOWN}"
        picture = pictured("language")
        assert look(browser, url, panels, picture, empty=said, login=server.url, width=WIDTH) == {}
