"""What a Service of Kubernetes is to its callers: each new connection goes to one of several servers."""

from __future__ import annotations

import random
import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

_PIECE = 65_536


class Balancer:
    """A context manager; while it is open, connections to `port` reach one of `ports`, by chance.

    A server that does not answer is left out, as one whose pod is gone.
    """

    def __init__(self, ports: Sequence[int], *, port: int = 0, seed: int = 0) -> None:
        self._ports = tuple(ports)
        self._random = random.Random(seed)  # noqa: S311 (the same choices each time)
        self._listener = socket.create_server(("127.0.0.1", port), backlog=256)
        self.port = int(self._listener.getsockname()[1])

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                caller, _ = self._listener.accept()
                threading.Thread(target=self._join, args=(caller,), daemon=True).start()

    def _join(self, caller: socket.socket) -> None:
        for port in self._random.sample(self._ports, len(self._ports)):
            with suppress(OSError):
                server = socket.create_connection(("127.0.0.1", port), timeout=2)
                server.settimeout(None)
                threading.Thread(target=_pass_on, args=(caller, server), daemon=True).start()
                _pass_on(server, caller)
                return
        caller.close()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(_PIECE):
            target.sendall(piece)
    for one in (source, target):
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
