"""A client of the receiver of traces: the slowest requests it keeps."""

from __future__ import annotations

from tritonobs.clients.transport import Json, Transport


class TracesClient:
    """One receiver."""

    def __init__(self, url: str) -> None:
        self._transport = Transport(url)
        self.address = self._transport.address

    def slow(self, model: str, since_seconds: float) -> Json:
        """Its models, and the slowest requests to one of them in the last so many seconds.

        Raises:
            ClientError: it was not reached, or is not a receiver.
        """
        answer = self._transport.get("/traces/slow", {"model": model, "since": f"{since_seconds:g}"})
        return answer.required().json()

    def close(self) -> None:
        """Give the connections back."""
        self._transport.close()
