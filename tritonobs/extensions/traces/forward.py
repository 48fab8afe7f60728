"""Passes bodies on to an OpenTelemetry Collector, Tempo or Jaeger.

While it is down they wait in a queue; a full one drops new bodies. The queue is bounded in number and bytes;
bodies without room are counted.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from http import HTTPStatus

from tritonobs.clients.transport import checked_url, masked, posted, session
from tritonobs.errors import BadAnswer, ClientError
from tritonobs.tasks import Threads

MOST_BODIES, MOST_BYTES = 2000, 64 * 2**20
_SILENT_SECONDS = 10.0
# More than the limits of the request, 2 s and 10 s, whose errors say what was waited for.
_POST_SECONDS = 15.0


class Forwarder:
    """Sends one body after the other; made and used in one event loop.

    `deliver` is a round for a supervisor.
    """

    def __init__(self, url: str) -> None:
        self.sent = 0
        self.refused = 0
        """Bodies that the collector refused."""
        self.queue = BoundedQueue(most=MOST_BODIES, most_bytes=MOST_BYTES)
        self._url = checked_url(url)
        self._session = session()
        self._threads = Threads("collector")

    async def deliver(self) -> None:
        """Send the oldest body.

        Raises:
            ClientError: the collector is down or asks to wait; the body stays the oldest.
        """
        body = await self.queue.first()
        try:
            await self._threads.run(lambda: self._post(body), seconds=_POST_SECONDS)
            self.sent += 1
        except Refused:
            # Dropped as well: sent again, it would hold up all behind it forever.
            self.refused += 1
        self.queue.drop()

    def close(self) -> None:
        """Give the connection back; what waits is lost."""
        self._session.close()

    def _post(self, body: Body) -> None:
        """Send it once, unchanged, to an OTLP address (`http://host:4318/v1/traces`).

        Raises:
            Refused: it was answered 4xx, but for 408 and 429.
            ClientError: the collector was not reached, or asks to be sent the body again.
        """
        headers = {"Content-Type": body.kind}
        if body.encoding:
            headers["Content-Encoding"] = body.encoding
        request = f"POST {masked(self._url)}"
        answer, _ = posted(
            self._session, self._url, body.data, headers, seconds=_SILENT_SECONDS, shown=request
        )
        status = answer.status_code
        if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
            return
        again = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS}
        final = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in again
        raise (Refused if final else BadAnswer)(f"{request} answered {status}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """A posted body as it came; `kind` is its media type, `peer` the address of who sent it."""

    data: bytes
    kind: str
    encoding: str = ""
    peer: str = ""


class BoundedQueue:
    """First in, first out; made and used in one event loop.

    `lost` counts the bodies that had no room.
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


class Refused(ClientError):
    """The collector refuses this body; it must not be sent again."""
