"""A real HTTP server on loopback that says what a test tells it to."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from support.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(kw_only=True)
class Wire:
    """Answers by path; `asked` is what came, as (method, path, fields)."""

    url: str = ""
    answers: dict[str, tuple[int, str]] = field(default_factory=dict)
    asked: list[tuple[str, str, dict[str, list[str]]]] = field(default_factory=list)
    broken_first: int = 0
    delay_seconds: float = 0.0

    def says(self, path: str, body: object, *, status: int = 200) -> None:
        """From now on, this is the answer for the path; what is no text is sent as JSON."""
        self.answers[path] = (status, body if isinstance(body, str) else json.dumps(body))


class _Handler(BaseHTTPRequestHandler):
    wire: Wire

    def do_GET(self) -> None:
        self._answer(urlsplit(self.path).query)

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length", 0))).decode())

    def _answer(self, fields: str) -> None:
        wire = self.wire
        path = urlsplit(self.path).path
        wire.asked.append((self.command, path, parse_qs(fields)))
        if wire.broken_first:
            wire.broken_first -= 1
            self.connection.close()
            return
        time.sleep(wire.delay_seconds)
        status, text = wire.answers.get(path, (404, "no such path"))
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class names it)
        """Nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is not news here."""


@pytest.fixture(name="wire")
def _wire() -> Iterator[Wire]:
    wire = Wire()
    handler = type("Handler", (_Handler,), {"wire": wire})
    server = _Server(("127.0.0.1", 0), handler)
    wire.url = f"http://127.0.0.1:{server.server_port}"
    with serving(server):
        yield wire
