"""A time limit for a whole request, not for each read.

The timeouts of requests are for each piece that arrives: a server that sends a byte a second never runs into
one. When the time is over, the connection is shut down, which wakes its reader: in the headers, in the body,
or before that in TLS.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, Retry
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError
from urllib3.poolmanager import PoolManager

_here = threading.local()
_PIECE = 65_536


class TooLarge(ValueError):  # noqa: N818 (what happened, not whose fault it is)
    """An answer has more bytes than are held in memory."""


class Limit:
    """The time of what one thread is doing; `expired` once it was over before the work was."""

    def __init__(self) -> None:
        self.expired = False
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []

    def watch(self, connection: socket.socket) -> None:
        """Shut this connection down, too, when the time is over."""
        # A copy of the descriptor: TLS detaches the socket that it is given.
        copy = socket.socket(fileno=os.dup(connection.fileno()))
        with self._lock:
            self._sockets.append(copy)
            if self.expired:
                _shut(copy)

    def expire(self) -> None:
        """The time is over."""
        with self._lock:
            self.expired = True
            for one in self._sockets:
                _shut(one)

    def close(self) -> None:
        """The work is done."""
        # The timer may be shutting them down at this moment.
        with self._lock:
            while self._sockets:
                self._sockets.pop().close()


@contextmanager
def within(seconds: float) -> Iterator[Limit]:
    """Requests of this thread, through sessions made here, break when `seconds` are over."""
    limit, before = Limit(), getattr(_here, "limit", None)
    timer = threading.Timer(seconds, limit.expire)
    timer.daemon = True
    timer.start()
    _here.limit = limit
    try:
        yield limit
    finally:
        timer.cancel()
        _here.limit = before
        limit.close()


def session(*, retries: Retry | int = 0, pool_size: int = 10) -> requests.Session:
    """A session whose connections keep to the time of `within`."""
    made = requests.Session()
    for scheme in ("http://", "https://"):
        made.mount(scheme, _Adapter(max_retries=retries, pool_maxsize=pool_size))
    return made


def read(answer: requests.Response, most: int) -> bytes:
    """The body of an answer that was asked for with `stream=True`.

    Raises:
        TooLarge: it has more than `most` bytes, unpacked.
    """
    body = bytearray()
    for piece in answer.iter_content(_PIECE):
        body += piece
        if len(body) > most:
            answer.close()
            raise TooLarge(f"more than {most} bytes")
    return bytes(body)


def lines(answer: requests.Response, most: int) -> Iterator[bytes]:
    """The lines of such a body as they arrive, empty ones left out.

    Raises:
        TooLarge: a line has more than `most` bytes.
    """
    # Not `iter_lines` of requests, which holds a line of any length.
    rest = bytearray()
    for piece in answer.iter_content(_PIECE):
        *whole, last = piece.split(b"\n")
        for line in whole:
            rest += line
            if rest:
                yield bytes(rest)
            rest.clear()
        rest += last
        if len(rest) > most:
            answer.close()
            raise TooLarge(f"a line of more than {most} bytes")
    if rest:
        yield bytes(rest)


def _shut(one: socket.socket) -> None:
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # It is closed already.


class _Watched:
    """Tells the limit of this thread about the connection in use."""

    sock: Any

    def _new_conn(self) -> socket.socket:
        limit: Limit | None = getattr(_here, "limit", None)
        # urllib3's next try would otherwise connect after the time is over.
        if limit and limit.expired:
            raise ConnectTimeoutError(self, "the time for the request is over")
        # Registered before TLS begins: a handshake that never ends is cut off, too.
        made: socket.socket = super()._new_conn()  # type: ignore[misc] # urllib3's, below
        if limit:
            limit.watch(made)
        return made

    def request(self, *args: Any, **more: Any) -> None:  # noqa: ANN401 (passed on)
        limit: Limit | None = getattr(_here, "limit", None)
        # A connection out of the pool was made within the time of an earlier request.
        if limit and self.sock is not None:
            limit.watch(self.sock)
        super().request(*args, **more)  # type: ignore[misc] # urllib3's, below


class _Http(_Watched, HTTPConnection):
    pass


class _Https(_Watched, HTTPSConnection):
    pass


class _HttpPool(HTTPConnectionPool):
    ConnectionCls = _Http


class _HttpsPool(HTTPSConnectionPool):
    ConnectionCls = _Https


class _Adapter(HTTPAdapter):
    def init_poolmanager(self, *args: Any, **more: Any) -> None:  # noqa: ANN401 (passed on)
        super().init_poolmanager(*args, **more)
        _minding(self.poolmanager)

    # requests makes another manager where the environment names a proxy.
    def proxy_manager_for(self, *args: Any, **more: Any) -> Any:  # noqa: ANN401 (passed on)
        return _minding(super().proxy_manager_for(*args, **more))


def _minding(manager: PoolManager) -> PoolManager:
    manager.pool_classes_by_scheme = {"http": _HttpPool, "https": _HttpsPool}
    return manager
