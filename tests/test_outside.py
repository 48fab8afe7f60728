"""What comes from outside: addresses and host names."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from tritonobs.clients.secrets import Secret
from tritonobs.clients.transport import checked_url
from tritonobs.delivery.view import web_address
from tritonobs.outside import is_known, web_parts
from tritonobs.plan.build import build_plan
from tritonobs.plan.fleet import known_names
from tritonobs.spec.load import read_text
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


HERE = "10.1.2.3"
NAMES = frozenset({"serve", "obs.example.com"})
KNOWN = ["127.0.0.1:9900", "127.8.8.8", "localhost:9900", "LOCALHOST", "localhost.", "[::1]:9900", "[::1]"]
KNOWN += ["10.1.2.3:9900", "serve:9900", "Serve", "obs.example.com"]
STRANGE = [
    "",
    "evil.example",
    "evil.example:9900",
    "10.9.9.9",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
]
STRANGE += [
    "evil.example@127.0.0.1",
    "[::2]",
    "[",
    "a b",
    "obs.example.com.evil",
    "http://127.0.0.1",
    "\x00",
]


@pytest.mark.parametrize("host", KNOWN)
def test_a_known_host_is_let_in(host: str) -> None:
    """Loopback, the address that was asked, and what the fleet file says."""
    assert is_known(host, NAMES, HERE)


@pytest.mark.parametrize("host", STRANGE)
def test_another_is_not(host: str) -> None:
    """However much it looks like one of ours."""
    assert not is_known(host, NAMES, HERE)


def test_the_fleet_file_names_them(tmp_path) -> None:
    """The host of `addresses.serve`, and `addresses.serve_names`."""
    text = (
        'fleet: s\nreplicas: [{name: a, url: "http://10.0.0.1:8000"}]\nmodels: {m: {}}\n'
        "addresses: {serve: 'http://Serve.prod:9900', serve_names: [obs.example.com]}\n"
    )
    spec = read_text(text, "fleet.yaml").spec
    assert known_names(build_plan(spec, tmp_path)) == {"serve.prod", "obs.example.com"}


@pytest.mark.parametrize("address", ["http://a..b:8000", f"http://{'a' * 64}:1", "http://.a/", "http://a../"])
def test_a_host_that_no_name_service_can_know_is_no_address(address):
    """urllib3 refuses it with an error of its own."""
    assert web_parts(address) is None
    assert web_parts("http://a.b.:8000") is not None
    assert web_parts("http://[::1]:8000") is not None
