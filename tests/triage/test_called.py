"""Names in place of addresses, and where an address stays."""

from __future__ import annotations

import pytest

from tritonobs.extensions.triage.judge import by_name
from tritonobs.timings.cause import Cause

KNOWN = {"127.0.0.1:8002": "triton-1", "127.0.0.1:80": "triton-2", "[::1]:8000": "six"}


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("replica 127.0.0.1:8002 hangs", "replica triton-1 hangs"),
        ("on http://127.0.0.1:8002, 127.0.0.1:80 and others", "on triton-1, triton-2 and others"),
        ("could not be loaded on http://[::1]:8000: no file", "could not be loaded on six: no file"),
        ("restart 127.0.0.1:8002.", "restart triton-1."),
        ("127.0.0.1:80023 is another", "127.0.0.1:80023 is another"),
        ("curl http://127.0.0.1:8002/v2/health", "curl http://127.0.0.1:8002/v2/health"),
        ("dial tcp 127.0.0.1:8002: connect: refused", "dial tcp 127.0.0.1:8002: connect: refused"),
    ],
)
def test_an_address_is_a_name_where_a_server_is_meant(said: str, named: str) -> None:
    """Whole addresses alone; not in what an error says, not in what is copied into a shell."""
    cause = Cause(place=(), sentence=said, confidence=1.0)

    assert by_name(cause, KNOWN).sentence == named
