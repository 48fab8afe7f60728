"""A stack double: a process that only waits, and one server in place of Prometheus and Alertmanager."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import psutil
import pytest

from support.serving import serving
from tritonobs.extensions.lab import faults
from tritonobs.extensions.lab.drill import run
from tritonobs.extensions.lab.stack.processes import Folders, Part

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ALERT = "TritonobsServeDown"
FLEET = """
fleet: rehearsed
replicas: [{{name: triton-1, url: "{url}", metrics_url: "{url}/metrics"}}]
addresses: {{prometheus: "{url}", alertmanager: "{url}", serve: "{url}"}}
models: {{nms: {{versions: {{"1": {{}}}}}}}}
"""


@dataclass(kw_only=True)
class World:
    """What the double sees: `tritonobs serve` is down while `broken`; its alert fires if `heard`.

    It fires all the time when `stuck`, and nobody answers when `gone`.
    """

    url: str = ""
    folders: Folders = field(default=None)  # type: ignore[assignment] # set by the fixture
    broken: bool = False
    heard: bool = True
    stuck: bool = False
    gone: bool = False

    def answer(self, path: str) -> object:
        """The data of an answer."""
        if path == "/api/v1/rules":
            rule = {"name": ALERT, "type": "alerting", "query": "up == 0"}
            return {"groups": [{"name": "g", "rules": [rule]}]}
        if path == "/api/v1/alerts":
            fires = (self.broken and self.heard) or self.stuck
            alert = {"labels": {"alertname": ALERT, "severity": "critical"}, "state": "firing", "value": "1"}
            return {"alerts": [alert] if fires else []}
        if path == "/api/v1/targets":
            health = "down" if self.broken else "up"
            labels = {"job": "tritonobs", "instance": "serve"}
            return {"activeTargets": [{"scrapeUrl": self.url, "health": health, "labels": labels}]}
        return {"resultType": "matrix" if path.endswith("range") else "vector", "result": []}


class _Handler(BaseHTTPRequestHandler):
    world: World

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if self.world.gone:
            self._say(503, b"gone")
        elif path.startswith("/api/v1/"):
            self._say(200, json.dumps({"status": "success", "data": self.world.answer(path)}).encode())
        else:
            self._say(200, b"[]")

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.do_GET()

    def _say(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class names it)
        """Nothing."""


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> Iterator[World]:
    world = World(folders=Folders(root=tmp_path / "state"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"world": world}))
    server.daemon_threads = True
    world.url = f"http://127.0.0.1:{server.server_port}"
    with serving(server):
        yield world


@pytest.fixture(name="started")
def _started(world: World) -> Iterator[World]:
    """The world with a state folder as `up --drills` leaves it."""
    folders = world.folders
    folders.root.mkdir()
    fleet = folders.root / "fleet.yaml"
    fleet.write_text(FLEET.format(url=world.url))
    folders.drills_file.write_text(json.dumps({"fleet_file": str(fleet), "speed": 5.0}))
    process = _sleep(folders, {faults.VARIABLE: str(folders.faults_file)})
    yield world
    process.kill()
    process.communicate()


@pytest.fixture(name="sleeper")
def _sleeper() -> object:
    """Starts a process that stands for Triton and the robot in the state file."""
    return _sleep


def _sleep(folders: Folders, variables: dict[str, str]) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); input()"],
        env=os.environ | variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.readline()  # it runs: before that the kernel may show no environment
    url = "http://127.0.0.1:1/messages"
    parts = [
        Part(
            name=name,
            pid=process.pid,
            started=psutil.Process(process.pid).create_time(),
            url=url,
            ready_url=url,
            log="",
        )
        for name in ("triton", "robot")
    ]
    folders.root.mkdir(exist_ok=True)
    folders.state_file.write_text(json.dumps([part.as_json() for part in parts]))
    return process


@pytest.fixture(name="_quick")
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No calm, no slack: what never comes is not awaited for long."""
    monkeypatch.setattr(run, "CALM_SECONDS", 0.0)
    monkeypatch.setattr(run, "_SETTLE_SECONDS", 0.0)
    monkeypatch.setattr(run, "_SLACK_SECONDS", 3.0)
    monkeypatch.setattr(run, "_HELD_SECONDS", 0.0)
    monkeypatch.setattr(run, "_POLL_SECONDS", 0.01)
    monkeypatch.setattr(run, "_SHORTEST_SECONDS", 0.0)
    monkeypatch.setattr(run, "_LAG_SECONDS", 0.0)
    monkeypatch.setattr(run, "_JUDGE_SECONDS", 0.05)
