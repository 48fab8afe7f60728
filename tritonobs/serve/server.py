"""One HTTP server until SIGTERM or SIGINT: bounded connections, last answers before the end."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import uvicorn

from tritonobs.errors import TritonobsError
from tritonobs.serve.connections import IDLE_SECONDS, careful_protocol, most_connections

if TYPE_CHECKING:
    from starlette.types import ASGIApp

_LAST_ANSWERS_SECONDS = 10
_SILENT_SECONDS = 60
_ACCEPTED_AT_ONCE, _BACKLOG = 16, 1024
"""asyncio accepts so many before it looks at any of them; so many more wait in the kernel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listen:
    """Where to listen. Other machines are let in only with credentials, or when `without_auth` says so."""

    host: str = "127.0.0.1"
    port: int | None = None
    """That of `addresses.serve` in the fleet file, when None; any free one, when 0."""
    without_auth: bool = False
    names: frozenset[str] = frozenset()
    """Host names under which it is asked, besides those of the fleet file."""
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
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


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
    # A client that is gone without a word would else hold its connection for an hour.
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _SILENT_SECONDS)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _SILENT_SECONDS // 3)
    return made
