"""A DingTalk custom robot on loopback, as strict as the vendor's, with faults on demand.

`GET /messages` and `GET /attempts` show what it got; `POST /faults` (`fault`, `times`) gives it faults and
`DELETE /faults` takes them away.

What the vendor accepts is judged over one call. Sources: its robot documentation (signature, 20 messages a
minute, then ten minutes of silence) and answers seen in public reports: 130101 (ccfos/nightingale#369),
460101 (timonwong/prometheus-webhook-dingtalk#30), 310000 with `sign not match`, `invalid timestamp` or
`keywords not in content`, 300001 for an unknown token.
"""

from __future__ import annotations

import base64
import enum
import hashlib
import hmac
import json
import secrets
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qsl, urlsplit

if TYPE_CHECKING:
    from typing_extensions import Self

MESSAGES_PER_MINUTE = 20
MUTE_SECONDS = 600.0
MOST_BYTES = 20_000
_WINDOW_SECONDS = 60.0
_CLOCK_SKEW_SECONDS = 3600.0
_MORE = ", more: [https://open.dingtalk.com/document/robots/custom-robot-access]"

_FAULTS = "/faults"


class Fault(enum.Enum):
    """Faults that replace a judgement."""

    STATUS_500 = "http 500"
    TIMEOUT = "no answer"
    RESET = "connection reset"
    GARBAGE = "an answer that is not JSON"
    BUSY = "errcode -1"
    MUTE = "errcode 130101 and ten minutes of silence"
    UNKNOWN = "an unknown errcode"
    LOST_ANSWER = "accepted, but the connection breaks before the answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One call to a robot: when, and its result (an errcode, or the words of the fault)."""

    at: float
    outcome: int | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The vendor's answer; `errcode` 0 is acceptance."""

    errcode: int
    errmsg: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message as the group sees it."""

    title: str
    text: str
    mobiles: tuple[str, ...] = ()
    user_ids: tuple[str, ...] = ()
    at_all: bool = False
    received_at: float = 0.0


@dataclass(slots=True, kw_only=True)
class RobotRules:
    """One robot's settings and what it remembers; times are seconds since the epoch, given by the caller.

    An empty `secret` is a robot without signature.
    """

    token: str
    secret: str = ""
    keywords: tuple[str, ...] = ()
    muted_until: float = 0.0
    sent: deque[float] = field(default_factory=deque)
    mutes: int = 0
    most_bytes: int = MOST_BYTES

    def judge(self, query: Mapping[str, str], body: bytes, now: float) -> tuple[Judgement, Message | None]:
        """The answer to one call, and the message if it was accepted."""
        refusal = self._who(query, now) or self._pace(now) or self._size(body)
        if refusal:
            return refusal, None
        message = _read(body, now)
        if message is None:
            return Judgement(errcode=40035, errmsg="缺少参数 markdown.title 或 markdown.text"), None
        if self.keywords and not any(word in message.title + message.text for word in self.keywords):
            return Judgement(errcode=310000, errmsg="keywords not in content" + _MORE), None
        return Judgement(errcode=0, errmsg="ok"), message

    def mute(self, now: float) -> Judgement:
        """Silence the robot for ten minutes, as the vendor does after the 21st message of a minute."""
        self.muted_until = now + MUTE_SECONDS
        self.mutes += 1
        return Judgement(errcode=130101, errmsg="send too fast, exceed 20 times per minute")

    def _who(self, query: Mapping[str, str], now: float) -> Judgement | None:
        if query.get("access_token") != self.token:
            return Judgement(errcode=300001, errmsg="token is not exist")
        if not self.secret:
            return None
        stamp = query.get("timestamp", "")
        if not stamp.isdigit() or abs(now - int(stamp) / 1000) > _CLOCK_SKEW_SECONDS:
            return Judgement(errcode=310000, errmsg="invalid timestamp" + _MORE)
        digest = hmac.new(self.secret.encode(), f"{stamp}\n{self.secret}".encode(), hashlib.sha256).digest()
        if not hmac.compare_digest(base64.b64encode(digest).decode(), query.get("sign", "")):
            return Judgement(errcode=310000, errmsg="sign not match" + _MORE)
        return None

    def _size(self, body: bytes) -> Judgement | None:
        if len(body) <= self.most_bytes:
            return None
        return Judgement(errcode=460101, errmsg=f"message too long, exceed {self.most_bytes} bytes")

    def _pace(self, now: float) -> Judgement | None:
        if now < self.muted_until:
            return Judgement(errcode=130101, errmsg="send too fast, exceed 20 times per minute")
        while self.sent and self.sent[0] <= now - _WINDOW_SECONDS:
            self.sent.popleft()
        self.sent.append(now)
        return self.mute(now) if len(self.sent) > MESSAGES_PER_MINUTE else None


def _read(body: bytes, now: float) -> Message | None:
    try:
        said: dict[str, Any] = json.loads(body.decode())
        markdown, at = said["markdown"], said.get("at", {})
        title, text = markdown["title"], markdown["text"]
        mobiles, user_ids = tuple(at.get("atMobiles", ())), tuple(at.get("atUserIds", ()))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    if said.get("msgtype") != "markdown" or not (
        isinstance(title, str) and title and isinstance(text, str) and text
    ):
        return None
    return Message(
        title=title,
        text=text,
        mobiles=tuple(map(str, mobiles)),
        user_ids=tuple(map(str, user_ids)),
        at_all=at.get("isAtAll") is True,
        received_at=now,
    )


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
        """Remove all faults."""


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


class RobotDouble:
    """A context manager; while it is open, `webhook_url` and `secret` are those of a working robot.

    Without `secret` or `token` it makes its own; an empty `secret` is a robot without signature. `clock`
    gives seconds since the epoch and may be a test's. `timeout_seconds` is how long a `TIMEOUT` fault holds
    the caller.
    """

    def __init__(
        self,
        *,
        secret: str | None = None,
        token: str | None = None,
        keywords: tuple[str, ...] = (),
        clock: Callable[[], float] = time.time,
        timeout_seconds: float = 30.0,
        port: int = 0,
    ) -> None:
        self.secret = f"SEC{secrets.token_hex(32)}" if secret is None else secret
        self.rules = RobotRules(token=token or secrets.token_hex(32), secret=self.secret, keywords=keywords)
        self.clock = clock
        self.messages: list[Message] = []
        self.attempts: list[Attempt] = []
        self._faults: deque[Fault] = deque()
        self._timeout_seconds = timeout_seconds
        self._changed = threading.Condition()
        self._closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", port), handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def base_url(self) -> str:
        """Scheme, host and port: the address instead of the vendor's."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def webhook_url(self) -> str:
        """The whole line the vendor's page would show, token included."""
        return f"{self.base_url}/robot/send?access_token={self.rules.token}"

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
            if parts.path == "/robot/send":
                answer = self._answer(dict(parse_qsl(parts.query)), body, now)
            outcome = answer.errcode if isinstance(answer, Judgement) else answer.value if answer else 404
            self.attempts.append(Attempt(at=now, outcome=outcome))
            self._changed.notify_all()
        if answer is Fault.TIMEOUT:
            self._closing.wait(self._timeout_seconds)
        return answer

    def _answer(self, query: dict[str, str], body: bytes, now: float) -> Judgement | Fault:
        fault = self._faults.popleft() if self._faults else None
        if fault is Fault.BUSY:
            return Judgement(errcode=-1, errmsg="系统繁忙")
        if fault is Fault.UNKNOWN:
            return Judgement(errcode=987654, errmsg="something new")
        if fault is Fault.MUTE:
            return self.rules.mute(now)
        if fault not in {None, Fault.LOST_ANSWER}:
            return fault
        judgement, message = self.rules.judge(query, body, now)
        if message:
            self.messages.append(message)
        return fault or judgement
