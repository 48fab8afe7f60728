"""Every query of every panel and variable, on the running stack: data, not "No data"."""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from tritonobs import names
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.errors import BadAnswer
from tritonobs.load.images import parse_mix
from tritonobs.load.run import LoadPlan, run_load
from tritonobs.load.schedule import Segment
from tritonobs.picture.board import read_board
from tritonobs.picture.choices import options
from tritonobs.picture.knobs import knobs_of
from tritonobs.picture.page import page
from tritonobs.picture.sheet import sheet
from tritonobs.picture.story import tell
from tritonobs.render.dashboards import load_boards
from tritonobs.render.rules import evaluate_mixin
from tritonobs.stack import binaries
from tritonobs.stack.ports import LOOPBACK, free_ports

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(660)]
EXPOSITIONS = Path(__file__).parents[1] / "dashboards" / "expositions"
# External labels are put on what leaves a Prometheus: only one that gathers several has them on its series.
GATHERED = {"cluster"}
LIVE = tuple(name for name in names.BOARDS if name != "accelerators")
# Budgets are sampled every five minutes, and evaluated two minutes after that.
PATIENCE_SECONDS = 540


@pytest.fixture(name="prometheus", scope="module")
def _prometheus(stack):
    """The stack's Prometheus while requests go to both pipelines: too many, and some that must fail."""
    url, stop = stack.plan.replicas[0].http_url, threading.Event()
    mix = parse_mix("1280x720=8,640x480=4,corrupt=1,unsupported=1")
    plans = (
        LoadPlan(segments=(Segment(qps=14, seconds=1200),), urls=(url,), mix=mix),
        LoadPlan(segments=(Segment(qps=2, seconds=1200),), urls=(url,), model="inspect_ensemble"),
    )
    threads = [threading.Thread(target=run_load, args=(plan,), kwargs={"stop": stop}) for plan in plans]
    for thread in threads:
        thread.start()
    client = PrometheusClient(stack.address("prometheus"))
    until(lambda: not recorded(client))
    yield client
    stop.set()
    for thread in threads:
        thread.join()


def recorded(client):
    """Whether the first records are there, whose names tell the boards their windows."""
    try:
        return bool(knobs_of(client, start=time.time() - 60, end=time.time()))
    except BadAnswer:
        return False


def boards_of(client):
    """The boards that fit the records of this Prometheus."""
    now = time.time()
    return load_boards(knobs_of(client, start=now - 60, end=now))


def told(client, board, seconds=300, **wanted):
    """A board as it is now."""
    now = time.time()
    return tell(client, board, wanted, start=now - seconds, end=now)


def without_data(story):
    """The queries that found nothing, or could not be asked."""
    return [
        (answer.panel.title, target.ref, answer.trouble)
        for answer in story.answers
        for target in answer.panel.targets
        if answer.trouble or not any(line.ref == target.ref for line in answer.lines)
    ]


def until(look, seconds=PATIENCE_SECONDS):
    """What `look` returns once it is nothing; the last thing it returned when it never is."""
    deadline = time.monotonic() + seconds
    while (found := look()) and time.monotonic() < deadline:
        time.sleep(2)
    return found


@pytest.mark.parametrize("name", LIVE)
def test_every_query_of_a_board_finds_data_under_load(prometheus, name):
    """No panel of a board is empty while there is traffic, errors and an alert."""
    until(
        lambda: not prometheus.label_values("__name__", '{__name__=~"replica_.+"}', start=0, end=time.time())
    )
    board = boards_of(prometheus)[name]
    wanted = {"model": ["inspect"]} if name == "model" else {}

    assert until(lambda: without_data(told(prometheus, board, **wanted))) == []


@pytest.mark.parametrize("name", LIVE)
def test_every_variable_of_a_board_has_something_to_choose(prometheus, name):
    """Every drop-down but the cluster's, which one Prometheus alone does not know."""
    story = told(prometheus, boards_of(prometheus)[name])
    times = story.times
    empty = [
        variable.name
        for variable in story.board.variables
        if variable.name not in GATHERED
        and not options(prometheus, variable, story.words, times.start, times.end)
    ]

    assert empty == []


def test_a_pipeline_board_opens_with_a_pipeline(prometheus):
    """The first model offered calls others."""
    board = read_board(boards_of(prometheus)["pipeline"])
    (variable,) = [one for one in board.variables if one.name == "model"]
    now = time.time()

    assert options(prometheus, variable, {"cluster": ".*"}, now - 60, now)[0] in {
        "inspect",
        "inspect_ensemble",
    }


def test_marks_tell_what_happened(prometheus):
    """Workers started and alerts fired within the last minutes; both are marked."""
    board = boards_of(prometheus)["fleet"]

    def missing():
        seen = {moment.mark.name for moment in told(prometheus, board, seconds=1200).moments}
        return {"Alerts", "Reloads"} - seen

    assert until(missing) == set()


