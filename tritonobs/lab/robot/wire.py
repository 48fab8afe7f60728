"""The robot double's HTTP side."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Sequence
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler
from typing import Protocol

from tritonobs.lab.robot.rules import Attempt, Fault, Judgement, Message

_FAULTS = "/faults"
_ANSWERS_BROKEN = frozenset((Fault.RESET, Fault.LOST_ANSWER, Fault.TIMEOUT))


class Double(Protocol):
    """What the wire needs of a robot double."""

    @property
    def messages(self) -> Sequence[Message]:
        """What was accepted."""

    @property
    def attempts(self) -> Sequence[Attempt]:
        """What was tried."""

    def receive(self, path: str, body: bytes) -> Judgement | Fault | None:
        """Judge one call."""

    def fail(self, fault: Fault, times: int = 1) -> None:
        """Let the next calls end in `fault`."""

    def mend(self) -> None:
        """No faults any more."""


def handler(double: Double) -> type[BaseHTTPRequestHandler]:
    """The request handler of one double."""
    return type("RobotHandler", (_Handler,), {"double": double})


class _Handler(BaseHTTPRequestHandler):
    """Answers as the vendor's front end does; HTTP 200 with every errcode."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    double: Double

    def do_POST(self) -> None:
        """One call of the robot's webhook, or new faults."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == _FAULTS:
            self._control(body)
            return
        answer = self.double.receive(self.path, body)
        if answer in _ANSWERS_BROKEN:
            self._break()
        elif answer is Fault.STATUS_500:
            self._reply(500, b"internal error")
        elif answer is Fault.GARBAGE:
            self._reply(200, b"<html>maintenance</html>")
        elif isinstance(answer, Judgement):
            self._reply(200, json.dumps(asdict(answer)).encode())
        else:
            self._reply(404, b"not found")

    def do_DELETE(self) -> None:
        """An end to all faults."""
        if self.path == _FAULTS:
            self.double.mend()
            self._reply(200, b"{}")
        else:
            self._reply(404, b"not found")

    def do_GET(self) -> None:
        """What the robot saw: for people, and for programs that wait until it is up."""
        if self.path == "/messages":
            seen = [asdict(message) for message in tuple(self.double.messages)]
        elif self.path == "/attempts":
            seen = [asdict(attempt) for attempt in tuple(self.double.attempts)]
        else:
            self._reply(404, b"not found")
            return
        self._reply(200, json.dumps(seen, ensure_ascii=False).encode())

    def _control(self, body: bytes) -> None:
        try:
            wanted = json.loads(body)
            fault, times = Fault[wanted["fault"]], int(wanted.get("times", 1))
        except (ValueError, KeyError, TypeError):
            allowed = ", ".join(fault.name for fault in Fault)
            self._reply(400, f'write {{"fault": one of {allowed}, "times": a number}}'.encode())
            return
        self.double.fail(fault, times)
        self._reply(200, b"{}")

    def _reply(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json;charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _break(self) -> None:
        # Lingering for zero seconds makes close() send a reset instead of a tidy end.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class names it)
        """Nothing: request lines carry the token."""
