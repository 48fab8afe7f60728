"""One HTTP server until SIGTERM or SIGINT: admission, bounded connections, last answers before the end.

Connections are closed that send half a request, do not read their answer, or are too many. Kept ones stay
open. uvicorn waits forever for the rest of a header. A client sends a whole request within seconds. And
uvicorn closes what is idle after 5 s, just when Triton sends its next spans: a POST that meets the close is
lost, because it is not repeated.

Memory for bodies has a bound, and so have lines of the log: a repeated message cannot fill the disk, and no
text can fake a line.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import signal
import socket
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import h11
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from tritonobs.errors import TimedOut, TritonobsError
from tritonobs.outside import is_known, shown, shown_lines
from tritonobs.units import host_port

_LAST_ANSWERS_SECONDS = 10
_SILENT_SECONDS = 60
_ACCEPTED_AT_ONCE, _BACKLOG = 16, 1024
"""How many connections asyncio accepts at once, and how many more wait in the kernel."""
HEADER_SECONDS = 10.0
REQUEST_SECONDS = 90.0
"""From a request's header to the end of its answer; a call is held for 30 s and may then be on its way."""
IDLE_SECONDS = 3600
"""The longest idle time of a kept connection: load balancers wait for ten minutes, Prometheus for five,
Triton for a request to trace."""
_LIVE_SECONDS = 90.0
"""What sent a request within this time is a client that will send the next."""
_REST_SECONDS = 5
_MOST, _SHARE_OF_FILES = 2048, 0.75
_WANTED_FILES = 4096

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listen:
    """Where to listen. Other machines are accepted only with credentials, or when `without_auth` says so."""

    host: str = "127.0.0.1"
    port: int | None = None
    """That of `addresses.serve` in the fleet file, when None; any free one, when 0."""
    without_auth: bool = False
    names: frozenset[str] = frozenset()
    """Host names under which clients reach it, besides those of the fleet file."""
    lease: str = ""
    """The Lease `namespace/name` whose holder delivers; "" where there is one daemon only."""


async def until_told(
    app: ASGIApp,
    listener: socket.socket,
    *,
    dropped: Callable[[str], None],
    close: Callable[[], Awaitable[None]],
) -> None:
    """Answer until a signal comes, then `close` and end; `dropped` gets the reason of a cut connection."""
    config = uvicorn.Config(
        app,
        http=careful_protocol(dropped, most_connections()),
        ws="none",
        backlog=_ACCEPTED_AT_ONCE,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=_LAST_ANSWERS_SECONDS,
    )
    server = _Server(config)
    ends: set[asyncio.Task[None]] = set()

    async def end() -> None:
        try:
            await close()
        finally:
            # Even where `close` fails: no other signal handler would end the process.
            server.should_exit = True

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, lambda: ends.add(loop.create_task(end())))
    await server.serve(sockets=[listener])


class _Server(uvicorn.Server):
    """Leaves signals to us: waiting calls are answered before the connections close."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen; the kernel keeps more callers than are accepted at once."""
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(_BACKLOG)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Nothing."""
        yield


def url_of(listener: socket.socket) -> str:
    """Where it answers."""
    host, port = listener.getsockname()[:2]
    return f"http://{host_port(host, port)}"


def listening(listen: Listen, usual_port: int) -> socket.socket:
    """A socket that listens. What is written to its connections leaves at once.

    Raises:
        TritonobsError: the address cannot be listened at.
    """
    port = usual_port if listen.port is None else listen.port
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    try:
        made = socket.create_server((listen.host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise TritonobsError(f"cannot listen at {listen.host}:{port}: {error.strerror}") from None
    # Connections inherit it; asyncio sets it only where the protocol of the socket was named. Without it the
    # body of an answer waits 40 ms until the caller has acknowledged the header.
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # A client that vanished would otherwise hold its connection for an hour.
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _SILENT_SECONDS)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _SILENT_SECONDS // 3)
    return made


def most_connections() -> int:
    """As many as leave a quarter of the files this process may open to its own work. Raises that limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # RLIM_INFINITY is -1 in Python, the least of all limits.
    wanted = max(soft, min(hard, _WANTED_FILES) if hard != resource.RLIM_INFINITY else _WANTED_FILES)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return max(8, min(_MOST, int(soft * _SHARE_OF_FILES)))


