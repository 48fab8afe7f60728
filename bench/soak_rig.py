"""The rig of a soak: a server under load, its accounts with clients and Prometheus, and its memory."""

from __future__ import annotations

import statistics
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psutil

from support.closed_loop import ClosedLoop
from tritonobs import programs
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.clients.triton import TritonClient
from tritonobs.extensions.lab.stack import native, processes
from tritonobs.extensions.lab.stack.processes import Folders, Service
from tritonobs.programs import LOOPBACK, free_ports

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tritonobs.extensions.lab.stack.native import LoneTriton

SCRAPE_SECONDS = 1
# A series that is gone keeps its last value: the sum over all that ever were is what was recorded.
OUTCOMES = "sum by (outcome) (max_over_time(tritonobs_requests_total[6h]))"
CONFIG = """
backend: "python"
max_batch_size: 8
input [ {{ name: "IN" data_type: TYPE_FP32 dims: [ 1 ] }} ]
output [ {{ name: "OUT" data_type: TYPE_FP32 dims: [ 1 ] }} ]
instance_group [ {{ kind: KIND_CPU count: {instances} }} ]
dynamic_batching {{ }}
"""
PROMETHEUS = """
global: {{scrape_interval: {seconds}s}}
scrape_configs:
  - job_name: triton
    static_configs: [{{targets: ["{target}"]}}]
"""
SETTLE_SECONDS = 6.0
# A load that takes model instances away waits for each to hand over its numbers, one after the other.
PATIENCE_SECONDS = 30.0
# What a killed worker had is never answered.
KILLED_SECONDS = 6.0
GAP_SECONDS = 0.3


@dataclass(kw_only=True)
class Phase:
    """One phase: the answers of clients, what Prometheus recorded, and what killed workers may have lost."""

    name: str
    times: int
    seconds: float = 0.0
    answered: dict[str, int] = field(default_factory=dict)
    recorded: dict[str, int] = field(default_factory=dict)
    unexpected: dict[str, int] = field(default_factory=dict)
    explained: int = 0
    may_lose: int = 0
    began: float = 0.0
    ended: float = 0.0

    @property
    def lost(self) -> int:
        """Requests that clients were answered and Prometheus never saw; negative if it saw too many."""
        return sum(self.answered.values()) - sum(self.recorded.values())

    @property
    def kept(self) -> bool:
        """Whether the phase went as promised."""
        return not self.unexpected and (self.answered == self.recorded or 0 <= self.lost <= self.may_lose)


