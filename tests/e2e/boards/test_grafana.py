"""Grafana itself, with the provisioning that `tritonobs build` writes: every panel shows something.

Needs a Grafana (`TRITONOBS_GRAFANA_HOME`, the folder of its release, or `grafana` on PATH) and Chromium; is
skipped, with what is missing, where there is none. That an empty panel is noticed is proven without Grafana,
on a page that marks its panels as Grafana does.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path, PurePosixPath

import pytest
import requests
import yaml
from playwright.sync_api import TimeoutError as WaitedTooLong

from tritonobs import names
from tritonobs.render.artifact import write_artifacts
from tritonobs.render.grafana import render_grafana
from tritonobs.stack.ports import LOOPBACK, free_ports

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]
PASSWORD = "made-up-for-this-test"
# The marks are those of Grafana's own tests: its package @grafana/e2e-selectors, `Panels.Panel`, since 10.4.
PANELS = """() => [...document.querySelectorAll('[data-testid^="data-testid Panel header "]')].map(panel => ({
  title: panel.dataset.testid.slice('data-testid Panel header '.length),
  loading: panel.querySelector('[aria-label="Panel loading bar"]') !== null,
  trouble: panel.querySelector('[data-testid="data-testid Panel status error"]') !== null ? 'error' :
    panel.querySelector('[data-testid="data-testid Panel data error message"]') !== null ||
    [...panel.querySelectorAll('*')].some(one => !one.children.length && one.textContent.trim() === 'No data')
      ? 'No data' : '',
}))"""
SETTLED = f"""count => {{
  const seen = ({PANELS})();
  return seen.length >= count && seen.every(one => !one.loading);
}}"""


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
    program, folder = home
    root = tmp_path_factory.mktemp("grafana")
    provisioning = root / "built" / "grafana"
    write_artifacts(render_grafana(stack.plan, PurePosixPath(provisioning)), root / "built")
    source = {"name": "Cards", "uid": "cards", "type": "prometheus", "access": "proxy"}
    source |= {"url": cards.client.address, "jsonData": {"timeInterval": "1s"}}
    text = yaml.safe_dump({"apiVersion": 1, "datasources": [source]})
    (provisioning / "datasources" / "cards.yaml").write_text(text)
    (port,) = free_ports(1)
    env = {
        **os.environ,
        "GF_PATHS_DATA": str(root / "data"),
        "GF_PATHS_LOGS": str(root / "logs"),
        "GF_PATHS_PLUGINS": str(root / "plugins"),
        "GF_PATHS_PROVISIONING": str(provisioning),
        "GF_SERVER_HTTP_ADDR": LOOPBACK,
        "GF_SERVER_HTTP_PORT": str(port),
        "GF_SECURITY_ADMIN_PASSWORD": PASSWORD,
        "GF_ANALYTICS_REPORTING_ENABLED": "false",
        "GF_ANALYTICS_CHECK_FOR_UPDATES": "false",
        "GF_PLUGINS_PREINSTALL_DISABLED": "true",
    }
    words = [program, *(["server"] if Path(program).name == "grafana" else []), "--homepath", folder]
    address, log = f"http://{LOOPBACK}:{port}", root / "log"
    with log.open("w") as out:
        process = subprocess.Popen(words, env=env, stdout=out, stderr=out)
        try:
            assert not busy.until(lambda: not healthy(address, process), 120), log.read_text()[-2000:]
            yield address
        finally:
            process.terminate()
            process.wait()


def healthy(address, process):
    """Whether Grafana answers; a failure when it ended."""
    assert process.poll() is None, "Grafana ended"
    try:
        return requests.get(f"{address}/api/health", timeout=2).ok
    except requests.RequestException:
        return False


def look(browser, url, titles, picture, *, login="", seconds=120.0):
    """The panels with nothing to show, by title, once all have loaded; a picture of the page."""
    context = browser.new_context(viewport={"width": 1600, "height": 900})
    try:
        if login:
            answer = context.request.post(f"{login}/login", data={"user": "admin", "password": PASSWORD})
            assert answer.ok, answer.text()
        page = context.new_page()
        page.goto(url)
        # Grafana draws only what is on the screen.
        page.set_viewport_size({"width": 1600, "height": 4000})
        troubles, deadline = {}, time.monotonic() + seconds
        while True:
            left = max(1, deadline - time.monotonic())
            with suppress(WaitedTooLong):
                page.wait_for_function(SETTLED, arg=len(titles), timeout=1000 * left)
            seen = {one["title"]: one["trouble"] for one in page.evaluate(PANELS)}
            troubles = {title: seen.get(title, "not drawn") for title in titles}
            troubles = {title: trouble for title, trouble in troubles.items() if trouble}
            if not troubles or time.monotonic() > deadline:
                break
            page.wait_for_timeout(1000)
        page.screenshot(path=picture)
        return troubles
    finally:
        context.close()


def titles_of(board):
    """The titles of the panels of a board's JSON; a repeated panel once."""
    return [panel["title"] for panel in board["panels"] if panel["type"] != "row"]


