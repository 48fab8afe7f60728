"""A real server of timed models that traces to a receiver of its own."""

from __future__ import annotations

import re
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import requests

from support.programs import Program, free_port
from support.traced_models import add_caller, add_ensemble, add_timed
from tritonobs.clients.exposition import parse_page
from tritonobs.clients.triton import TritonClient
from tritonobs.extensions.lab.stack.native import lone_triton
from tritonobs.extensions.lab.stack.services import trace_flags
from tritonobs.extensions.traces.slowest import ANSWER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tritonobs.clients.exposition import MetricsPage
    from tritonobs.extensions.traces.slowest import Slow

PATIENCE_SECONDS = 60.0
_DELAY = "--trace-config=opentelemetry,bsp_schedule_delay="
SOON = f"{_DELAY}300"
_IDLE = """
from tritonobs.serve import server
server.IDLE_SECONDS = {seconds}
from tritonobs.cli import run
run()
"""
FLEET = """\
fleet: traced
replicas: [{{name: a, url: "{url}"}}]
models: {{quick: {{}}, slow: {{}}, ensemble: {{}}, nested: {{}}}}
traces:
  receiver: "{receiver}"
"""


class TracedRig:
    """A server of timed models that traces to a receiver of its own."""

    def __init__(self, url: str, receiver: str, fleet: Path) -> None:
        self.url, self.receiver, self.fleet = url, receiver, fleet
        self.api = TritonClient(url)

    def ask(self, model: str, seconds: float, times: int = 1, **headers: str) -> None:
        """Requests one after the other."""
        tensor = {"name": "SECONDS", "datatype": "FP32", "shape": [1, 1], "data": [seconds]}
        for _ in range(times):
            address = f"{self.url}/v2/models/{model}/infer"
            requests.post(address, json={"inputs": [tensor]}, headers=headers, timeout=30).raise_for_status()

    def count(self, name: str, **labels: str) -> float:
        """A sum over the receiver's page."""
        return self.page().total(name, **labels)

    def page(self) -> MetricsPage:
        """What the receiver shows, without exemplars."""
        text = requests.get(f"{self.receiver}/metrics/traces", timeout=30).text
        return parse_page(re.sub(r" # \{.*", "", text).replace("# EOF\n", ""))

    def settle(self, name: str, least: float, **labels: str) -> float:
        """The sum, once it is that much."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (found := self.count(name, **labels)) < least and time.monotonic() < deadline:
            time.sleep(0.2)
        return found

    def slow(self, model: str) -> Sequence[Slow]:
        """The slowest requests to a model."""
        answer = requests.get(f"{self.receiver}/traces/slow", params={"model": model}, timeout=30)
        return ANSWER.validate_json(answer.content).requests


@contextmanager
def traced_rig(
    tmp_path: Path, *, rate: int = 1, more: str = "", every_ms: int = 300, idle: float | None = None
) -> Iterator[TracedRig]:
    """Start both, on free ports; `more` is added to the fleet file's section `traces`.

    A batch of spans is sent `every_ms`. The receiver closes connections that were `idle` for so many seconds.
    """
    models = tmp_path / "models"
    add_timed(models, "quick")
    add_timed(models, "slow", instances=2)
    add_ensemble(models, "ensemble", "quick", "slow")
    add_caller(models, "inner", "slow")
    add_caller(models, "nested", "inner")
    port = free_port()
    receiver = f"http://127.0.0.1:{port}"
    flags = (*trace_flags(receiver=receiver, replica="a", rate=rate), f"{_DELAY}{every_ms}")
    with lone_triton(models, tmp_path / "server", extra=flags) as server:
        fleet = tmp_path / "fleet.yaml"
        fleet.write_text(FLEET.format(url=server.http_url, receiver=receiver) + more)
        program = ["-m", "tritonobs"] if idle is None else ["-c", _IDLE.format(seconds=idle)]
        argv = [sys.executable, *program, "traces", "serve", str(fleet)]
        with Program(argv, tmp_path / "receiver.log", f"{receiver}/healthz"):
            yield TracedRig(server.http_url, receiver, fleet)
