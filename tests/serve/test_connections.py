"""Connections that clients keep, and which are closed where there are too many."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from uvicorn.server import ServerState

from tritonobs.serve.server import IDLE_SECONDS, careful_protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.requests import Request

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