class Soak:
    """A server with one model under load, and the Prometheus that watches it, if any."""

    def __init__(
        self, server: LoneTriton, folder: Path, model: str, prometheus: PrometheusClient | None
    ) -> None:
        self.memory: list[tuple[float, int, int]] = []
        self._server = server
        self._model = model
        self._folder = folder
        self._triton = TritonClient(server.http_url, timeout_seconds=120)
        self._prometheus = prometheus
        self._seen: Counter[str] = Counter()
        self._most_qps = 0.0

    def phase(
        self, name: str, times: int, act: Callable[[Soak, int], None], *, kill_share: float = 0.0
    ) -> Phase:
        """Act under full load, then settle accounts.

        Of a second at the highest rate of all phases, `kill_share` of the requests may be lost; then clients
        may be answered for dead workers.
        """
        phase = Phase(name=name, times=times, began=time.monotonic())
        patience_seconds = KILLED_SECONDS if kill_share else PATIENCE_SECONDS
        good, bad = self._load(1.0, 8, patience_seconds), self._load(-1.0, 1, patience_seconds)
        with good, bad:
            act(self, times)
            phase.ended = time.monotonic()
            phase.seconds = phase.ended - phase.began
        self._server.require_alive()
        for text, count in (good.errors + bad.errors).items():
            if "negative" in text:
                phase.answered["error"] = phase.answered.get("error", 0) + count
            elif kill_share and ("is not healthy" in text or "TimeoutError" in text):
                phase.explained += count
            else:
                phase.unexpected[text] = count
        phase.answered = {"ok": good.ok, "error": phase.answered.get("error", 0)}
        self._most_qps = max(self._most_qps, sum(phase.answered.values()) / phase.seconds)
        phase.may_lose = round(kill_share * self._most_qps)
        phase.recorded = self._settle(phase.answered)
        print(phase, file=sys.stderr)
        return phase

    def reload(self) -> None:
        """Load the model again while it is loaded; Triton does so only when its code has changed."""
        (self._folder / "1" / "model.py").touch()
        self._load_model()

    def unload(self) -> None:
        """Unload the model and wait until its last worker is gone."""
        self._triton.unload(self._model)
        while any(entry.state != "UNAVAILABLE" for entry in self._triton.repository_index()):
            time.sleep(0.1)

    def set_instances(self, count: int) -> None:
        """Change the configuration and have it loaded."""
        write_config(self._folder, count)
        self._load_model()

    def _load_model(self) -> None:
        self._triton.load(self._model)
        # A load holds one of Triton's HTTP threads; clients on the same get their answers between two loads.
        time.sleep(GAP_SECONDS)

    def workers(self) -> list[psutil.Process]:
        """The running processes of model instances, oldest first, those on their way out included."""
        running = []
        for child in psutil.Process(self._server.part.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                if child.status() != psutil.STATUS_ZOMBIE:
                    running.append(child)
        return sorted(running, key=lambda worker: (worker.create_time(), worker.pid))

    @contextmanager
    def memory_watched(self) -> Iterator[None]:
        """Note the memory of the server and, on average, of its workers, every second of the block."""
        stopping = threading.Event()
        watching = threading.Thread(target=self._watch_memory, args=[stopping])
        watching.start()
        try:
            yield
        finally:
            stopping.set()
            watching.join()
            self._triton.close()

    def _watch_memory(self, stopping: threading.Event) -> None:
        server = psutil.Process(self._server.part.pid)
        while not stopping.wait(1):
            sizes = []
            for worker in self.workers():
                with suppress(psutil.NoSuchProcess):
                    sizes.append(worker.memory_info().rss)
            if sizes:
                row = (time.monotonic(), server.memory_info().rss, round(statistics.fmean(sizes)))
                self.memory.append(row)

    def _load(self, number: float, clients: int, patience_seconds: float) -> ClosedLoop:
        url = self._server.http_url
        load = ClosedLoop(url, self._model, tensor="IN", datatype="FP32", row=[number], clients=clients)
        load.timeout_seconds = patience_seconds
        return load

    def _settle(self, answered: dict[str, int]) -> dict[str, int]:
        """What Prometheus recorded since the last phase, once it agrees or long stood still."""
        if self._prometheus is None:
            return answered
        before: dict[str, int] = {}
        deadline = 0.0
        while True:
            now = {row.labels["outcome"]: round(row.value) for row in self._prometheus.query(OUTCOMES)}
            recorded = {outcome: now.get(outcome, 0) - self._seen[outcome] for outcome in answered}
            if recorded != before:
                before, deadline = recorded, time.monotonic() + SETTLE_SECONDS
            if recorded == answered or time.monotonic() > deadline:
                self._seen = Counter(now)
                return recorded
            time.sleep(0.2)


def write_config(folder: Path, instances: int) -> None:
    """The model's configuration with so many instances."""
    (folder / "config.pbtxt").write_text(CONFIG.format(instances=instances), encoding="utf-8")


@contextmanager
def prometheus_on(server: LoneTriton, folder: Path) -> Iterator[PrometheusClient]:
    """A real Prometheus that scrapes the server every second while the block runs."""
    (port,) = free_ports(1)
    url = f"http://{LOOPBACK}:{port}"
    folder.mkdir()
    target = server.metrics_url.removeprefix("http://").removesuffix("/metrics")
    config = folder / "prometheus.yml"
    config.write_text(PROMETHEUS.format(seconds=SCRAPE_SECONDS, target=target), encoding="utf-8")
    argv = (
        str(programs.find("prometheus")),
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={LOOPBACK}:{port}",
    )
    service = Service(name="prometheus", argv=argv, url=url, ready_url=f"{url}/-/ready", ports=(port,))
    parts = native.up([service], Folders(root=folder), lambda _: None)
    client = PrometheusClient(url)
    try:
        yield client
    finally:
        client.close()
        processes.stop(parts)
