"""What the tests of boards look at: the busy stack, the pages of card vendors, and a browser."""

from __future__ import annotations

import shutil
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.errors import BadAnswer
from tritonobs.load.images import parse_mix
from tritonobs.load.run import LoadPlan, run_load
from tritonobs.load.schedule import Segment
from tritonobs.picture.knobs import knobs_of
from tritonobs.picture.story import tell
from tritonobs.render.dashboards import load_boards
from tritonobs.render.rules import evaluate_mixin
from tritonobs.stack import binaries
from tritonobs.testing.exporters import Exporters

EXPOSITIONS = Path(__file__).parents[2] / "dashboards" / "expositions"
# Budgets are sampled every five minutes, and evaluated two minutes after that.
PATIENCE_SECONDS = 540


@dataclass(frozen=True, slots=True)
class Watched:
    """A Prometheus, and what the boards show of it."""

    client: PrometheusClient

    def boards(self):
        """The boards that fit its records."""
        return load_boards(knobs_of(self.client, start=time.time() - 60, end=time.time()))

    def recorded(self):
        """Whether the first records are there, whose names tell the boards their windows."""
        try:
            return bool(self.boards())
        except BadAnswer:
            return False

    def told(self, board, seconds=300, **wanted):
        """A board as it is now."""
        now = time.time()
        return tell(self.client, board, wanted, start=now - seconds, end=now)

    @staticmethod
    def until(look, seconds=PATIENCE_SECONDS):
        """What `look` returns once it is nothing; the last thing it returned when it never is."""
        deadline = time.monotonic() + seconds
        while (found := look()) and time.monotonic() < deadline:
            time.sleep(2)
        return found


@pytest.fixture(name="busy", scope="module")
def _busy(stack):
    """The stack while requests go to both pipelines: too many, and some that must fail."""
    url, stop = stack.plan.replicas[0].http_url, threading.Event()
    mix = parse_mix("1280x720=8,640x480=4,corrupt=1,unsupported=1")
    plans = (
        LoadPlan(segments=(Segment(qps=14, seconds=1200),), urls=(url,), mix=mix),
        LoadPlan(segments=(Segment(qps=2, seconds=1200),), urls=(url,), model="inspect_ensemble"),
    )
    threads = [threading.Thread(target=run_load, args=(plan,), kwargs={"stop": stop}) for plan in plans]
    for thread in threads:
        thread.start()
    watched = Watched(PrometheusClient(stack.address("prometheus")))
    watched.until(lambda: not watched.recorded())
    yield watched
    stop.set()
    for thread in threads:
        thread.join()


@pytest.fixture(name="cards", scope="module")
def _cards(tmp_path_factory):
    """A Prometheus with our rules that scrapes a page of each vendor's exporter."""
    pages = {path.stem: path.read_text() for path in EXPOSITIONS.glob("*.prom")}
    records = evaluate_mixin({"stageInterval": "1s", "evaluationInterval": "1s"})["records"]
    groups = [one for one in records["groups"] if one["name"] == "tritonobs.accelerators"]
    folder = tmp_path_factory.mktemp("cards")
    program = binaries.find("prometheus")
    with Exporters(pages) as exporters, exporters.prometheus(program, groups, folder) as running:
        yield Watched(PrometheusClient(running.url))


@pytest.fixture(name="browser", scope="module")
def _browser():
    """Headless Chromium, or the reason why there is none."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium here; as root on Debian: tools/setup_tests.sh")
    with sync_playwright() as playwright:
        # Without a sandbox, because root has none to offer; it opens nothing but what these tests made.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()
