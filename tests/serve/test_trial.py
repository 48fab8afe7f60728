"""A test message that begins with an alert says where on its way it ended."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.serving import serving
from tritonobs.errors import TimedOut
from tritonobs.plan.build import build_plan
from tritonobs.serve import trial
from tritonobs.spec.load import read_text

if TYPE_CHECKING:
    from collections.abc import Sequence

_FLEET = """\
fleet: shop
replicas: [{{name: a, url: "http://10.0.0.1:8000"}}]
models: {{m: {{}}}}
addresses: {{serve: "{url}", alertmanager: "{url}"}}
notify:
  dingtalk:
    oncall: {{webhook_file: webhook, secret_file: secret}}
"""


def _said(errors: Sequence[int], monkeypatch: pytest.MonkeyPatch) -> str:
    """What the trial says where nothing is delivered and each reading counts so many errors."""
    readings = iter(errors)

    class Handler(BaseHTTPRequestHandler):
        """Alertmanager, which takes each alert, and the page of serve."""

        def do_GET(self) -> None:
            count = next(readings) if "metrics" in self.path else 0
            self._answer(f'tritonobs_delivery_errors_total{{robot="oncall",code="300001"}} {count}\n')

        def do_POST(self) -> None:
            (alert,) = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            assert alert["startsAt"] < alert["endsAt"]
            self._answer("{}")

        def _answer(self, text: str) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    monkeypatch.setattr(trial, "_PATIENCE_SECONDS", 0.0)
    with serving(HTTPServer(("127.0.0.1", 0), Handler)) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        plan = build_plan(read_text(_FLEET.format(url=url), "fleet.yaml").spec, Path("/etc/shop"))
        with pytest.raises(TimedOut) as seen:
            trial.try_robot(plan, "oncall", "alertmanager")
    return str(seen.value)


def test_a_robot_that_refuses_is_named_with_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """The alert came as far as the robot: its error is the reason, and how to read it is said."""
    assert _said([2, 2, 2, 5], monkeypatch) == (
        "the alert TritonobsTest reached serve, but robot oncall did not accept the message (300001); "
        "--via serve prints what it says"
    )


def test_an_alert_that_never_came_to_serve_is_a_question_of_its_configuration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Errors of the past are not those of this message."""
    assert "was its configuration built from this fleet file?" in _said([2, 2, 2, 2], monkeypatch)
