"""How fast triage answers: a Prometheus with 50,000 series of simulated replicas, one of them slow.

python bench/triage.py [--series 50000] [--json] [--write]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import yaml
from results import publish, table

from support.serving import serving
from tritonobs import names, programs
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.errors import ClientError
from tritonobs.programs import LOOPBACK, free_ports
from tritonobs.stage import DEFAULT_BOUNDS_SECONDS, format_bound

if TYPE_CHECKING:
    from collections.abc import Iterator

REPLICAS, MODELS, STAGES = 10, 20, ("total", "decode", "letterbox", "normalise")
SCRAPE_SECONDS, WINDOW_SECONDS = 5, 45
RATE, MEAN = 5.0, 0.02
RUNS = 5
_SLOW_MODEL, _SLOW_STAGE, _SLOW_FACTOR = "model_07", "decode", 5.0


def page(replica: int, workers: int, elapsed: float, slow_since: float) -> Iterator[str]:
    """One replica's metrics page: every stage of every worker of every model, in Triton's text."""
    bounds = [*map(format_bound, (*DEFAULT_BOUNDS_SECONDS, float("inf")))]
    for number in range(MODELS):
        model = f"model_{number:02}"
        requests = RATE * elapsed
        slow = RATE * max(0.0, elapsed - slow_since) if model == _SLOW_MODEL else 0.0
        spent = MEAN * (requests + slow * (_SLOW_FACTOR - 1))
        for name, value in (
            (names.TRITON_SUCCESS, requests * workers),
            (names.TRITON_REQUEST_US, spent * 1.1 * workers * 1e6),
            (names.TRITON_QUEUE_US, requests * workers * 100),
            (names.TRITON_INFERENCES, requests * workers),
            (names.TRITON_EXECUTIONS, requests * workers),
        ):
            yield f'{name}{{model="{model}",version="1"}} {value:.6f}'
        for worker in range(workers):
            labels = f'model="{model}",version="1",worker="{model}_{worker}-{replica}-0"'
            yield f"{names.HEARTBEAT}{{{labels}}} {time.time():.3f}"
            for stage in STAGES:
                late = slow if stage in {"total", _SLOW_STAGE} else 0.0
                part = 1 if stage == "total" else 1 / 3
                total = MEAN * (requests * part + late * (_SLOW_FACTOR - 1))
                marked = f'{labels},stage="{stage}"'
                yield f"{names.STAGE_DURATION}_sum{{{marked}}} {total:.6f}"
                yield f"{names.STAGE_DURATION}_count{{{marked}}} {requests:.6f}"
                for bound in bounds:
                    below = requests if float(bound) >= MEAN * _SLOW_FACTOR else requests - late
                    below = below if float(bound) >= MEAN else 0.0
                    yield f'{names.STAGE_DURATION}_bucket{{{marked},le="{bound}"}} {below:.6f}'


class _Fleet(BaseHTTPRequestHandler):
    began: float
    slow_since: float
    workers: int

    def do_GET(self) -> None:
        replica = int(self.path.split("/")[1])
        elapsed = time.monotonic() - self.began
        body = "\n".join(page(replica, self.workers, elapsed, self.slow_since)) + "\n"
        self.send_response(200)
        self.end_headers()
        with suppress(BrokenPipeError):  # a scrape that Prometheus gave up
            self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class names it)
        """Nothing."""


def main() -> None:
    """Scrape for two windows, ask triage several times, publish the times."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--series", type=int, default=50_000)
    options.add_argument("--json", action="store_true")
    options.add_argument("--write", action="store_true")
    chosen = options.parse_args()
    per_worker = MODELS * (1 + len(STAGES) * (len(DEFAULT_BOUNDS_SECONDS) + 3))
    workers = max(1, round(chosen.series / REPLICAS / per_worker))
    with tempfile.TemporaryDirectory() as folder:
        values = _measure(Path(folder), workers)
    rows = [
        (name, f"{value:.2f}" if isinstance(value, float) else str(value)) for name, value in values.items()
    ]
    publish("triage", table(("", ""), rows), values, as_json=chosen.json, write=chosen.write)


def _measure(folder: Path, workers: int) -> dict[str, object]:
    _Fleet.began, _Fleet.slow_since, _Fleet.workers = time.monotonic(), WINDOW_SECONDS + 10.0, workers
    fleet = ThreadingHTTPServer((LOOPBACK, 0), _Fleet)
    (port,) = free_ports(1)
    jobs = [
        {
            "job_name": f"triton-{replica}",
            "metrics_path": f"/{replica}/metrics",
            "static_configs": [
                {
                    "targets": [f"{LOOPBACK}:{fleet.server_port}"],
                    "labels": {"instance": f"replica-{replica}:8002"},
                }
            ],
        }
        for replica in range(REPLICAS)
    ]
    config = folder / "prometheus.yml"
    settings = {"scrape_interval": f"{SCRAPE_SECONDS}s"}
    config.write_text(yaml.safe_dump({"global": settings, "scrape_configs": jobs}), encoding="utf-8")
    with (
        serving(fleet),
        (folder / "log").open("w", encoding="utf-8") as log,
        subprocess.Popen(
            [
                str(programs.find("prometheus")),
                f"--config.file={config}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address={LOOPBACK}:{port}",
            ],
            stdout=log,
            stderr=subprocess.STDOUT,
        ) as prometheus,
    ):
        try:
            return _ask(f"http://{LOOPBACK}:{port}", psutil.Process(prometheus.pid))
        finally:
            prometheus.terminate()


def _ask(url: str, prometheus: psutil.Process) -> dict[str, object]:
    client = PrometheusClient(url, timeout_seconds=10.0)
    deadline = time.monotonic() + 2 * WINDOW_SECONDS + 20
    while time.monotonic() < deadline:
        time.sleep(1.0)
    try:
        series = client.query("prometheus_tsdb_head_series")[0].value
    except (ClientError, IndexError):
        series = client.query('count({__name__=~".+"})')[0].value
    seconds, work, verdict = [], [], ""
    # The same moment in every run: a slow machine would move the windows past what is planted.
    moment = datetime.now(timezone.utc).isoformat(timespec="seconds")
    command = [
        *(sys.executable, "-m", "tritonobs", "triage", "--prometheus", url, "--format", "text"),
        *("--since", f"{WINDOW_SECONDS}s", "--baseline", f"{WINDOW_SECONDS + 10}s", "--at", moment),
    ]
    for _ in range(RUNS):
        before = _cpu_seconds(prometheus) + _cpu_seconds_of_children()
        began = time.perf_counter()
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds.append(time.perf_counter() - began)
        work.append(_cpu_seconds(prometheus) + _cpu_seconds_of_children() - before)
        verdict = (answer.stdout + answer.stderr).splitlines()[0]
    return {
        "series in Prometheus": int(series),
        "runs": RUNS,
        "seconds, median (whole command)": statistics.median(seconds),
        "seconds, worst": max(seconds),
        "CPU seconds, median (command and Prometheus, its scrapes included)": statistics.median(work),
        f"load of the machine meanwhile ({os.cpu_count()} cores)": os.getloadavg()[0],
        "verdict": verdict,
    }


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def _cpu_seconds_of_children() -> float:
    """Of the commands that have ended."""
    times = os.times()
    return times.children_user + times.children_system


if __name__ == "__main__":
    main()