def test_the_cluster_is_a_choice_where_several_are_gathered(prometheus, tmp_path):
    """A Prometheus that gathers from others sees their external labels; the variable offers them."""
    job = {
        "job_name": "gathered",
        "scrape_interval": "1s",
        "honor_labels": True,
        "metrics_path": "/federate",
        "params": {"match[]": ['{__name__=~"model_version:.+"}']},
        "static_configs": [{"targets": [prometheus.address.removeprefix("http://")]}],
    }
    with running_prometheus(tmp_path, {"scrape_configs": [job]}) as gathering:
        board = read_board(load_boards()["fleet"])
        (variable,) = [one for one in board.variables if one.name == "cluster"]

        def missing():
            now = time.time()
            return not options(gathering, variable, {}, now - 60, now)

        assert not until(missing, 30)


@pytest.fixture(name="cards", scope="module")
def _cards(tmp_path_factory):
    """A Prometheus with our rules that scrapes a page of each vendor's exporter."""
    pages = {path.stem: path.read_bytes() for path in EXPOSITIONS.glob("*.prom")}

    class Page(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(pages[self.path.strip("/")])

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer((LOOPBACK, 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    folder = tmp_path_factory.mktemp("cards")
    knobs = {"stageInterval": "1s", "evaluationInterval": "1s"}
    records = evaluate_mixin(knobs)["records"]
    records["groups"] = [one for one in records["groups"] if one["name"] == "tritonobs.accelerators"]
    (folder / "records.yml").write_text(yaml.safe_dump(records))
    jobs = [
        {
            "job_name": name,
            "metrics_path": f"/{name}",
            "static_configs": [{"targets": [f"{LOOPBACK}:{server.server_port}"]}],
        }
        for name in pages
    ]
    config = {"global": {"scrape_interval": "1s"}, "rule_files": ["records.yml"], "scrape_configs": jobs}
    with running_prometheus(folder, config) as client:
        yield client
    server.shutdown()


def test_every_vendors_cards_are_on_the_accelerator_board(cards):
    """NVIDIA's, Ascend's and Cambricon's values, in one unit each."""
    board = load_boards()["accelerators"]
    # Queues are Triton's; no server stands behind these pages.
    until(lambda: set(told(cards, board, 60).silent) - {"Requests waiting"}, 60)
    story = told(cards, board, 60)
    lines = {answer.panel.title: answer.lines for answer in story.answers}
    used = {line.labels["device"]: line.last for line in lines["Utilisation"]}
    vendors = {line.labels["vendor"] for line in lines["Utilisation"]}

    assert set(story.silent) == {"Requests waiting"}
    assert vendors == {"nvidia", "ascend", "cambricon"}
    assert used["A1-B2-C3-D4-E5"] == pytest.approx(0.64)
    assert used["MLU-20000000-0000-0000-0000-000000000001"] == pytest.approx(0.42)
    assert all(0 <= value <= 1 for value in used.values())
    # What DCGM cannot read is left out, not drawn as 9 EW.
    assert max(line.last for line in lines["Power"]) < 1000


def test_every_vendor_and_card_can_be_chosen(cards):
    """The variables of the accelerator board, on the pages of the vendors."""
    board = read_board(load_boards()["accelerators"])
    words = {variable.name: ".*" for variable in board.variables}
    now = time.time()
    found = {one.name: options(cards, one, words, now - 60, now) for one in board.variables}

    assert found["vendor"] == ("ascend", "cambricon", "nvidia")
    assert len(found["device"]) == 6


def test_a_snapshot_is_one_file_that_a_browser_draws(prometheus, tmp_path):
    """The page holds everything itself, and headless Chromium draws it without asking anybody anything."""
    story = told(prometheus, boards_of(prometheus)["fleet"])
    text = page(story)
    (tmp_path / "fleet.html").write_text(text)
    (tmp_path / "fleet.png").write_bytes(sheet(story))

    assert re.findall(r"(?:src|href)=\"(?!data:)", text) == []
    assert (tmp_path / "fleet.png").read_bytes().startswith(b"\x89PNG")

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium here; what does not need one was proven")
    done = subprocess.run(
        [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1440,2300",
         f"--screenshot={tmp_path / 'seen.png'}", f"file://{tmp_path / 'fleet.html'}"],
        capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert (tmp_path / "seen.png").stat().st_size > 50_000


@contextmanager
def running_prometheus(folder, config):
    """A Prometheus of the test's own."""
    (port,) = free_ports(1)
    settings = {"global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, **config}
    (folder / "prometheus.yml").write_text(yaml.safe_dump(settings))
    process = subprocess.Popen(
        [binaries.find("prometheus"), "--config.file=prometheus.yml", "--storage.tsdb.path=data",
         f"--web.listen-address={LOOPBACK}:{port}"],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    client = PrometheusClient(f"http://{LOOPBACK}:{port}")
    try:
        until(lambda: not _ready(client), 30)
        yield client
    finally:
        process.terminate()
        process.wait()


def _ready(client):
    try:
        return client.ready()
    except Exception:  # noqa: BLE001 (whatever it is, it is not ready yet)
        return False
