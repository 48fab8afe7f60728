"""Who may post."""

from __future__ import annotations

import base64

import pytest

from tritonobs.clients.secrets import Secret
from tritonobs.serve.config import Gate

TOKEN = Gate(secret=Secret("tökén"))
LOGIN = Gate(secret=Secret("pass:word"), username="am")


def _basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize("gate", [TOKEN, LOGIN], ids=["bearer", "basic"])
def test_own_header_is_admitted(gate: Gate) -> None:
    """What we send ourselves, in any case of the scheme's letters."""
    header = gate.header().reveal()
    as_received = header.encode().decode("latin-1")
    scheme, _, rest = as_received.partition(" ")
    assert gate.admits(as_received)
    assert gate.admits(f"{scheme.upper()} {rest}")


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer tökén2",
        "Basic tökén",
        "tökén",
        _basic("am:"),
        _basic("am:pass"),
        _basic("you:pass:word"),
        _basic("pass:word"),
        "Basic !!!",
        "Basic \u00ff",
        "Bearer pass:word",
    ],
)
def test_any_other_header_is_not(header: str) -> None:
    """Wrong scheme, wrong name, wrong secret, nothing."""
    assert not LOGIN.admits(header)
    assert not TOKEN.admits(header)


def test_gate_shows_no_secret() -> None:
    """Not in its `repr` either."""
    assert "tökén" not in repr(TOKEN)
    assert "pass:word" not in repr(LOGIN)
