"""Pages of servers that nobody runs: traffic at exact rates, each server at a loopback address of its own."""

from __future__ import annotations

import math
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final

from support.serving import serving
from tritonobs import names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SERVE: Final = "127.0.2.1"
_BOUNDS: Final = ((0.1, 0.9), (0.5, 0.97), (1.0, 1.0))
"""Bounds of the stage `total` in seconds, each with the share of requests within it."""
_MICRO: Final = 1e6
_EARLY: Final = 0.1
"""A scrape may be earlier than its moment by so much of a step; else it is late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A model version on each server of a pool: requests a second of one server, and the share that fails."""

    model: str
    qps: float
    version: str = "1"
    failing: float = 0.0
    ensemble: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Servers with the same models; one without a name is none, and its servers are on any shard."""

    name: str
    servers: int
    models: Sequence[Served]
    down: int = 0
    """So many more are down."""


@dataclass(slots=True)
class Fleet:
    """What the pools' servers show: every scrape by the same Prometheus sees as many requests more.

    Prometheus scrapes in steps, late by some milliseconds, on a busy machine by a second, and notes the time
    without them. So does this: of each scraper the earliest moment of a step counts, however late it comes.
    It is learnt before requests come, because the first scrapes are the latest.
    """

    pools: Sequence[Pool]
    step_seconds: float
    began: float = math.inf
    asked: dict[tuple[str, str], float] = field(default_factory=dict)
    """At which moment of a step each server is asked by each scraper."""
    raised: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Models whose traffic was multiplied: since when, and by how much."""
    page_seconds: float = 0.0
    """How long a server takes to write its page."""

    def addresses(self) -> dict[str, tuple[Pool, int, bool]]:
        """Each server by its address: its pool, its number, and whether it is down."""
        return {
            f"127.0.{10 + place}.{number + 1}": (pool, number, number >= pool.servers)
            for place, pool in enumerate(self.pools)
            for number in range(pool.servers + pool.down)
        }

    def start(self, at: float) -> None:
        """Requests come from this moment on, in Unix seconds."""
        self.began = at

    def raise_traffic(self, model: str, times: float) -> None:
        """From now on the model is asked so many times as often."""
        self.raised[model] = (max(0.0, time.time() - self.began), times)

    def page(self, address: str, scraper: str = "") -> str:
        """The metrics page of a server, or of `tritonobs serve`."""
        if address == SERVE:
            return f"{names.CONFIG_VALID} 1\n"
        pool, number, _ = self.addresses()[address]
        passed = self._passed(address, scraper)
        rows = [
            f'nv_gpu_utilization{{gpu_uuid="GPU-{address}"}} 0.5',
            f'nv_gpu_memory_used_bytes{{gpu_uuid="GPU-{address}"}} 1e9',
            f'nv_gpu_memory_total_bytes{{gpu_uuid="GPU-{address}"}} 4e9',
            "nv_cpu_memory_used_bytes 1e9",
            "nv_cpu_memory_total_bytes 4e9",
        ]
        for served in pool.models:
            rows += self._rows(served, passed, 1 + number / 100)
        return "\n".join(rows) + "\n"

    def _passed(self, address: str, scraper: str) -> float:
        now = time.time()
        steps = (now - self.asked.setdefault((address, scraper), now)) / self.step_seconds
        if now < self.began:
            if steps % 1 > 0.5:
                self.asked[address, scraper] = now
            return 0.0
        moment = self.asked[address, scraper] + math.floor(steps + _EARLY) * self.step_seconds
        return max(0.0, moment - self.began)

    def _requests(self, served: Served, passed: float) -> float:
        since, times = self.raised.get(served.model, (passed, 1.0))
        since = min(since, passed)
        return served.qps * (since + (passed - since) * times)

    def _rows(self, served: Served, passed: float, slower: float) -> Iterator[str]:
        """`slower` tells servers apart: the times of no two are the same."""
        own = f'model="{served.model}",version="{served.version}"'
        done = self._requests(served, passed)
        failed = done * served.failing
        good = done - failed
        for reason in ("REJECTED", "CANCELED", "BACKEND", "OTHER"):
            ends_so = reason == ("OTHER" if served.ensemble else "BACKEND")
            yield f'{names.TRITON_FAILURE}{{{own},reason="{reason}"}} {failed if ends_so else 0}'
            if served.ensemble and ends_so:
                # Triton counts it twice: under version 1 and under its own.
                yield f'{names.TRITON_FAILURE}{{model="{served.model}",version="3",reason="OTHER"}} {failed}'
        for name, value in (
            (names.TRITON_SUCCESS, good),
            (names.TRITON_INFERENCES, good),
            (names.TRITON_EXECUTIONS, good / 2),
            (names.TRITON_REQUEST_US, good * 0.05 * slower * _MICRO),
            (names.TRITON_QUEUE_US, good * 0.004 * slower * _MICRO),
            (names.TRITON_COMPUTE_INFER_US, good * 0.04 * slower * _MICRO),
            (names.TRITON_COMPUTE_INPUT_US, 0),
            (names.TRITON_COMPUTE_OUTPUT_US, 0),
            (names.TRITON_PENDING, 1),
            ("nv_model_load_duration_secs", 3 * slower),
            (names.TRITON_CACHE_HITS, good / 4),
            (names.TRITON_CACHE_MISSES, good * 3 / 4),
        ):
            yield f"{name}{{{own}}} {value}"
        if not served.ensemble:
            yield from _worker(served, own, good, failed)


