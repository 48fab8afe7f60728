"""How far quantiles from the default bounds are from the truth, and what the series cost.

The error is that of `histogram_quantile`, which interpolates linearly in a bucket, for log-normal stages:
their distribution is known, so nothing is drawn. The cost is measured on a real Triton and Prometheus.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import psutil
import requests
from results import publish, table

from tritonobs import programs
from tritonobs.clients.exposition import read_page
from tritonobs.extensions.lab.stack import native, processes
from tritonobs.extensions.lab.stack.native import lone_triton
from tritonobs.extensions.lab.stack.processes import Folders, Service
from tritonobs.programs import LOOPBACK, free_ports
from tritonobs.stage import DEFAULT_BOUNDS_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# fmt: off
BEFORE = (
    0.001, 0.002, 0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
)
# fmt: on
QUANTILES = (0.5, 0.95, 0.99)
SIGMAS = (0.3, 0.5, 0.7, 1.0)
MEDIANS = np.geomspace(1e-4, 10, 2001)
STAGES, WORKERS = 5, 4
_SECONDS = 20.0
CONFIG = """
backend: "python"
max_batch_size: 0
input [ {{ name: "IN" data_type: TYPE_FP32 dims: [ 1 ] }} ]
output [ {{ name: "OUT" data_type: TYPE_FP32 dims: [ 1 ] }} ]
instance_group [ {{ kind: KIND_CPU count: {workers} }} ]
parameters {{ key: "latency_buckets" value {{ string_value: "{bounds}" }} }}
"""
# Every stage of every worker changes all the time, which is the most a flush can have to do.
MODEL = """
import threading, time
import triton_python_backend_utils as pb_utils
from tritonobs.stage import Stages

class TritonPythonModel:
    def initialize(self, args):
        self.stages = Stages(args, pb_utils)
        threading.Thread(target=self.work, daemon=True).start()

    def work(self):
        while True:
            for stage in ("total", "read", "decode", "infer", "encode"):
                self.stages.observe(stage, 0.005)
            self.stages.outcome("ok")
            time.sleep(0.01)

    def execute(self, requests):
        return []

    def finalize(self):
        self.stages.finalize()