@pytest.mark.parametrize("name", names.BOARDS)
def test_every_panel_shows_something_in_grafana(grafana, browser, busy, cards, name):
    """No "No data" and no error on any board; pictures go to TRITONOBS_PICTURES when that names a folder."""
    vendors = name == "accelerators"
    watched = cards if vendors else busy
    board = busy.boards()[name]
    words = {"model": ["inspect"]} if name == "model" else {}
    # Queues are Triton's; no server stands behind the pages of the cards.
    titles = [title for title in titles_of(board) if not (vendors and title == "Requests waiting")]
    watched.until(lambda: set(watched.told(board, 60 if vendors else 300, **words).silent) & set(titles))
    chosen = "&var-datasource=cards" if vendors else ""
    chosen += "&var-model=inspect" if words else ""
    picture = Path(os.environ.get("TRITONOBS_PICTURES", ".")) / f"grafana-{name}.png"
    if "TRITONOBS_PICTURES" not in os.environ:
        picture = None
    url = f"{grafana}/d/{board['uid']}?kiosk&from=now-5m&to=now{chosen}"

    assert look(browser, url, titles, picture, login=grafana) == {}


STAND_IN = """<!doctype html><title>stands in for Grafana</title>
<section data-testid="data-testid Panel header Traffic"><canvas></canvas><span>12 req/s</span></section>
<section data-testid="data-testid Panel header Late"><div aria-label="Panel loading bar"></div></section>
{more}
<script>setTimeout(() => {{
  document.querySelector('[aria-label="Panel loading bar"]').remove();
}}, 700)</script>"""
EMPTY = {
    "a message": '<div data-testid="data-testid Panel data error message">No data</div>',
    "only words": "<div><div><span> No data </span></div></div>",
}
BROKEN = '<button data-testid="data-testid Panel status error" aria-label="Panel status"></button>'


def stand_in(folder, more):
    """The address of a page with two good panels and more."""
    path = folder / "page.html"
    path.write_text(STAND_IN.format(more=more), encoding="utf-8")
    return path.as_uri()


def test_a_board_with_data_everywhere_is_fine(browser, tmp_path):
    """Also when a panel takes its time; a description that speaks of "No data" is no empty panel."""
    more = '<section data-testid="data-testid Panel header Words"><p>No data means no traffic.</p></section>'
    picture = tmp_path / "seen.png"

    assert look(browser, stand_in(tmp_path, more), ["Traffic", "Late", "Words"], picture, seconds=20) == {}
    assert picture.stat().st_size > 1000


@pytest.mark.parametrize("inside", EMPTY.values(), ids=EMPTY.keys())
def test_an_empty_panel_is_noticed(browser, tmp_path, inside):
    """By Grafana's mark, or by the words where a panel type has no mark."""
    more = f'<section data-testid="data-testid Panel header Errors">{inside}</section>'

    found = look(browser, stand_in(tmp_path, more), ["Traffic", "Errors"], None, seconds=1.5)
    assert found == {"Errors": "No data"}


def test_a_broken_panel_and_one_that_is_not_there_are_noticed(browser, tmp_path):
    """An error in the head of the panel; a title that never appears."""
    more = f'<section data-testid="data-testid Panel header Errors">{BROKEN}</section>'

    found = look(browser, stand_in(tmp_path, more), ["Errors", "Gone"], None, seconds=1.5)
    assert found == {"Errors": "error", "Gone": "not drawn"}
