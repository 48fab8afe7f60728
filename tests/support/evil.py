"""Servers that answer as no good server does: not at all, byte by byte, without an end, with nonsense."""

from __future__ import annotations

import enum
import socket
import struct
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing_extensions import Self

_DRIP_SECONDS: Final = 0.2
_HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


class Evil(enum.Enum):
    """What the server does with a request."""

    SILENT = "takes the connection and says nothing"
    DRIPS_HEADERS = "a byte of the headers every 0.2 s"
    DRIPS_BODY = "a byte of the body every 0.2 s"
    DRIPS_UNMEASURED = "the same without a length: where it is cut off, it looks whole"
    ENDLESS = "a body without an end, as fast as it goes"
    DEEP = "JSON a hundred thousand lists deep"
    WIDE = "JSON of a million lists"
    REFUSES_ENDLESSLY = "a refusal without an end, as fast as it goes"
    GARBAGE = "bytes that are no HTTP"
    RESET = "a reset in the middle of the body"


class EvilServer:
    """A context manager; while it is open, everything asked of `url` meets `evil`."""

    def __init__(self, evil: Evil) -> None:
        self.evil = evil
        self.asked = 0
        self._closing = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(0.1)
        self._thread = threading.Thread(target=self._accept, daemon=True)

    @property
    def url(self) -> str:
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while not self._closing.is_set():
            with suppress(TimeoutError):
                connection, _ = self._listener.accept()
                self.asked += 1
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(0.1)
            # Closing with something unread would be a reset.
            with suppress(TimeoutError):
                while connection.recv(65_536):
                    pass
            connection.settimeout(None)
            if self.evil is Evil.SILENT:
                self._closing.wait()
            elif self.evil is Evil.DRIPS_HEADERS:
                self._drip(connection, b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 10_000)
            elif self.evil is Evil.DRIPS_BODY:
                connection.sendall(_HEAD + b"Content-Length: 10000\r\n\r\n")
                self._drip(connection, b" " * 10_000)
            elif self.evil is Evil.DRIPS_UNMEASURED:
                connection.sendall(_HEAD + b"Connection: close\r\n\r\n")
                self._drip(connection, b" " * 10_000)
            elif self.evil in {Evil.ENDLESS, Evil.REFUSES_ENDLESSLY}:
                head = _HEAD if self.evil is Evil.ENDLESS else _HEAD.replace(b"200 OK", b"403 No")
                connection.sendall(head + b"Content-Length: 99999999999\r\n\r\n")
                while not self._closing.is_set():
                    connection.sendall(b" " * 1_000_000)
            else:
                connection.sendall(_MOMENTARY[self.evil])
                if self.evil is Evil.RESET:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def _drip(self, connection: socket.socket, data: bytes) -> None:
        for at in range(len(data)):
            connection.sendall(data[at : at + 1])
            if self._closing.wait(_DRIP_SECONDS):
                return


def _whole(body: bytes, headers: bytes = b"") -> bytes:
    return _HEAD + headers + b"Content-Length: %d\r\n\r\n" % len(body) + body


_MOMENTARY = {
    Evil.DEEP: _whole(b"[" * 100_000 + b"]" * 100_000),
    Evil.WIDE: _whole(b"[" + b",".join([b"[]"] * 1_000_000) + b"]"),
    Evil.GARBAGE: b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
    Evil.RESET: _HEAD + b"Content-Length: 10000\r\n\r\n{",
}
