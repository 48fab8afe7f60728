"""What the tests of boards look at: a busy stack, pages of card vendors, a language model, and a browser."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import requests
from playwright.sync_api import sync_playwright

from support.exporters import Exporters
from support.watched import Watched
from tritonobs import programs
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.extensions.lab.load.images import parse_mix
from tritonobs.extensions.lab.load.run import Background, LoadPlan
from tritonobs.extensions.lab.load.schedule import Segment
from tritonobs.extensions.lab.stack import local
from tritonobs.extensions.lab.stack.processes import Folders
from tritonobs.render.rules import evaluate_mixin

LONGER_THAN_THE_TESTS = 7200
EXAMPLE = Path(__file__).parents[3] / "examples" / "language"
EXPOSITIONS = Path(__file__).parents[2] / "dashboards" / "expositions"


@pytest.fixture(name="stack", scope="session")
def _stack(tmp_path_factory):
    """The practice stack, its rules five times as fast: else the last panel has data after seven minutes."""
    folders = Folders(root=tmp_path_factory.mktemp("stack"))
    running = local.start(None, folders, lambda _: None, move_ports=True, drills_speed=5.0)
    # A budget that nothing spends is not spent ever, and a panel says when.
    folders.faults_file.write_text(json.dumps({"detector": {"infer": {"share": 0.02}}}), encoding="utf-8")
    yield running
    local.stop(running)


@pytest.fixture(name="busy", scope="module")
def _busy(stack):
    """The stack while requests go to both pipelines: too many, and some that must fail."""
    url, log = stack.plan.replicas[0].http_url, stack.folders.logs / "triton.log"
    watched = Watched(PrometheusClient(stack.address("prometheus")), log)
    assert all(part.process() for part in stack.parts if part.name == "triton"), watched.last_words()
    # A server that traces much may end (docs/traces.md); the boards need some traces.
    traced = requests.post(f"{url}/v2/trace/setting", json={"trace_rate": "3"}, timeout=30)
    traced.raise_for_status()
    mix = parse_mix("1280x720=8,640x480=4,corrupt=1,unsupported=1")
    plans = (
        LoadPlan(segments=(Segment(qps=12, seconds=LONGER_THAN_THE_TESTS),), urls=(url,), mix=mix),
        LoadPlan(
            segments=(Segment(qps=2, seconds=LONGER_THAN_THE_TESTS),), urls=(url,), model="inspect_ensemble"
        ),
    )
    with Background(plans[0]), Background(plans[1]):
        watched.until(lambda: not watched.recorded())
        yield watched


@pytest.fixture(name="cards", scope="module")
def _cards(tmp_path_factory):
    """A Prometheus with our rules that scrapes a page of each vendor's exporter."""
    pages = {path.stem: path.read_text() for path in EXPOSITIONS.glob("*.prom")}
    records = evaluate_mixin({"stageInterval": "1s", "evaluationInterval": "1s"})["records"]
    groups = [one for one in records["groups"] if one["name"] == "tritonobs.accelerators"]
    folder = tmp_path_factory.mktemp("cards")
    program = programs.find("prometheus")
    with Exporters(pages) as exporters, exporters.prometheus(program, groups, folder) as running:
        yield Watched(PrometheusClient(running.url))


@pytest.fixture(name="language", scope="module")
def _language(tmp_path_factory):
    """The stack of the example of language models, its rules five times as fast."""
    folders = Folders(root=tmp_path_factory.mktemp("language"))
    running = local.start(
        EXAMPLE / "fleet.yaml", folders, lambda _: None,
        models=EXAMPLE / "models", move_ports=True, drills_speed=5.0,
    )  # fmt: skip
    yield running
    local.stop(running)


@pytest.fixture(name="language_watched", scope="module")
def _language_watched(language):
    """Its Prometheus, once there are records."""
    log = language.folders.logs / "triton.log"
    watched = Watched(PrometheusClient(language.address("prometheus")), log)
    watched.until(lambda: not watched.recorded())
    return watched


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
