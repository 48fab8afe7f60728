"""A replica double: speaks enough of Triton's HTTP protocol to take images and prompts, and fails as told."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from support.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXT_INPUTS = [
    {"name": "text_input", "datatype": "BYTES", "shape": [1]},
    {"name": "max_tokens", "datatype": "INT32", "shape": [1]},
]
IMAGE_INPUT = {"name": "IMAGE", "datatype": "BYTES", "shape": [-1, 1]}


@dataclass(kw_only=True)
class Replica:
    """What it was asked (`bodies`, in order of arrival) and how it answers."""

    url: str = ""
    inputs: list[dict[str, object]] = field(default_factory=lambda: [IMAGE_INPUT])
    bodies: list[bytes] = field(default_factory=list)
    delay_seconds: float = 0.0
    refuse_empty: bool = False
    odd: object = None
    paths: list[str] = field(default_factory=list)
    refuse_prompts: bool = False
    break_streams: bool = False
    break_connections: bool = False


class _Handler(BaseHTTPRequestHandler):
    replica: Replica
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/v2/models/inspect":
            self._say(200, {"name": "inspect", "inputs": self.replica.inputs})
        elif self.path == "/v2/models/odd":
            self._say(200, self.replica.odd)
        elif self.path in {"/v2/models/llm", "/v2/models/llm/versions/2"}:
            self._say(200, {"name": "llm", "inputs": TEXT_INPUTS})
        else:
            self._say(404, {"error": f"Request for unknown model: '{self.path.split('/')[3]}' is not found"})

    def do_POST(self) -> None:
        if self.path.endswith("/generate_stream"):
            self._generate()
            return
        replica = self.replica
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        image = raw[int(self.headers["Inference-Header-Content-Length"]) + 4 :]
        replica.bodies.append(image)
        if replica.break_connections:
            self.close_connection = True
            self.connection.close()
            return
        time.sleep(replica.delay_seconds)
        if replica.refuse_empty and not image:
            self._say(500, {"error": f"request {len(replica.bodies)}: 'empty' image\nat line 3"})
        else:
            self._say(200, {"model_name": "inspect", "model_version": "1", "outputs": []})

    def _generate(self) -> None:
        """As Triton does: the error of a request that was begun is an event of its stream."""
        replica = self.replica
        replica.paths.append(self.path)
        replica.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        if replica.refuse_prompts:
            self._say(400, {"error": "Request for unknown model: 'llm' is not found"})
            return
        events = [{"text_output": "word"}] * json.loads(replica.bodies[-1])["max_tokens"]
        if replica.break_streams:
            events = [*events[:1], {"error": "request 7 is longer than the cache"}]
        text = "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _say(self, status: int, body: object) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class names it)
        """Nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is not news here."""


@pytest.fixture(name="replica")
def _replica() -> Iterator[Replica]:
    replica = Replica()
    server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"replica": replica}))
    replica.url = f"http://127.0.0.1:{server.server_port}"
    with serving(server):
        yield replica
