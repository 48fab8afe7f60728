"""One HTTP server: its connections, its memory for bodies and its log have bounds."""

from __future__ import annotations

import asyncio
import logging
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from uvicorn.server import ServerState

from tritonobs.delivery.payload import MOST_BYTES
from tritonobs.errors import TimedOut
from tritonobs.serve import server
from tritonobs.serve.server import (
    IDLE_SECONDS,
    Listen,
    Room,
    Sparing,
    application,
    careful_protocol,
    listening,
)


def test_answers_leave_at_once() -> None:
    """The body does not wait until the caller acknowledged the header, which takes 40 ms."""

    async def main() -> bool:
        begun = asyncio.get_running_loop().create_future()
        with listening(Listen(host="127.0.0.1", port=0), 0) as listener:
            server = await asyncio.start_server(lambda _, writer: begun.set_result(writer), sock=listener)
            async with server:
                _, caller = await asyncio.open_connection(*listener.getsockname())
                writer = await begun
                connection = writer.get_extra_info("socket")
                found = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                for one in (caller, writer):
                    one.close()
                    await one.wait_closed()
        return bool(found)

    assert asyncio.run(main())


@pytest.mark.parametrize(
    ("host", "status", "text"),
    [
        (b"a", 503, "no page within 9 s\n"),
        (b"b", 421, "this is not served here; see addresses.serve_names\n"),
    ],
)
def test_a_route_that_runs_out_of_time_answers_503(host: bytes, status: int, text: str) -> None:
    """With the reason; a host that is not known learns nothing."""

    async def slow(_: Request) -> Response:
        raise TimedOut("no page within 9 s")

    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/slow", "headers": [(b"host", host)]}
    app = application([Route("/slow", slow)], lambda: {"a"}, lambda: None)
    asyncio.run(app(scope, receive, send))

    assert sent[0]["status"] == status
    assert b"".join(one.get("body", b"") for one in sent).decode() == text


MOST = 6
ASK = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


async def _answer(_: Request) -> PlainTextResponse:
    return PlainTextResponse("ok\n")


class Caller:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def ask(self) -> bool:
        """Whether the connection was still there for one more request."""
        try:
            self.writer.write(ASK)
            await self.writer.drain()
            return b" 200 " in await asyncio.wait_for(self.reader.readline(), 10) and bool(
                await self.reader.readuntil(b"ok\n")
            )
        except (OSError, asyncio.IncompleteReadError):
            return False

    async def closed(self) -> bool:
        """Whether the other side has closed."""
        try:
            return await asyncio.wait_for(self.reader.read(1), 0.3) == b""
        except asyncio.TimeoutError:
            return False
        except OSError:
            return True