class Careful(H11Protocol):
    """HTTP as uvicorn speaks it, with limits; `careful_protocol` gives a subclass its values."""

    dropped: ClassVar[Callable[[str], None]]
    most: ClassVar[int]
    header_seconds: ClassVar[float]
    request_seconds: ClassVar[float]
    _timer: asyncio.TimerHandle | None = None
    _whole = False
    _answered: float | None = None
    """When the last answer was complete."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # TCP has no other transport
        """Begin with the time for a header, replacing another connection where all are taken."""
        super().connection_made(transport)
        self._limit(self.header_seconds, "header_time")
        if len(self.connections) > self.most:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Ended by either side."""
        self._unlimited()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Limit the time of what is not complete yet."""
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self.waits_for_header:
            # The first piece sets the time for the rest.
            if self._timer is None:
                self._limit(self.header_seconds, "header_time")
        elif not self._whole:
            self._whole = True
            self._limit(self.request_seconds, "request_time")

    def on_response_complete(self) -> None:
        """The next request has its own time, and may be long in coming."""
        self._unlimited()
        self._whole = False
        self._answered = self.loop.time()
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY and self.timeout_keep_alive_task is not None:
            # Answered before it was sent whole: such a client does not wait for its next request.
            self.timeout_keep_alive_task.cancel()
            self.timeout_keep_alive_task = self.loop.call_later(
                _REST_SECONDS, self.timeout_keep_alive_handler
            )

    @property
    def waits_for_header(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    @property
    def waits_for_body(self) -> bool:
        """Whether the caller has not sent all of its request."""
        return self.waits_for_header or self.cycle.more_body

    def drop(self, reason: str) -> None:
        """Close, and drop what was being sent."""
        type(self).dropped(reason)
        self._unlimited()
        # `connection_lost` comes a round of the loop later, and until then it would count as open.
        self.connections.discard(self)
        self.transport.abort()

    def _make_room(self) -> None:
        # A set has no order; the one with the oldest timer is not worth a list of its own.
        others: list[Any] = [one for one in self.connections if one is not self]
        unfinished = [one for one in others if one.waits_for_body and not one.transport.is_closing()]
        # Where every other request is whole, the newest connection is dropped.
        victim = min(unfinished, key=lambda one: one.worth, default=self)
        victim.drop("crowded")

    @property
    def worth(self) -> tuple[int, float]:
        """The least is dropped first: long idle, without a whole header, between two requests, half sent."""
        if not self.waits_for_header:
            return 3, self.since
        if self._timer is not None or self._answered is None:
            return 1, self.since
        return (2 if self.loop.time() - self._answered < _LIVE_SECONDS else 0), self._answered

    @property
    def since(self) -> float:
        """When its time runs out."""
        return self._timer.when() if self._timer else 0.0

    def _limit(self, seconds: float, reason: str) -> None:
        self._unlimited()
        self._timer = self.loop.call_later(seconds, self.drop, reason)

    def _unlimited(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = None


def careful_protocol(
    dropped: Callable[[str], None],
    most: int,
    *,
    header_seconds: float = HEADER_SECONDS,
    request_seconds: float = REQUEST_SECONDS,
) -> type[Careful]:
    """The protocol for one server; `most` connections at once, and what to call for those that are cut."""
    values = {
        "dropped": staticmethod(dropped),
        "most": most,
        "header_seconds": header_seconds,
        "request_seconds": request_seconds,
    }
    return type("CarefulProtocol", (Careful,), values)


class KnownHosts:
    """Refuses requests for a host name that this machine does not have."""

    def __init__(
        self, app: ASGIApp, names: Callable[[], Collection[str]], refused: Callable[[], None]
    ) -> None:
        self._app, self._names, self._refused = app, names, refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, or answer 421."""
        headers: dict[bytes, bytes] = dict(scope.get("headers", ()))
        host = headers.get(b"host", b"").decode("latin-1")
        here = (scope.get("server") or ("",))[0]
        if is_known(host, self._names(), here):
            await self._app(scope, receive, send)
            return
        self._refused()
        _log.warning("a call for host %r was refused; addresses.serve_names can allow it", host[:100])
        answer = PlainTextResponse("this is not served here; see addresses.serve_names\n", 421)
        await answer(scope, receive, send)


