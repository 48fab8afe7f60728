"""A real Alertmanager and a real `tritonobs serve` between a test's alerts and strict robots."""

from __future__ import annotations

import json
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from tritonobs.plan.build import build_plan
from tritonobs.render.alertmanager import render_alertmanager
from tritonobs.render.artifact import write_artifacts
from tritonobs.spec.load import load_fleet
from tritonobs.stack.binaries import find
from tritonobs.testing.programs import AlertmanagerProgram, ServeProgram, free_port
from tritonobs.testing.robot import RobotDouble

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from tritonobs.plan.fleet import Plan

FLEET = """\
fleet: shop
replicas: [{{name: a, url: "http://10.0.0.1:8000"}}]
addresses:
  prometheus: http://127.0.0.1:1
  alertmanager: http://127.0.0.1:{alertmanager}
  serve: http://127.0.0.1:{serve}
models: {{inspect: {{versions: {{"1": {{}}}}}}}}
notify:
  auth: {{token_file: secrets/token}}
  dingtalk: {{{robots}}}
{notify}
"""
TOKEN = "tok-5a1b9c"


@dataclass(kw_only=True)
class Way:
    """The way of alerts: managers, serve, robots by name."""

    folder: Path
    serve: ServeProgram
    managers: list[AlertmanagerProgram]
    robots: dict[str, RobotDouble]
    secrets: list[str] = field(default_factory=list)

    @property
    def robot(self) -> RobotDouble:
        """The first robot."""
        return next(iter(self.robots.values()))

    def post(self, *models: str, resolved: bool = False, **labels: str) -> None:
        """Tell every Alertmanager of one firing (or resolved) page for each model."""
        now = datetime.now(timezone.utc)
        ends_at = now - timedelta(seconds=1) if resolved else now + timedelta(minutes=10)
        alerts = [
            {
                "labels": {
                    "alertname": "TritonQpsAboveLimit",
                    "severity": "critical",
                    "model": model,
                    **labels,
                },
                "annotations": {"description": f"{model} gets 12 requests/s, the limit is 8."},
                "endsAt": ends_at.isoformat(),
            }
            for model in models
        ]
        for manager in self.managers:
            manager.post_alerts(*alerts)

    def told(self, robot: str = "oncall") -> list[str]:
        """The news in this robot's messages, as `model firing` and `model resolved`, in their order."""
        return [news for message in self.robots[robot].messages for news in _news(message.text)]

    def until(self, wanted: Callable[[], bool], *, seconds: float = 40.0) -> bool:
        """Whether that came true in time."""
        deadline = time.monotonic() + seconds
        while not wanted():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True

    def evidence(self) -> str:
        """What the parts wrote, for a failing test."""
        attempts = {name: [one.outcome for one in robot.attempts] for name, robot in self.robots.items()}
        told = {name: self.told(name) for name in self.robots}
        return f"{attempts}\n{told}\n{self.serve.log.read_text()[-3000:]}"


def _news(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if "TritonQpsAboveLimit**" in line:
            subject = line.split("**")[2].split("·")[0].strip()
            yield f"{subject} {'resolved' if '✅' in line else 'firing'}"


class Service:
    """An HTTP service that notes what is posted to it, as (path, body)."""

    def __init__(self) -> None:
        self.posted: list[tuple[str, dict]] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                service.posted.append((self.path, json.loads(body)))
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"ok")

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def service() -> Iterator[Service]:
    """Stands in for Slack and for whatever else is posted to."""
    service = Service()
    thread = threading.Thread(target=service.server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield service
    service.server.shutdown()
    service.server.server_close()


@pytest.fixture
def way(tmp_path: Path) -> Iterator[Callable[..., Way]]:
    """Builds and starts a way; everything is ended after the test, and no log may hold a secret."""
    with ExitStack() as running:
        ways: list[Way] = []

        def build(
            *robots: str,
            notify: str = "",
            fields: dict[str, str] | None = None,
            managers: int = 1,
            more_secrets: dict[str, str] | None = None,
            clock: Callable[[], float] = time.time,
        ) -> Way:
            (tmp_path / "secrets").mkdir()
            doubles = {
                name: running.enter_context(RobotDouble(clock=clock)) for name in robots or ("oncall",)
            }
            secrets = {"token": TOKEN, **(more_secrets or {})}
            for name, robot in doubles.items():
                secrets |= {f"{name}-webhook": robot.webhook_url, f"{name}-secret": robot.secret}
            for name, text in secrets.items():
                (tmp_path / "secrets" / name).touch(mode=0o600)
                (tmp_path / "secrets" / name).write_text(text)
            fleet = _fleet_file(tmp_path, doubles, notify, fields or {})
            plan = build_plan(load_fleet(fleet), tmp_path)
            serve = running.enter_context(ServeProgram(fleet, port=_port_of(plan.addresses.serve_url)))
            made = Way(
                folder=tmp_path,
                serve=serve,
                managers=[running.enter_context(one) for one in _managers(tmp_path, plan, managers)],
                robots=doubles,
                secrets=[
                    TOKEN,
                    *(more_secrets or {}).values(),
                    *(robot.secret for robot in doubles.values()),
                ],
            )
            made.secrets += [robot.rules.token for robot in doubles.values()]
            ways.append(made)
            return made

        yield build
        for made in ways:
            _no_secret_written(made)


def _fleet_file(folder: Path, robots: Sequence[str], notify: str, fields: dict[str, str]) -> Path:
    entries = ", ".join(
        f"{name}: {{webhook_file: secrets/{name}-webhook, "
        f"secret_file: secrets/{name}-secret{fields.get(name, '')}}}"
        for name in robots
    )
    path = folder / "fleet.yaml"
    path.write_text(FLEET.format(alertmanager=free_port(), serve=free_port(), robots=entries, notify=notify))
    return path


def _port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


def _managers(folder: Path, plan: Plan, count: int) -> list[AlertmanagerProgram]:
    write_artifacts(render_alertmanager(plan), folder)
    config = folder / "alertmanager" / "alertmanager.yml"
    clusters = [f"127.0.0.1:{free_port()}" for _ in range(count)] if count > 1 else [""]
    return [
        AlertmanagerProgram(
            find("alertmanager"),
            config,
            folder / f"data-{number}",
            port=0 if number else _port_of(plan.addresses.alertmanager_url),
            cluster=cluster,
            peers=[other for other in clusters if other != cluster],
        )
        for number, cluster in enumerate(clusters)
    ]


def _no_secret_written(way: Way) -> None:
    logs = [way.serve.log, *(manager.log for manager in way.managers)]
    written = "".join(log.read_text() for log in logs)
    written += "".join(
        file.read_text() for file in (way.folder / "alertmanager").rglob("*") if file.is_file()
    )
    assert written
    for secret in way.secrets:
        assert secret not in written