@asynccontextmanager
async def served(idle: int = IDLE_SECONDS) -> AsyncIterator[Callable[[], Awaitable[Caller]]]:
    """The protocol on a free port; yields what opens a connection."""
    dropped: list[str] = []
    protocol = careful_protocol(dropped.append, MOST)
    config = uvicorn.Config(
        Starlette(routes=[Route("/", _answer)]), lifespan="off", log_config=None, timeout_keep_alive=idle
    )
    config.load()
    loop, state = asyncio.get_running_loop(), ServerState()
    server = await loop.create_server(
        lambda: protocol(config=config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    opened: list[Caller] = []

    async def call() -> Caller:
        opened.append(Caller(*await asyncio.open_connection(*server.sockets[0].getsockname())))
        return opened[-1]

    try:
        yield call
    finally:
        for one in opened:
            one.writer.close()
        server.close()


@pytest.mark.parametrize(("idle", "there"), [(IDLE_SECONDS, True), (5, False)])
def test_a_sender_that_waits_finds_its_connection(idle: int, *, there: bool) -> None:
    """Triton sends a batch every five seconds, and never again what met a close."""

    async def main() -> list[bool]:
        async with served(idle) as call:
            one = await call()
            found = [await one.ask()]
            await asyncio.sleep(6)
            return [*found, await one.ask()]

    assert asyncio.run(main()) == [True, there]


def test_a_live_sender_is_not_dropped_for_a_crowd() -> None:
    """Those who never asked go first; a client between two requests stays."""

    async def main() -> tuple[bool, list[bool]]:
        async with served() as call:
            sender = await call()
            assert await sender.ask()
            crowd = [await call() for _ in range(3 * MOST)]
            await asyncio.sleep(0.3)
            return await sender.ask(), [await one.closed() for one in crowd]

    alive, closed = asyncio.run(main())
    assert alive
    assert closed == [True] * (2 * MOST + 1) + [False] * (MOST - 1)


def test_of_many_that_asked_the_longest_idle_goes() -> None:
    """A crowd that asks once each and stays makes room for itself."""

    async def main() -> bool:
        async with served() as call:
            sender = await call()
            for _ in range(2 * MOST):
                assert await sender.ask()
                assert await (await call()).ask()
            return await sender.ask()

    assert asyncio.run(main())


def test_a_request_answered_before_its_end_keeps_nothing_open() -> None:
    """The rest of it never comes: its connection closes soon."""

    async def main() -> bool:
        async with served() as call:
            one = await call()
            one.writer.write(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n\r\nx")
            assert await one.reader.readuntil(b"ok\n")
            await asyncio.sleep(6)
            return await one.closed()

    assert asyncio.run(main())


class _Request:
    """A request whose body comes in these pieces, the last after `hold` is set."""

    def __init__(self, *pieces: bytes, hold: asyncio.Event | None = None) -> None:
        self._pieces, self._hold = pieces, hold

    async def stream(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece
        if self._hold:
            await self._hold.wait()


def test_who_finds_no_room_comes_again_and_who_has_some_goes_on() -> None:
    """And the room of a body that was read is free for the next."""

    async def main() -> None:
        room, hold = Room(MOST_BYTES, most=10), asyncio.Event()
        first = asyncio.ensure_future(room.read(_Request(b"12345", b"678", hold=hold)))
        await asyncio.sleep(0)
        assert await room.read(_Request(b"abc")) is None
        assert await room.read(_Request(b"ab")) == b"ab"
        hold.set()
        assert await first == b"12345678"
        assert await room.read(_Request(b"0123456789")) == b"0123456789"

    asyncio.run(main())


def test_a_caller_that_breaks_off_gives_its_room_back() -> None:
    """A hundred of them leave all of it."""

    async def main() -> None:
        room = Room(MOST_BYTES, most=10)
        for _ in range(100):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(room.read(_Request(b"12345678", hold=asyncio.Event())), 0.001)
        assert await room.read(_Request(b"0123456789")) == b"0123456789"

    asyncio.run(main())


def test_of_a_body_that_is_too_large_one_byte_too_many_is_kept() -> None:
    """Enough to know; the rest is read and thrown away."""
    assert asyncio.run(Room(4, most=100).read(_Request(b"123", b"456", b"789"))) == b"12345"


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    """Seconds a test can move."""
    now = [100.0]
    monkeypatch.setattr(server.time, "monotonic", lambda: now[0])
    return now


def _record(line: int, text: str) -> logging.LogRecord:
    return logging.LogRecord("n", logging.WARNING, "file.py", line, "%s", (text,), None)


def test_a_minute_has_thirty_lines_of_a_kind(clock) -> None:
    """The first of the next minute says how many were left out; other kinds are not touched."""
    sparing = Sparing()
    assert sum(sparing.filter(_record(1, f"line {n}")) for n in range(1000)) == 30
    assert sparing.filter(_record(2, "another"))
    clock[0] += 60
    next_one = _record(1, "100 % of it")
    assert sparing.filter(next_one)
    assert next_one.getMessage() == "100 % of it (970 lines like this were left out)"


def test_no_number_of_kinds_fills_the_memory(clock) -> None:
    """The oldest are forgotten."""
    sparing = Sparing()
    for line in range(5000):
        sparing.filter(_record(line, "x"))
    assert len(sparing._kinds) == 500


_SPEAKER = """
import logging, sys
import {module} as served
def run(*_, **__):
    try:
        raise ValueError("\\x1b[2Jwell\\n2026-11-23 ERROR robot oncall is gone\\r\\u202e")
    except ValueError:
        logging.getLogger("n").exception("a\\nb\\x1b", stack_info=True)
served.run = run
from tritonobs.cli import run
run()
"""


@pytest.mark.parametrize(
    ("module", "command"),
    [
        pytest.param("tritonobs.serve.app", ["serve"], id="serve"),
        pytest.param("tritonobs.extensions.traces.routes", ["traces", "serve"], id="traces serve"),
    ],
)
def test_no_text_of_an_exception_is_a_line_of_the_log(module: str, command: list[str], fleet_file) -> None:
    """Texts of others end in messages of exceptions, and those in tracebacks."""
    program = [sys.executable, "-c", _SPEAKER.format(module=module), *command, str(fleet_file())]
    done = subprocess.run(program, capture_output=True, check=True)
    written = done.stderr.decode()

    first, *rest = written.splitlines()
    assert first.endswith(r" ERROR a\nb\x1b")
    assert r"  ValueError: \x1b[2Jwell" in rest
    assert all(line.startswith("  ") for line in rest)
    assert not {"\x1b", "\r", "\u202e"} & set(written)