"""
PROMETHEUS = """
global: {{ scrape_interval: 5s }}
scrape_configs: [{{ job_name: triton, static_configs: [{{ targets: ["{target}"] }}] }}]
"""


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--errors-only", action="store_true", help="start no server")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the tables into bench/RESULTS.md")
    options = parser.parse_args()
    sets = {"0.5.0": BEFORE, "now": DEFAULT_BOUNDS_SECONDS}
    errors = {name: _errors(bounds) for name, bounds in sets.items()}
    rows = [
        [name, str(len(sets[name])), f"{sigma}", *(f"{100 * error:.1f} %" for error in each)]
        for name, found in errors.items()
        for sigma, each in zip(SIGMAS, found, strict=True)
    ]
    text = (
        "The largest error of a quantile over log-normal stages with medians from 0.1 ms to 10 s.\n\n"
        f"{table(['bounds of', 'bounds', 'sigma', 'P50', 'P95', 'P99'], rows)}\n"
    )
    values: dict[str, object] = {"errors": errors}
    if not options.errors_only:
        costs = {name: _cost(bounds) for name, bounds in sets.items()}
        values["costs"] = costs
        text += (
            f"\nThe cost, with {STAGES} stages that all change all the time in {WORKERS} workers of a model, "
            f"over {_SECONDS:.0f} s. A stage has its bounds and 3 more series in each worker.\n\n"
        )
        rows = [[name, *cost.values()] for name, cost in costs.items()]
        text += table(["bounds of", *costs["now"]], rows)
    publish("bounds", text, values, as_json=options.json, write=options.write)


def _errors(bounds: Sequence[float]) -> list[list[float]]:
    """For each sigma the largest relative error of each quantile."""
    return [[max(_error(bounds, m, sigma, q) for m in MEDIANS) for q in QUANTILES] for sigma in SIGMAS]


def _error(bounds: Sequence[float], median: float, sigma: float, quantile: float) -> float:
    normal = NormalDist(np.log(median), sigma)
    true = float(np.exp(normal.inv_cdf(quantile)))
    at = int(np.searchsorted(bounds, true))
    if at == len(bounds):
        shown = bounds[-1]  # what Prometheus answers for the infinite bucket
    else:
        low, high = (bounds[at - 1] if at else 0.0), bounds[at]
        below, upto = (normal.cdf(np.log(edge)) if edge else 0.0 for edge in (low, high))
        shown = low + (high - low) * (quantile - below) / (upto - below)
    return abs(shown - true) / true


def _cost(bounds: Sequence[float]) -> dict[str, str]:
    """What a server and a Prometheus have to do with these bounds."""
    with tempfile.TemporaryDirectory(prefix="tritonobs-bench-") as scratch:
        repository = Path(scratch) / "repository"
        (repository / "m" / "1").mkdir(parents=True)
        (repository / "m" / "1" / "model.py").write_text(MODEL, encoding="utf-8")
        text = CONFIG.format(workers=WORKERS, bounds=", ".join(map(str, bounds)))
        (repository / "m" / "config.pbtxt").write_text(text, encoding="utf-8")
        with lone_triton(repository, Path(scratch) / "triton") as server:
            time.sleep(10)  # until no series is held at 0 any more
            with _prometheus(server.metrics_url, Path(scratch) / "prometheus") as prometheus:
                before, cpu = _flushing(server.metrics_url), _cpu(server.part.pid)
                time.sleep(_SECONDS)
                after, cpu_after = _flushing(server.metrics_url), _cpu(server.part.pid)
                page = requests.get(server.metrics_url, timeout=10)
                head = read_page(f"{prometheus[0]}/metrics", prefixes=("prometheus_tsdb_head_series",))
                resident = psutil.Process(prometheus[1]).memory_info().rss
                samples = [line for line in page.text.splitlines() if line.startswith("tritonobs_")]
        return {
            "series a worker": f"{len(samples) / WORKERS:.0f}",
            "page": f"{len(page.content) / 1024:.0f} KiB",
            "reading it": f"{page.elapsed.total_seconds() * 1000:.0f} ms",
            "flush, a worker": f"{1000 * (after - before) / WORKERS / _SECONDS:.1f} ms/s",
            "CPU of all": f"{100 * (cpu_after - cpu) / _SECONDS:.1f} % of a core",
            "series in Prometheus": f"{head.total('prometheus_tsdb_head_series'):.0f}",
            "its memory": f"{resident / 2**20:.0f} MiB",
        }


def _flushing(url: str) -> float:
    return read_page(url, prefixes=("tritonobs_flush_seconds",)).total("tritonobs_flush_seconds_total")


def _cpu(pid: int) -> float:
    root = psutil.Process(pid)
    times = [process.cpu_times() for process in (root, *root.children(recursive=True))]
    return sum(each.user + each.system for each in times)


@contextmanager
def _prometheus(target: str, folder: Path) -> Iterator[tuple[str, int]]:
    """A Prometheus that scrapes the page every 5 s: its address and its process."""
    (port,) = free_ports(1)
    url = f"http://{LOOPBACK}:{port}"
    folder.mkdir()
    config = folder / "prometheus.yml"
    host = target.removeprefix("http://").removesuffix("/metrics")
    config.write_text(PROMETHEUS.format(target=host), encoding="utf-8")
    options = (f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}")
    argv = (str(programs.find("prometheus")), *options, f"--web.listen-address={LOOPBACK}:{port}")
    service = Service(name="prometheus", argv=argv, url=url, ready_url=f"{url}/-/ready", ports=(port,))
    parts = native.up([service], Folders(root=folder / "run"), lambda _: None)
    try:
        yield url, parts[0].pid
    finally:
        processes.stop(parts)


if __name__ == "__main__":
    main()
