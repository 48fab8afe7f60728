"""Programs, and ports that stay free until a program listens."""

from __future__ import annotations

import errno
import socket

import pytest

from tritonobs.programs import LOOPBACK, free_ports


def test_free_ports_are_given_to_nobody_else_and_to_whoever_names_them() -> None:
    """Linux gives no port to others in which a connection was just closed; a server reuses the address."""
    first, second = free_ports(2)

    assert first != second
    for port in (first, second):
        with socket.socket() as other, pytest.raises(OSError, match="in use") as refused:
            other.bind((LOOPBACK, port))
        assert refused.value.errno == errno.EADDRINUSE
        with socket.create_server((LOOPBACK, port)) as server:
            assert server.getsockname()[1] == port
