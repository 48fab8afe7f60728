"""NVIDIA's perf_analyzer as the client of a benchmark, with what its server spent meanwhile."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import psutil

from tritonobs.clients.exposition import read_page
from tritonobs.errors import StackError
from tritonobs.extensions.lab.stack.services import wheel_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tritonobs.extensions.lab.stack.native import LoneTriton

_WINDOWS = 3
_ATTEMPTS = 3  # on a busy machine a window without a single answer ends a run of perf_analyzer
# It ends with the process that started it, however that one ends.
_COMPUTE = "import os\nstarted_by = os.getppid()\nwhile os.getppid() == started_by:\n    sum(range(100_000))"
_LIBRARIES = {"libb64.so.0d": "libb64-*.so.0d*", "libcudart.so.12": "libcudart-*.so.12*"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One run: requests a second, latencies, and CPU seconds of server and workers per 1,000 requests."""

    throughput: float
    p50_seconds: float
    p99_seconds: float
    cpu_seconds_per_1000: float


def measure(
    server: LoneTriton, model: str, *, concurrency: int, window_seconds: float, data: Path | None = None
) -> Reading:
    """Load `model` for three windows and say how it went.

    `data` holds inputs in perf_analyzer's JSON; without it they are random.

    Raises:
        StackError: perf_analyzer is missing or failed; the text holds what it said.
    """
    program = Path(sys.executable).with_name("perf_analyzer")
    if not program.exists():
        raise StackError("no perf_analyzer here; install it with: pip install 'tritonclient==2.50.0'")
    with tempfile.TemporaryDirectory(prefix="tritonobs-bench-") as scratch:
        report = Path(scratch) / "report.csv"
        for attempt in range(_ATTEMPTS):
            before = _spent(server, model)
            done = subprocess.run(
                [
                    *(str(program), "-m", model, "-u", urlsplit(server.http_url).netloc, "-i", "http"),
                    *("--concurrency-range", str(concurrency), "-f", str(report), "--percentile=99"),
                    *("-p", str(int(window_seconds * 1000)), "-r", str(_WINDOWS), "-s", "999", "-b", "1"),
                    *(("--input-data", str(data)) if data else ()),
                ],
                env={**os.environ, "LD_LIBRARY_PATH": _libraries(Path(scratch) / str(attempt))},
                capture_output=True,
                text=True,
                check=False,
            )
            after = _spent(server, model)
            if not done.returncode and report.exists():
                break
        else:
            raise StackError(f"perf_analyzer failed on {model}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        with report.open(encoding="utf-8") as file:
            row = next(csv.DictReader(file))
    cpu_seconds, requests = (late - early for late, early in zip(after, before, strict=True))
    return Reading(
        throughput=float(row["Inferences/Second"]),
        p50_seconds=float(row["p50 latency"]) / 1e6,
        p99_seconds=float(row["p99 latency"]) / 1e6,
        cpu_seconds_per_1000=1000 * cpu_seconds / requests,
    )


@contextmanager
def apart(server: LoneTriton) -> Iterator[None]:
    """Meanwhile this process and what it starts has half of the cores, the server with its workers the other.

    On a single core all stay where they are.
    """
    clients, servers = halves()
    confine(psutil.Process(server.part.pid), servers)
    os.sched_setaffinity(0, clients)
    try:
        yield
    finally:
        os.sched_setaffinity(0, {*clients, *servers})


@contextmanager
def busy(number: int, *, niceness: int = 0) -> Iterator[None]:
    """Meanwhile so many processes compute all the time."""
    computing = [psutil.Popen([sys.executable, "-c", _COMPUTE]) for _ in range(number)]
    try:
        for process in computing:
            process.nice(niceness)
        yield
    finally:
        for process in computing:
            process.kill()
            process.wait()


def halves() -> tuple[list[int], list[int]]:
    """The cores of clients and those of servers; a single core is both."""
    cores = sorted(os.sched_getaffinity(0))
    half = (len(cores) + 1) // 2
    return cores[:half], cores[half:] or cores


def confine(root: psutil.Process, cores: Sequence[int]) -> None:
    """Let a process and all it started run on these cores only."""
    for process in (root, *root.children(recursive=True)):
        for thread in process.threads():
            os.sched_setaffinity(thread.id, cores)


def _spent(server: LoneTriton, model: str) -> tuple[float, float]:
    """CPU seconds of the server and all its workers, and requests of the model, until now."""
    root = psutil.Process(server.part.pid)
    times = [process.cpu_times() for process in (root, *root.children(recursive=True))]
    page = read_page(server.metrics_url, prefixes=("nv_inference_request_success",))
    return sum(each.user + each.system for each in times), page.total(
        "nv_inference_request_success", model=model
    )


def _libraries(folder: Path) -> str:
    """The wheel's libraries under the names perf_analyzer looks for."""
    wheel = wheel_folder() / "nvidia_pytriton.libs"
    folder.mkdir()
    for wanted, pattern in _LIBRARIES.items():
        for found in wheel.glob(pattern):
            (folder / wanted).symlink_to(found)
    return os.pathsep.join((str(folder), str(wheel)))
