"""Memory for the bodies of calls, with a bound."""

from __future__ import annotations

from starlette.requests import Request


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
