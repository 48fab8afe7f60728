"""The relay passes bodies on and tells nothing of the address but its host."""

from __future__ import annotations

import pytest

from tritonobs.clients.relay import Relay
from tritonobs.clients.secrets import Secret
from tritonobs.errors import BadAnswer, ClientError, SecretUnusable, Unreachable


def test_body_is_passed_on(wire) -> None:
    """A 2xx is success."""
    wire.says("/T000/B000/very-secret", "ok")
    Relay().post(Secret(f"{wire.url}/T000/B000/very-secret"), b"{}")
    assert [(method, path) for method, path, _ in wire.asked] == [("POST", "/T000/B000/very-secret")]


def test_refusal_is_an_error(wire) -> None:
    """Anything but 2xx is told, with the host alone."""
    wire.says("/very-secret", "go away", status=403)
    with pytest.raises(BadAnswer, match="answered 403") as caught:
        Relay().post(Secret(f"{wire.url}/very-secret"), b"{}")
    assert "very-secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "error"),
    [
        pytest.param("http://127.0.0.1:1/very-secret?key=very-secret", Unreachable, id="nobody listens"),
        pytest.param("http://[::1/very-secret", ClientError, id="malformed host"),
        pytest.param("ftp://x/very-secret", SecretUnusable, id="no web address"),
        pytest.param("very-secret", SecretUnusable, id="no address"),
    ],
)
def test_errors_tell_no_address(address: str, error: type[Exception]) -> None:
    """The path of a webhook is its secret."""
    with pytest.raises((error, SecretUnusable)) as caught:
        Relay().post(Secret(address), b"{}")
    assert "very-secret" not in str(caught.value)