def _worker(served: Served, own: str, good: float, failed: float) -> Iterator[str]:
    own = f'{own},worker="{served.model}_0_0-100-1a2b3c"'
    yield f"{names.HEARTBEAT}{{{own}}} {time.time()}"
    yield f'{names.REQUESTS}{{{own},outcome="ok"}} {good}'
    yield f'{names.REQUESTS}{{{own},outcome="error"}} {failed}'
    yield f'{names.STAGE_ERRORS}{{{own},stage="decode",reason="corrupt_image"}} {good / 1000}'
    yield f'{names.STAGE_ITEMS}{{{own},stage="decode",kind="tokens_out"}} {good * 7}'
    for part, value in (("sum", good * 3), ("count", good)):
        yield f'tritonobs_stage_size_{part}{{{own},stage="decode",kind="bytes"}} {value}'
    for stage, share in (("total", 1.0), ("decode", 0.5)):
        timed = f'{own},stage="{stage}"'
        for bound, within in _BOUNDS:
            yield f'{names.STAGE_DURATION}_bucket{{{timed},le="{bound}"}} {good * within}'
        yield f'{names.STAGE_DURATION}_bucket{{{timed},le="+Inf"}} {good}'
        yield f"{names.STAGE_DURATION}_count{{{timed}}} {good}"
        yield f"{names.STAGE_DURATION}_sum{{{timed}}} {good * 0.04 * share}"


def asks_as(scraper: str, config: dict[str, Any]) -> None:
    """Have the jobs of a configuration tell the pages who asks."""
    for job in config["scrape_configs"]:
        job["params"] = {**job.get("params", {}), "scraper": [scraper]}


@contextmanager
def served(fleet: Fleet) -> Iterator[int]:
    """Serve the pages at each server's address; give the port, the same at all of them."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            address = self.connection.getsockname()[0]
            found = fleet.addresses().get(address)
            if found and found[2]:
                with suppress(ConnectionError):
                    self.send_error(503)
                return
            text = fleet.page(address, self.path.partition("scraper=")[2]).encode()
            time.sleep(fleet.page_seconds if found else 0)
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            # Whoever asked may have given up.
            with suppress(ConnectionError):
                self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            """Nothing: a line for each scrape is of no use."""

    server = ThreadingHTTPServer(("0.0.0.0", 0), Handler)  # noqa: S104 (every address of loopback)
    with serving(server):
        yield server.server_address[1]
