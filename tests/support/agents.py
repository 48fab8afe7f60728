"""Agents: the SDK's client, commands that read a saved snapshot, and the server as a process over HTTP."""

from __future__ import annotations

import asyncio
import http.client
import json
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from mcp import Client

from support.programs import free_port
from tritonobs.extensions.mcp.ask import Commands, Said

if TYPE_CHECKING:
    from pathlib import Path


HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class Answered:
    """What a tool gave: `answer` is its structured content, `text` what a client without that reads."""

    def __init__(self, result: Any) -> None:
        self.failed = result.is_error
        self.text = result.content[0].text if result.content else ""
        self.answer = result.structured_content

    @property
    def size(self) -> int:
        """Bytes that a model reads."""
        return len(self.text.encode())


class Recorded(Commands):
    """Commands whose triage and stages read a saved snapshot instead of servers."""

    def __init__(self, snapshot: Path) -> None:
        super().__init__()
        self._snapshot = snapshot

    async def json(self, *words: str, **more: Any) -> Said:
        """As it is, but for what is read."""
        if words[0] in {"triage", "stages"}:
            words = (words[0], f"--load={self._snapshot}")
        return await super().json(*words, **more)


def asked(server: Any, tool: str, arguments: dict[str, Any], **client: Any) -> Answered:
    """One call of a tool by the SDK's client."""

    async def call() -> Answered:
        async with Client(server, **client) as agent:
            await agent.list_tools()
            return Answered(await agent.call_tool(tool, arguments))

    return asyncio.run(call())


class Served:
    """`tritonobs mcp --transport http` in a process, by this Python or another; a context manager."""

    def __init__(self, fleet, *options, python=sys.executable):
        self._python = python
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self.log = fleet.parent / "mcp.log"
        self._words = [str(fleet), "--transport", "http", "--port", str(self.port), "-v", *options]

    def __enter__(self):
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [self._python, "-m", "tritonobs", "mcp", *self._words],
                stdout=log,
                stderr=log,
                # Where no checkout is found by accident.
                cwd=self.log.parent,
            )
        deadline = time.monotonic() + 60
        while not self._listens():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.1)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            assert self.process.wait(20) == 0, self.log.read_text()
        finally:
            self.process.kill()

    def _listens(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True

    def post(self, body, path="/mcp", method="POST", **headers):
        """The status and the text of an answer to a request by hand."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, body=text, headers={**HEADERS, **named})
        answer = connection.getresponse()
        # An answer that streams has no end while its connection lasts.
        text = answer.read(2000).decode()
        connection.close()
        return answer.status, text
