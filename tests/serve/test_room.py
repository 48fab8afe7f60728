"""Bodies of calls: all of them together have a largest size."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tritonobs.delivery.payload import MOST_BYTES
from tritonobs.serve.room import Room

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


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
