"""Metrics pages of a thousand healthy servers from one process that costs little, an address each."""

from __future__ import annotations

import asyncio
import json
import math
import socket
import threading
import time
from typing import TYPE_CHECKING, Final

from support.programs import free_port
from tritonobs import names
from tritonobs.stage.series import FLUSH_DROPPED, FLUSH_ERRORS, FLUSH_SECONDS, OUTCOMES, format_bound

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from typing_extensions import Self

QPS: Final = 5
"""Requests a second to each model of each server."""
BOUNDS: Final = tuple(
    float(f"{step}e{decade}") for decade in (-3, -2, -1, 0) for step in ("1", "1.5", "2", "3", "5", "7.5")
)
THRESHOLD_SECONDS: Final = 0.1
STAGES: Final = {"total": 0.02, "decode": 0.005}
"""The median of each in seconds; the times are log-normal."""
_SPREAD: Final = 0.5
ONE_FAILS_OF: Final = 5000
_REASONS: Final = ("REJECTED", "CANCELED", "BACKEND", "OTHER")
_MICROSECONDS: Final = {
    names.TRITON_REQUEST_US: 24_000,
    names.TRITON_QUEUE_US: 500,
    names.TRITON_COMPUTE_INPUT_US: 300,
    names.TRITON_COMPUTE_INFER_US: 23_000,
    names.TRITON_COMPUTE_OUTPUT_US: 200,
}
_BACKLOG: Final = 2048
_SERVERS_OF_A_SUBNET: Final = 250
_FLEET: Final = """\
fleet: large
cluster: east
replicas: {{file: {{path: servers.json}}}}
addresses:
  prometheus: {prometheus}
  serve: http://127.0.0.1:{serve}
  alertmanager: {manager}
prometheus: {{scrape_interval: {seconds}s, evaluation_interval: {seconds}s}}
rules: {{latency_thresholds: [{threshold:g}s]}}
defaults:
  qps_limit: {limit}
  slos:
    availability: {{objective: 99.9%}}
    latency: {{objective: 99%, stage: total, threshold: {threshold:g}s}}
models:
"""


def address(server: int) -> str:
    """The loopback address of a server by its number from 0."""
    return f"127.20.{server // _SERVERS_OF_A_SUBNET}.{server % _SERVERS_OF_A_SUBNET + 1}"


class Pages:
    """A context manager; while it is open, each server shows its models on `port` of its address."""

    def __init__(self, servers: int, models: int, pools: int) -> None:
        self.port = free_port()
        self._began = time.time()
        self.models, self.pools = models, pools
        self._templates = [_template(range(models * pool, models * (pool + 1))) for pool in range(pools)]
        self._numbers = {address(server): server for server in range(servers)}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)

    def __enter__(self) -> Self:
        # Every address of loopback, and none that others can reach.
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo")
        listener.bind(("0.0.0.0", self.port))  # noqa: S104 (on loopback's device alone)
        self._thread.start()
        serving = self._loop.create_server(lambda: _Connection(self), sock=listener, backlog=_BACKLOG)
        asyncio.run_coroutine_threadsafe(serving, self._loop).result(30)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def addresses(self) -> tuple[str, ...]:
        """Of every server, in the order of their numbers."""
        return tuple(self._numbers)

    def page(self, at: str) -> bytes:
        """The page of the server at this address now."""
        server, now = self._numbers[at], time.time()
        values: list[float] = [server, 30 + server % 50, server, 10**9, server, 4 * 10**9, 10**9, 4 * 10**9]
        for model in range(self.models):
            done, bad = self.counted(server, model, now)
            values += values_of(done, bad, server, int(now))
        return self._templates[server % len(self._templates)] % tuple(values)

    def counted(self, server: int, model: int, now: float) -> tuple[int, int]:
        """Requests to a model of a server until now, and the bad ones of them."""
        # No two servers have done the same: one under two names would be an alert.
        done = int((now - self._began) * QPS) + 1000 + 37 * server + 11 * model
        return done, done // ONE_FAILS_OF

    def answer(self, at: str) -> bytes:
        """What the server at this address answers now."""
        body = self.page(at)
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body


