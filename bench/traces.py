"""What tracing costs: Triton bare, at rates of traces, with its own summaries; and what the receiver spends.

A rate is compared with tracing switched off in the same server, which two servers would blur: they differ by
5 % when both are bare. What the flags alone cost, with tracing off, is a comparison of two servers, like that
of the summaries. The two of a pair are measured in turn, many times for a short while, so that other work of
the machine slows both alike. Figures are medians over the pairs. The server traces to a receiver that runs
meanwhile, on the cores of the client.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import requests
from perf import apart, confine, halves, measure
from results import publish, table

from support.spans import body, request
from support.traced_models import add_busy, add_noop
from tritonobs.clients.triton import TritonClient
from tritonobs.extensions.lab.stack.native import lone_triton
from tritonobs.extensions.lab.stack.services import trace_flags
from tritonobs.programs import LOOPBACK, free_ports

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tritonobs.extensions.lab.stack.native import LoneTriton

    Place = Callable[[LoneTriton], AbstractContextManager[None]]
    Read = Callable[[LoneTriton], tuple[float, float, float]]

# Not 1: the server of 24.10 ends with signal 11 within seconds when it traces 3,000 requests a second.
# At other rates it may do so after a minute of such load, so servers are new after a few pairs.
RATES = (1000, 100, 10)
# Even: each of a pair is first as often as the other, or a server that still warms up looks dear.
_PAIRS_OF_A_SERVER = 4
_BARE_AGAIN, _OFF, _SUMMARIES = "bare again", "switched off", "summaries"
_OFF_AGAIN = "off again"
_MODELS = {
    "noop": (_BARE_AGAIN, _OFF, _OFF_AGAIN, *(f"1 in {rate}" for rate in RATES), _SUMMARIES),
    "busy": (_BARE_AGAIN, _OFF, _OFF_AGAIN, "1 in 100", "1 in 10"),
}
"""Which ways are measured with a model that does nothing, and with one that computes for a millisecond."""
_CONCURRENCY = 8
_SPANS_A_BODY = 512
_BATCHES = 60
_SWITCHED_OFF = {"trace_level": ["OFF"]}


def _every(rate: int) -> dict[str, object]:
    return {"trace_level": ["TIMESTAMPS"], "trace_rate": str(rate)}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """A server with the second setting against itself with the first; without a first, against a bare one."""

    flags: tuple[str, ...]
    first: dict[str, object] | None = None
    second: dict[str, object] | None = None

    @property
    def servers(self) -> tuple[tuple[str, ...], ...]:
        """The flags of each server."""
        return (self.flags,) if self.first else ((), self.flags)

    @property
    def against(self) -> str:
        """What it is compared with."""
        return "off" if self.first else "bare"


def main() -> None:
    """Run what the command line asks for."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pairs", type=int, default=16, choices=range(2, 101, 2), metavar="EVEN")
    parser.add_argument("--seconds", type=float, default=1.5, help="of each half of a pair")
    parser.add_argument(
        "--all-cores", action="store_true", help="the server is not confined to half of the cores"
    )
    parser.add_argument("--models", nargs="+", choices=tuple(_MODELS), default=tuple(_MODELS))
    parser.add_argument("--ways", nargs="+", help="only these, like: 'bare again' '1 in 100'")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the table into bench/RESULTS.md")
    options = parser.parse_args()
    rows, values = [], {}
    with tempfile.TemporaryDirectory(prefix="tritonobs-bench-") as scratch:
        root = Path(scratch)
        add_noop(root / "models", "noop")
        add_busy(root / "models", "busy")
        with _receiver(root / "receiver") as (url, process):
            if not options.all_cores:
                confine(process, halves()[0])
            traced = trace_flags(receiver=url, replica="a", rate=1000)
            ways: dict[str, _Way] = {
                _BARE_AGAIN: _Way(flags=()),
                _OFF: _Way(flags=traced, second=_SWITCHED_OFF),
                _OFF_AGAIN: _Way(flags=traced, first=_SWITCHED_OFF, second=_SWITCHED_OFF),
                **{
                    f"1 in {rate}": _Way(flags=traced, first=_SWITCHED_OFF, second=_every(rate))
                    for rate in RATES
                },
                _SUMMARIES: _Way(flags=("--metrics-config=summary_latencies=true",)),
            }
            for model in options.models:
                for way in _MODELS[model]:
                    if options.ways and way not in options.ways:
                        continue
                    throughput, p99, cpu = _compared(root, model, way, ways[way], options)
                    rows.append(
                        [model, way, ways[way].against, f"{throughput:.3f}", f"{p99:.3f}", f"{cpu:.3f}"]
                    )
                    values[f"{model} {way}"] = {"throughput": throughput, "p99": p99, "cpu": cpu}
            seconds = _ceiling(url, process)
    values["receiver_seconds_per_1000_spans"] = seconds
    text = (
        f"*noop* does nothing, *busy* computes for a millisecond; {_CONCURRENCY} clients in a closed loop. "
        f"Medians of {options.pairs} pairs. The server and its thread that sends traces have "
        f"{'all' if options.all_cores else 'half'} of the cores, client and receiver the others. "
        "*Bare again* and *off again* compare what is the same: what the pairs cannot tell.\n\n"
        f"{table(['model', 'way', 'against', 'throughput', 'p99', 'CPU a request'], rows)}\n\n"
        f"The receiver takes {1e3 * seconds:.1f} ms of CPU for 1,000 spans: {1 / seconds * 1000:,.0f} spans "
        f"a second on one core. A plain request has three."
    )
    section = "traces_all_cores" if options.all_cores else "traces"
    publish(section, text, values, as_json=options.json, write=options.write)


