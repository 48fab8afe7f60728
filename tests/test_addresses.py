"""One rule for what a usable address is: in fleet files, options, secrets and links of alerts."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from tritonobs.clients.secrets import Secret
from tritonobs.clients.transport import checked_url
from tritonobs.delivery.view import web_address
from tritonobs.spec.values import Url


@pytest.mark.parametrize(
    "text",
    ["http://h", "https://h:65535/a/b", "http://[::1]:8000", "http://h-1.example:1/%20", "http://模型/型"],
)
def test_what_is_an_address_is_one_everywhere(text: str) -> None:
    """Whoever reads it."""
    assert TypeAdapter(Url).validate_python(text) == text
    assert checked_url(text) == text
    assert Secret(text).as_address().geturl() == text
    assert web_address(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "h:8000",
        "ftp://h",
        "http://",
        "http://:80",
        "http://[::1",
        "http://h:port",
        "http://h:0",
        "http://h:65536",
        "ht\ntp://h",
    ],
)
def test_what_is_none_is_none_everywhere(text: str) -> None:
    """Not even for a moment: a wrong one is found where it is read, and not where it is asked."""
    _is_none(text)
    assert web_address(text) == ""


@pytest.mark.parametrize(
    "text", ["http://h ost", "http://h\n", "http://h\t:80", " http://h", "http://h\u200b", "http://h/\x00"]
)
def test_what_cannot_be_seen_is_in_no_address(text: str) -> None:
    """Reading would drop some of it without a word; links, which are not ours, have it encoded."""
    _is_none(text)


def _is_none(text: str) -> None:
    with pytest.raises(ValidationError, match="allowed is an address like"):
        TypeAdapter(Url).validate_python(text)
    with pytest.raises(ValueError, match="write one like"):
        checked_url(text)
    assert Secret(text).as_address().hostname is None


def test_half_a_character_in_a_link_breaks_no_message() -> None:
    """JSON can hold it, UTF-8 cannot."""
    assert web_address("http://h/\ud800?a=b") == "http://h/%ED%A0%80?a=b"