def write_fleet(
    folder: Path, pages: Pages, *, seconds: int, prometheus: str, serve: int, manager: str
) -> Path:
    """The fleet file of these servers, with a limit of four times the traffic and two SLOs of each model."""
    groups = [{"targets": [f"{one}:{pages.port}"], "labels": {}} for one in pages.addresses]
    (folder / "servers.json").write_text(json.dumps(groups), encoding="utf-8")
    buckets = ", ".join(f"{bound:g}s" for bound in BOUNDS)
    lines = [
        f"  m{model}: {{latency_buckets: [{buckets}], versions: {{'1': {{}}}}}}\n"
        for model in range(pages.models * pages.pools)
    ]
    head = _FLEET.format(
        prometheus=prometheus,
        serve=serve,
        manager=manager,
        seconds=seconds,
        limit=4 * QPS * len(groups) // pages.pools,
        threshold=THRESHOLD_SECONDS,
    )
    fleet = folder / "fleet.yaml"
    fleet.write_text(head + "".join(lines), encoding="utf-8")
    return fleet


class _Connection(asyncio.Protocol):
    """One kept connection of Prometheus to a server."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._asked = b""
        self._address = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._address = transport.get_extra_info("sockname")[0]

    def data_received(self, data: bytes) -> None:
        self._asked += data
        while b"\r\n\r\n" in self._asked:
            self._asked = self._asked.partition(b"\r\n\r\n")[2]
            self._transport.write(self._pages.answer(self._address))


def _template(models: range) -> bytes:
    """The page with a place for each number of `values_of`, after those of the server itself."""
    rows = ['nv_gpu_utilization{gpu_uuid="GPU-%d"} 0.%d']
    rows += [f'nv_gpu_memory_{one}_bytes{{gpu_uuid="GPU-%d"}} %d' for one in ("used", "total")]
    rows += [f"nv_cpu_memory_{one}_bytes %d" for one in ("used", "total")]
    for model in models:
        rows += rows_of(f'model="m{model}",version="1"', f"m{model}_0_0-100-1a2b3c")
    return ("\n".join(rows) + "\n").encode()


def rows_of(own: str, worker: str) -> Iterator[str]:
    """The lines of one model version, `own` its labels, with a place for each number of `values_of`."""
    for name in (names.TRITON_SUCCESS, names.TRITON_INFERENCES, names.TRITON_EXECUTIONS):
        yield f"{name}{{{own}}} %d"
    for reason in _REASONS:
        yield f'{names.TRITON_FAILURE}{{{own},reason="{reason}"}} %d'
    for name in _MICROSECONDS:
        yield f"{name}{{{own}}} %d"
    yield f"{names.TRITON_PENDING}{{{own}}} %d"
    yield f"nv_model_load_duration_secs{{{own}}} 3.%d"
    own += f',worker="{worker}"'
    yield f"{names.HEARTBEAT}{{{own}}} %d"
    yield f"{FLUSH_ERRORS}{{{own}}} 0"
    yield f"{FLUSH_SECONDS}{{{own}}} %d"
    yield f'{FLUSH_DROPPED}{{{own},reason="invalid"}} 0'
    for outcome in OUTCOMES:
        yield f'{names.REQUESTS}{{{own},outcome="{outcome}"}} %d'
    for stage in STAGES:
        timed = f'{own},stage="{stage}"'
        for bound in (*BOUNDS, math.inf):
            yield f'{names.STAGE_DURATION}_bucket{{{timed},le="{format_bound(bound)}"}} %d'
        yield f"{names.STAGE_DURATION}_count{{{timed}}} %d"
        yield f"{names.STAGE_DURATION}_sum{{{timed}}} %.3f"


def values_of(done: int, bad: int, server: int, now: int) -> Iterator[float]:
    """The numbers of one model after so many requests, in the order of `rows_of`."""
    good = done - bad
    yield from (good, good, good // 2, 0, 0, bad, 0)
    for each in _MICROSECONDS.values():
        yield good * each + server
    # To the digit: 3.11 and 3.110 would be the same time to load.
    yield from (1, 100_000 + server, now, done // 10_000)
    yield from (good if outcome == "ok" else bad if outcome == "error" else 0 for outcome in OUTCOMES)
    for median, shares in _SHARES:
        for share in shares:
            yield int(done * share)
        yield from (done, done, done * median)


def within(bound: float, median: float) -> float:
    """The share of requests within the bound."""
    return 0.5 * (1 + math.erf(math.log(bound / median) / _SPREAD / math.sqrt(2)))


_SHARES: Final = tuple(
    (median, tuple(within(bound, median) for bound in BOUNDS)) for median in STAGES.values()
)