def _compared(
    root: Path, model: str, way: str, what: _Way, options: argparse.Namespace
) -> tuple[float, float, float]:
    """Medians of throughput, p99 and CPU a request over those that it is compared with."""
    ratios: list[tuple[float, float, float]] = []
    while len(ratios) < options.pairs:
        pairs = min(_PAIRS_OF_A_SERVER, options.pairs - len(ratios))
        place = apart if not options.all_cores else nullcontext
        read = partial(_read, model=model, seconds=options.seconds, place=place)
        name = f"{model}-{way.replace(' ', '-')}-{len(ratios)}"
        ratios += _block(root, name, what, pairs, read)
    throughput, p99, cpu = (statistics.median(column) for column in zip(*ratios, strict=True))
    return throughput, p99, cpu


def _block(root: Path, name: str, way: _Way, pairs: int, read: Read) -> Iterator[tuple[float, float, float]]:
    """A bare server and another one, or one server with two settings, measured in turn."""
    with ExitStack() as stack:
        servers = [
            stack.enter_context(lone_triton(root / "models", root / f"{name}-{number}", extra=extra))
            for number, extra in enumerate(way.servers)
        ]
        pair = ((servers[0], way.first), (servers[-1], way.second))

        def measured(place: int) -> tuple[float, float, float]:
            server, setting = pair[place]
            if setting is not None:
                TritonClient(server.http_url).trace("", setting)
            return read(server)

        for place in (0, 1):
            measured(place)
        for turn in range(pairs):
            found = {place: measured(place) for place in ((0, 1) if turn % 2 else (1, 0))}
            throughput, p99, cpu = (one / other for one, other in zip(found[1], found[0], strict=True))
            yield throughput, p99, cpu


def _read(server: LoneTriton, *, model: str, seconds: float, place: Place) -> tuple[float, float, float]:
    with place(server):
        reading = measure(server, model, concurrency=_CONCURRENCY, window_seconds=seconds)
    return reading.throughput, reading.p99_seconds, reading.cpu_seconds_per_1000


@contextmanager
def _receiver(root: Path) -> Iterator[tuple[str, psutil.Process]]:
    root.mkdir()
    (port,) = free_ports(1)
    url = f"http://{LOOPBACK}:{port}"
    fleet = root / "fleet.yaml"
    fleet.write_text(
        f'fleet: bench\nreplicas: [{{name: a, url: "http://{LOOPBACK}:1"}}]\ntraces: {{receiver: "{url}"}}\n'
        "models: {noop: {}, busy: {}}\n"
    )
    process = subprocess.Popen([sys.executable, "-m", "tritonobs", "traces", "serve", str(fleet)])
    try:
        while not _answers(url):
            time.sleep(0.1)
        yield url, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(root)


def _answers(url: str) -> bool:
    try:
        return requests.get(f"{url}/healthz", timeout=1).ok
    except requests.ConnectionError:
        return False


def _ceiling(url: str, process: psutil.Process) -> float:
    """Seconds of CPU that the receiver takes for 1,000 spans, in bodies as Triton sends them."""
    bodies, spans = [], 0
    for _ in range(_BATCHES):
        batch = []
        while len(batch) < _SPANS_A_BODY:
            batch += request("noop")
        spans += len(batch)
        bodies.append(json.dumps(body(*batch)).encode())
    before = _cpu(process)
    for each in bodies:
        while not requests.post(
            f"{url}/v1/traces", data=each, headers={"Content-Type": "application/json"}, timeout=30
        ).ok:
            time.sleep(0.1)
    while "tritonobs_trace_waiting_bodies 0.0" not in requests.get(f"{url}/metrics/traces", timeout=30).text:
        time.sleep(0.2)
    return (_cpu(process) - before) / spans * 1000


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


if __name__ == "__main__":
    main()
