"""Passes bodies on to an OpenTelemetry Collector, Tempo or Jaeger.

While it is down they wait in a queue; a full one drops new bodies. The queue is bounded in number and bytes;
bodies without room are counted.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

import requests

from tritonobs.clients.transport import TooLarge, checked_url, masked, read, session, translated, within
from tritonobs.errors import BadAnswer, ClientError, TimedOut
from tritonobs.tasks import Threads

_CONNECT_SECONDS = 2.0
_MOST_ANSWER_BYTES = 2**20

MOST_BODIES, MOST_BYTES = 2000, 64 * 2**20
# More than the collector's own limits of 2 s and 10 s, whose errors say what was waited for.
_POST_SECONDS = 15.0


class Forwarder:
    """Sends one body after the other; made and used in one event loop.

    `deliver` is a round for a supervisor.
    """

    def __init__(self, url: str, *, most_bodies: int = MOST_BODIES, most_bytes: int = MOST_BYTES) -> None:
        self.sent = 0
        self.refused = 0
        """Bodies that the collector refused."""
        self.queue = BoundedQueue(most=most_bodies, most_bytes=most_bytes)
        self._collector = Collector(url)
        self._threads = Threads("collector")

    def put(self, body: Body) -> None:
        """Let the body wait its turn; one without room is counted by the queue."""
        self.queue.put(body)

    async def deliver(self) -> None:
        """Send the oldest body.

        Raises:
            ClientError: the collector is down or asks to wait; the body stays the oldest.
        """
        body = await self.queue.first()
        headers = {"Content-Type": body.kind}
        if body.encoding:
            headers["Content-Encoding"] = body.encoding
        try:
            await self._threads.run(lambda: self._collector.post(body.data, headers), seconds=_POST_SECONDS)
            self.sent += 1
        except Refused:
            # Dropped as well: sent again, it would hold up all behind it forever.
            self.refused += 1
        self.queue.drop()

    def close(self) -> None:
        """Give the connection back; what waits is lost."""
        self._collector.close()


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


class Refused(ClientError):  # noqa: N818 (what happened; those of errors.py read the same)
    """The collector refuses this body; it must not be sent again."""


class Collector:
    """Posts bodies to an OTLP address (`http://host:4318/v1/traces`), unchanged."""

    def __init__(self, url: str, *, timeout_seconds: float = 10.0) -> None:
        self._url = checked_url(url)
        self._timeout = (_CONNECT_SECONDS, timeout_seconds)
        self._session = session()

    def post(self, body: bytes, headers: Mapping[str, str]) -> None:
        """Send one body, once.

        Raises:
            Refused: it answered 4xx, but for 408 and 429.
            ClientError: it was not reached, or asks to be sent the body again.
        """
        request = f"POST {masked(self._url)}"
        whole = sum(self._timeout)
        with within(whole) as limit:
            try:
                answer = self._session.post(
                    self._url,
                    data=body,
                    headers=dict(headers),
                    timeout=self._timeout,
                    allow_redirects=False,
                    stream=True,
                )
                # Read to its end, or requests would not use the connection again.
                read(answer, _MOST_ANSWER_BYTES)
            except requests.RequestException as error:
                if not limit.expired:
                    raise translated(error, request, self._timeout[1]) from None
            except TooLarge as error:
                raise BadAnswer(f"{request} answered {error}") from None
        if limit.expired:
            raise TimedOut(f"{request}: no whole answer within {whole:g} s")
        status = answer.status_code
        if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
            return
        again = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS}
        final = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in again
        raise (Refused if final else BadAnswer)(f"{request} answered {status}")

    def close(self) -> None:
        """Give the connections back."""
        self._session.close()
