"""The loopback ports of a stack, and the processes that use them; waits for its states."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TypeVar
from urllib.parse import urlsplit

import psutil

from tritonobs.errors import StackError

LOOPBACK = "127.0.0.1"

_POLL_SECONDS = 0.2
_T = TypeVar("_T")


def port_of(url: str) -> int:
    """The port a URL names, or its scheme's."""
    parts = urlsplit(url)
    return parts.port or {"http": 80, "https": 443}[parts.scheme]


def free_ports(count: int) -> tuple[int, ...]:
    """Free ports, all different."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((LOOPBACK, 0))
        return tuple(each.getsockname()[1] for each in sockets)


def require_free(ports: Mapping[str, int]) -> None:
    """Make sure that the ports of these parts are free.

    Raises:
        StackError: names every port that is taken, and by which process.
    """
    taken = [f"  {part}: {_owner(port)}" for part, port in ports.items() if _is_taken(port)]
    if taken:
        raise StackError(
            "ports the stack needs are taken:\n" + "\n".join(taken) + "\n"
            "stop those programs, change the addresses in the fleet file, or use --free-ports"
        )


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return True
    return False


def _owner(port: int) -> str:
    for connection in psutil.net_connections("tcp"):
        listens = connection.status == psutil.CONN_LISTEN and connection.laddr
        if listens and listens.port == port and connection.pid:
            return f"port {port} is used by {psutil.Process(connection.pid).name()} (pid {connection.pid})"
    return f"port {port} is used by another user's process"


def wait_for(look: Callable[[], _T | None], what: str, patience_seconds: float) -> _T:
    """What `look` returns once it is something.

    Raises:
        StackError: it stayed None for `patience_seconds`.
    """
    deadline = time.monotonic() + patience_seconds
    while time.monotonic() < deadline:
        found = look()
        if found is not None:
            return found
        time.sleep(_POLL_SECONDS)
    raise StackError(f"waited {patience_seconds:.0f} s for {what}; see the logs of the stack")
