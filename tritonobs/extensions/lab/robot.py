"""A robot of a chat on loopback, as strict as the vendor's, with faults on demand.

`GET /messages` and `GET /attempts` show what it got; `POST /faults` (`fault`, `times`) gives it faults and
`DELETE /faults` takes them away. What the vendor accepts is judged over one call, by the table of `vendors`.

As a process: `python -m tritonobs.extensions.lab.robot WEBHOOK_FILE SECRET_FILE [CHAT]`. It answers at the
webhook of the first file and takes the signing secret of the second, the very files `tritonobs serve` reads.
"""

from __future__ import annotations

import enum
import hmac
import json
import secrets
import signal
import socket
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, parse_qsl, urlsplit

from typing_extensions import Self

from tritonobs.extensions.lab.vendors import (
    DINGTALK,
    VENDORS,
    Json,
    Judgement,
    Refusal,
    Shown,
    Vendor,
)

_WINDOW_SECONDS = 60.0
_CLOCK_SKEW_SECONDS = 3600.0
_FAULTS = "/faults"


class Fault(enum.Enum):
    """Faults that replace a judgement."""

    STATUS_500 = "http 500"
    TIMEOUT = "no answer"
    RESET = "connection reset"
    GARBAGE = "an answer that is not JSON"
    BUSY = "errcode -1"
    MUTE = "errcode 130101 and ten minutes of silence"
    REVOKED = "a robot that was removed"
    UNKNOWN = "an unknown errcode"
    REDIRECT = "a redirect to another host"
    LIMITED = "http 429 with Retry-After"
    LIMITED_BARE = "http 429 without Retry-After"
    LOST_ANSWER = "accepted, but the connection breaks before the answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One call to a robot: when, and its result (an errcode, or the words of the fault)."""

    at: float
    outcome: int | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message(Shown):
    """One message as the group sees it, and when it came."""

    received_at: float = 0.0


@dataclass(slots=True, kw_only=True)
class RobotRules:
    """One robot's settings and what it remembers; times are seconds since the epoch, given by the caller.

    An empty `secret` is a robot without signature.
    """

    token: str
    secret: str = ""
    keywords: tuple[str, ...] = ()
    vendor: Vendor = DINGTALK
    muted_until: float = 0.0
    sent: deque[float] = field(default_factory=deque)
    mutes: int = 0
    most_bytes: int = 0

    def judge(self, query: Mapping[str, str], body: bytes, now: float) -> tuple[Judgement, Message | None]:
        """The answer to one call, and the message if it was accepted.

        Where the vendor has the token in the path, it is the field "" of the query.
        """
        said = _object(body)
        refusal = self._who(query, said, now) or self._pace(now) or self._size(body, said)
        if refusal:
            return refusal, None
        shown = self.vendor.read(said)
        if shown is None:
            return self.refusal(Refusal.SHAPE), None
        if self.keywords and not any(word in shown.title + shown.text for word in self.keywords):
            return self.refusal(Refusal.KEYWORD), None
        message = Message(
            title=shown.title,
            text=shown.text,
            mobiles=shown.mobiles,
            user_ids=shown.user_ids,
            at_all=shown.at_all,
            received_at=now,
        )
        return self.vendor.accepted, message

    def refusal(self, why: Refusal) -> Judgement:
        """The vendor's words for it."""
        said = self.vendor.refusals[why]
        return replace(said, errmsg=said.errmsg.format(self._most())) if "{}" in said.errmsg else said

    def mute(self, now: float) -> Judgement:
        """Silence the robot for as long as the vendor does after too many messages in a minute."""
        self.muted_until = now + self.vendor.mute_seconds
        self.mutes += 1
        return self.refusal(Refusal.TOO_FAST)

    def _who(self, query: Mapping[str, str], said: Json, now: float) -> Judgement | None:
        if query.get(self.vendor.token_field) != self.token:
            return self.refusal(Refusal.TOKEN)
        if not self.secret or self.vendor.signed is None:
            return None
        stamp, sign = self.vendor.signed(query, said)
        if not stamp.isdigit() or abs(now - int(stamp) / self.vendor.second) > _CLOCK_SKEW_SECONDS:
            return self.refusal(Refusal.CLOCK)
        right = hmac.compare_digest(self.vendor.sign(self.secret, stamp).encode(), sign.encode())
        return None if right else self.refusal(Refusal.SIGNATURE)

    def _most(self) -> int:
        return self.most_bytes or self.vendor.most_bytes

    def _size(self, body: bytes, said: Json) -> Judgement | None:
        return self.refusal(Refusal.TOO_LONG) if self.vendor.counted(body, said) > self._most() else None

    def _pace(self, now: float) -> Judgement | None:
        if now < self.muted_until:
            return self.refusal(Refusal.TOO_FAST)
        while self.sent and self.sent[0] <= now - _WINDOW_SECONDS:
            self.sent.popleft()
        self.sent.append(now)
        second = self.vendor.per_second
        hasty = second and len([at for at in self.sent if at > now - 1.0]) > second
        return self.mute(now) if hasty or len(self.sent) > self.vendor.per_minute else None


def _object(body: bytes) -> Json:
    """The JSON of a message; empty where it is not an object."""
    try:
        said = json.loads(body.decode())
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


