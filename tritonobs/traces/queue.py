"""A queue of bodies, bounded in number and bytes; what finds no room is counted."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """A posted body as it came; `kind` is its media type, `peer` the address of who sent it."""

    data: bytes
    kind: str
    encoding: str = ""
    peer: str = ""


class BoundedQueue:
    """First in, first out; made and used in one event loop.

    `lost` counts the bodies that found no room.
    """

    def __init__(self, *, most: int, most_bytes: int) -> None:
        self.lost = 0
        self.bytes = 0
        self._most, self._most_bytes = most, most_bytes
        self._bodies: deque[Body] = deque()
        self._some = asyncio.Event()

    def __len__(self) -> int:
        return len(self._bodies)

    def put(self, body: Body) -> bool:
        """Whether there was room."""
        if len(self._bodies) >= self._most or self.bytes + len(body.data) > self._most_bytes:
            self.lost += 1
            return False
        self._bodies.append(body)
        self.bytes += len(body.data)
        self._some.set()
        return True

    async def first(self) -> Body:
        """The oldest body, which stays; waits for one."""
        while not self._bodies:
            self._some.clear()
            await self._some.wait()
        return self._bodies[0]

    def drop(self) -> None:
        """Take the oldest body out; nothing where there is none."""
        if self._bodies:
            self.bytes -= len(self._bodies.popleft().data)