def forgiving(app: ASGIApp) -> ASGIApp:
    """Where a caller broke HTTP in the middle of its request, uvicorn has answered 400: ours is discarded."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await app(scope, receive, send)
        except h11.LocalProtocolError as error:
            _log.info("a caller broke off in the middle of its request: %s", error)

    return answer


def application(
    routes: Sequence[Route], names: Callable[[], Collection[str]], refused: Callable[[], None]
) -> ASGIApp:
    """These routes under known host names; 503 where one of them runs out of time."""
    app = Starlette(routes=routes, exception_handlers={TimedOut: _out_of_time})
    return forgiving(KnownHosts(app, names, refused))


def _out_of_time(_: Request, error: Exception) -> Response:
    return PlainTextResponse(f"{error}\n", 503)


class Room:
    """For bodies of up to `each` bytes, `most` bytes together: many large ones at once must come again."""

    def __init__(self, each: int, *, most: int) -> None:
        self._each = each
        self._free = most

    async def read(self, request: Request) -> bytes | None:
        """The body; of one that is too large, one byte too many; None where there is no room for it."""
        body = bytearray()
        try:
            async for chunk in request.stream():
                piece = chunk[: self._each + 1 - len(body)]
                if len(piece) > self._free:
                    return None
                self._free -= len(piece)
                body += piece
            return bytes(body)
        finally:
            self._free += len(body)


_SECONDS = 60.0
_MOST_LINES = 30
_MOST_KINDS = 500


def log_handler() -> logging.Handler:
    """Where the lines of a process that serves go: to stderr, bounded and without control characters."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Safe("%(asctime)s %(levelname)s %(message)s"))
    # A logger's filter sees only what is logged on it; that of the handler sees the lines of libraries, too.
    handler.addFilter(Sparing())
    return handler


class _Safe(logging.Formatter):
    """One line a message, also for text of several lines; a traceback stands indented below it."""

    def format(self, record: logging.LogRecord) -> str:
        """The line and its traceback, in which the text of an exception may have lines of its own."""
        return shown_lines(super().format(record)).replace("\n", "\n  ")

    # Before `format` adds the traceback, whose lines have to stay lines.
    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (logging's name)
        """The line, with what does not print as escapes."""
        return shown(super().formatMessage(record))


class Sparing(logging.Filter):
    """At most 30 lines a minute from each place; the next one says how many were left out."""

    def __init__(self) -> None:
        super().__init__()
        self._kinds: OrderedDict[tuple[str, int], _Kind] = OrderedDict()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is written."""
        key = record.pathname, record.lineno
        kind = self._kinds.pop(key, None) or _Kind()
        self._kinds[key] = kind
        if len(self._kinds) > _MOST_KINDS:
            self._kinds.popitem(last=False)
        written, left_out = kind.take(time.monotonic())
        if written and left_out:
            # Without arguments, so that a % in the finished text is not formatted again.
            record.msg, record.args = f"{record.getMessage()} ({left_out} lines like this were left out)", ()
        return written


class _Kind:
    __slots__ = ("began", "left_out", "lines")

    def __init__(self) -> None:
        self.began, self.lines, self.left_out = 0.0, 0, 0

    def take(self, now: float) -> tuple[bool, int]:
        """Whether one more line is written, and how many were left out before it."""
        if now - self.began >= _SECONDS:
            left_out, self.began, self.lines, self.left_out = self.left_out, now, 1, 0
            return True, left_out
        self.lines += 1
        if self.lines <= _MOST_LINES:
            return True, 0
        self.left_out += 1
        return False, 0