_WORDS = {Fault.BUSY: Refusal.BUSY, Fault.UNKNOWN: Refusal.UNKNOWN, Fault.REVOKED: Refusal.TOKEN}
_ANSWERS_BROKEN = frozenset((Fault.RESET, Fault.LOST_ANSWER, Fault.TIMEOUT))


class _Handler(BaseHTTPRequestHandler):
    """Answers as the vendor's front end does."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    double: RobotDouble

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
        elif answer is Fault.REDIRECT:
            self._reply(302, b"", {"Location": "https://elsewhere.example.org/login"})
        elif answer in {Fault.LIMITED, Fault.LIMITED_BARE}:
            self._reply(429, b"slow down", {"Retry-After": "1"} if answer is Fault.LIMITED else {})
        elif isinstance(answer, Judgement):
            self._reply(answer.status, self.double.written(answer), answer.headers)
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

    def _reply(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
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


class RobotDouble:
    """A context manager; while it is open, `webhook_url` and `secret` are those of a working robot.

    Without `secret` or `token` it makes its own; an empty `secret` is a robot without signature. `clock`
    gives seconds since the epoch and may be a test's. `timeout_seconds` is how long a `TIMEOUT` fault holds
    the caller.
    """

    def __init__(
        self,
        *,
        chat: str = "dingtalk",
        secret: str | None = None,
        token: str | None = None,
        keywords: tuple[str, ...] = (),
        clock: Callable[[], float] = time.time,
        timeout_seconds: float = 30.0,
        port: int = 0,
    ) -> None:
        vendor = VENDORS[chat]
        made = f"SEC{secrets.token_hex(32)}" if vendor.signed else ""
        self.chat = chat
        self.secret = made if secret is None else secret
        self.rules = RobotRules(
            token=token or vendor.token(secrets.token_hex(32)),
            secret=self.secret,
            keywords=keywords,
            vendor=vendor,
        )
        self.clock = clock
        self.messages: list[Message] = []
        self.attempts: list[Attempt] = []
        self._faults: deque[Fault] = deque()
        self._timeout_seconds = timeout_seconds
        self._changed = threading.Condition()
        self._closing = threading.Event()
        handler = type("RobotHandler", (_Handler,), {"double": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def base_url(self) -> str:
        """Scheme, host and port: the address instead of the vendor's."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def webhook_url(self) -> str:
        """The whole line the vendor's page would show, token included."""
        vendor = self.rules.vendor
        token = f"?{vendor.token_field}={self.rules.token}" if vendor.token_field else self.rules.token
        return f"{self.base_url}{vendor.path}{token}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def fail(self, fault: Fault, times: int = 1) -> None:
        """Let the next calls end in `fault`."""
        with self._changed:
            self._faults.extend([fault] * times)

    def mend(self) -> None:
        """Remove all faults and the mute."""
        with self._changed:
            self._faults.clear()
            self.rules.muted_until = 0.0

    def written(self, judgement: Judgement) -> bytes:
        """The body of the vendor's answer."""
        return self.rules.vendor.written(judgement)

    def wait_for(self, wanted: Callable[[RobotDouble], bool], *, timeout_seconds: float) -> bool:
        """Whether `wanted` became true in time; checked after every call."""
        with self._changed:
            return self._changed.wait_for(lambda: wanted(self), timeout_seconds)

    def receive(self, path: str, body: bytes) -> Judgement | Fault | None:
        """Judge one call; None is a path no robot has."""
        parts = urlsplit(path)
        with self._changed:
            now = self.clock()
            answer: Judgement | Fault | None = None
            path, query = self.rules.vendor.path, dict(parse_qsl(parts.query))
            if not self.rules.vendor.token_field and parts.path.startswith(path):
                query[""] = parts.path.removeprefix(path)
                answer = self._answer(query, body, now)
            elif parts.path == path:
                answer = self._answer(query, body, now)
            outcome = answer.errcode if isinstance(answer, Judgement) else answer.value if answer else 404
            self.attempts.append(Attempt(at=now, outcome=outcome))
            self._changed.notify_all()
        if answer is Fault.TIMEOUT:
            self._closing.wait(self._timeout_seconds)
        return answer

    def _answer(self, query: dict[str, str], body: bytes, now: float) -> Judgement | Fault:
        fault = self._faults.popleft() if self._faults else None
        if fault in _WORDS:
            return self.rules.refusal(_WORDS[fault])
        if fault is Fault.MUTE:
            return self.rules.mute(now)
        if fault not in {None, Fault.LOST_ANSWER}:
            return fault
        judgement, message = self.rules.judge(query, body, now)
        if message:
            self.messages.append(message)
        return fault or judgement


def main(webhook_file: Path, secret_file: Path, chat: str = "dingtalk") -> None:
    """Answer until SIGTERM or SIGINT."""
    webhook = urlsplit(webhook_file.read_text(encoding="utf-8").strip())
    vendor = VENDORS[chat]
    field = vendor.token_field
    token = parse_qs(webhook.query)[field][0] if field else webhook.path.removeprefix(vendor.path)
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    secret = secret_file.read_text(encoding="utf-8").strip()
    with RobotDouble(chat=chat, token=token, secret=secret if vendor.signed else "", port=webhook.port or 80):
        stopping.wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:4])
