"""Passes bodies on to a collector. While it is down they wait in a queue; a full one drops new bodies."""

from __future__ import annotations

from tritonobs.clients.collector import Collector, Refused
from tritonobs.tasks.threads import Threads
from tritonobs.traces.queue import Body, BoundedQueue

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
        """Bodies that the collector does not want at all."""
        self.queue = BoundedQueue(most=most_bodies, most_bytes=most_bytes)
        self._collector = Collector(url)
        self._threads = Threads("collector")

    def put(self, body: Body) -> None:
        """Let the body wait its turn; one without room is counted by the queue."""
        self.queue.put(body)

    async def deliver(self) -> None:
        """Send the oldest body.

        Raises:
            ClientError: the collector is away or asks for patience; the body stays the oldest.
        """
        body = await self.queue.first()
        headers = {"Content-Type": body.kind}
        if body.encoding:
            headers["Content-Encoding"] = body.encoding
        try:
            await self._threads.run(lambda: self._collector.post(body.data, headers), seconds=_POST_SECONDS)
            self.sent += 1
        except Refused:
            # Dropped as well: sent again, it would hold up all behind it for ever.
            self.refused += 1
        self.queue.drop()

    def close(self) -> None:
        """Give the connection back; what waits is lost."""
        self._collector.close()
