"""A DingTalk custom robot on loopback, as strict as the vendor's, with faults on demand.

`GET /messages` and `GET /attempts` tell what it saw; `POST /faults` (`fault`, `times`) gives it faults and
`DELETE /faults` takes them away.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import deque
from http.server import ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from tritonobs.lab.robot.rules import Attempt, Fault, Judgement, Message, RobotRules
from tritonobs.lab.robot.wire import handler

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

__all__ = ["Attempt", "Fault", "Judgement", "Message", "RobotDouble", "RobotRules"]


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
        """No faults any more, and not mute."""
        with self._changed:
            self._faults.clear()
            self.rules.muted_until = 0.0

    def wait_for(self, wanted: Callable[[RobotDouble], bool], *, timeout_seconds: float) -> bool:
        """Whether `wanted` came true in time; looked at after every call."""
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
