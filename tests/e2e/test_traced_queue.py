"""The queue of a model without any code of ours grows: who says so, and where a request waited."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest
import requests

from support.traced_models import add_ensemble, add_timed
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.extensions.lab.stack import local, native
from tritonobs.extensions.lab.stack.processes import Folders

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.extensions.lab.stack.local import Running

pytestmark = pytest.mark.e2e
CALM_SECONDS, PATIENCE_SECONDS, SETTLING_SECONDS = 60.0, 200.0, 10.0
# The ensemble burns with its member, whose page it is.
BURNING = {"plain"}
FLEET = """\
fleet: traced
cluster: local
replicas: [{name: triton-1, url: "http://127.0.0.1:8000"}]
models:
  plain: {slos: {fast: {objective: 99%, threshold: 250ms, source: traces}}}
  ensemble: {pipeline: ensemble, calls: {plain: 1}, slos: {fast: {objective: 99%, threshold: 250ms, source:
  traces}}}
"""
WORK_SECONDS = 0.1


@pytest.fixture(name="running", scope="module")
def _running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A model that takes 0.1 s, one request at a time, in an ensemble; rules five times as fast."""
    folder = tmp_path_factory.mktemp("queue")
    add_timed(folder / "models", "plain")
    add_ensemble(folder / "models", "ensemble", "plain")
    (folder / "fleet.yaml").write_text(FLEET)
    folders = Folders(root=folder / "state")
    running = local.start(
        folder / "fleet.yaml",
        folders,
        lambda _: None,
        models=folder / "models",
        move_ports=True,
        drills_speed=5.0,
    )
    yield running
    native.down(folders)


class _Clients:
    """So many clients, each of which waits for its answer and `pause` seconds; while the block runs.

    A request that fails is no queue: what Triton said of it ends the test.
    """

    def __init__(self, url: str, clients: int, pause: float) -> None:
        self._url, self._pause = f"{url}/v2/models/ensemble/infer", pause
        self._refused: list[str] = []
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._loop) for _ in range(clients)]

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        assert self._refused == []

    def _loop(self) -> None:
        while not self._stopping.wait(self._pause):
            self._refused += self._ask()

    def _ask(self) -> list[str]:
        tensor = {"name": "SECONDS", "datatype": "FP32", "shape": [1, 1], "data": [WORK_SECONDS]}
        try:
            answer = requests.post(self._url, json={"inputs": [tensor]}, timeout=60)
        except requests.RequestException as error:
            return [str(error)]
        return [] if answer.ok else [answer.text]


def _firing(prometheus: PrometheusClient) -> set[str]:
    """The models whose budget burns fast."""
    return {
        alert.labels["model"]
        for alert in prometheus.alerts()
        if alert.name == "TritonErrorBudgetBurnFast" and alert.state == "firing"
    }


def test_a_growing_queue_is_paged_named_and_seen_in_the_slowest_trace(running: Running) -> None:
    """The whole request burns its budget; triage names the queue; the slowest request waited in it."""
    url = running.plan.replicas[0].http_url
    prometheus = PrometheusClient(running.plan.addresses.prometheus_url)
    with _Clients(url, clients=2, pause=1.0):
        time.sleep(CALM_SECONDS)
        assert _firing(prometheus) == set()
    began = time.time()
    with _Clients(url, clients=12, pause=0.0):
        while _firing(prometheus) != BURNING and time.time() - began < PATIENCE_SECONDS:
            time.sleep(1)
        assert _firing(prometheus) == BURNING
        time.sleep(SETTLING_SECONDS)
        assert _firing(prometheus) == BURNING
        since = f"{time.time() - began - SETTLING_SECONDS:.0f}s"
        words = [sys.executable, "-m", "tritonobs", "triage", str(running.fleet_file), "--format", "text"]
        done = subprocess.run([*words, "--since", since], capture_output=True, text=True, check=False)
    assert "for a free instance of plain" in done.stdout, done.stdout + done.stderr
    # The lines are as wide as the terminal: what stands in them is read as one text.
    said = " ".join(done.stdout.split())
    assert "Slowest traced requests to " in said, done.stdout + done.stderr
    _, slowest = said.split("Slowest traced requests to ", 1)
    first = slowest.split(" UTC. ")[1]
    assert first.startswith("Most of it went waiting in the queue of plain: "), done.stdout
