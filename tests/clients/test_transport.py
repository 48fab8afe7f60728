"""The wire: errors of our own, careful retries, no secret in any text."""

from __future__ import annotations

import inspect
import socket
from typing import TYPE_CHECKING

import pytest
import requests

from tritonobs.clients.transport import Transport, checked_url, masked, translated
from tritonobs.errors import BadAnswer, ClientError, ConnectionBroken, TimedOut, Unreachable

if TYPE_CHECKING:
    from conftest import Wire


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def test_an_address_without_a_listener_is_unreachable_and_named() -> None:
    """Nobody there: the error says where we looked and why nothing came."""
    port = _free_port()

    with pytest.raises(Unreachable) as caught:
        Transport(f"http://127.0.0.1:{port}", retries=0).get("/x")

    assert str(caught.value) == f"GET http://127.0.0.1:{port}/x: connection refused"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        pytest.param("http://127.0.0.1:9", "connection refused", id="nobody listens"),
        pytest.param("http://no.such.host.invalid", "no such host", id="no such host"),
        pytest.param("https://{wire}", "(?i)ssl", id="no TLS there"),
    ],
)
def test_a_connection_that_never_came_about_is_not_one_that_broke(wire: Wire, url: str, words: str) -> None:
    """What was never sent was certainly not done."""
    url = url.format(wire=wire.url.removeprefix("http://"))

    with pytest.raises(Unreachable, match=words) as caught:
        Transport(url, retries=0).post_json("/x", {})

    assert not isinstance(caught.value, ConnectionBroken)


def test_a_silent_server_times_out(wire: Wire) -> None:
    """A server that takes the question and says nothing is TimedOut, and not asked a second time."""
    wire.delay_seconds = 2.0

    with pytest.raises(TimedOut, match=r"no answer within 0\.2 s"):
        Transport(wire.url, timeout_seconds=0.2).get("/x")

    assert len(wire.asked) == 1


def test_a_get_on_a_broken_connection_is_tried_again(wire: Wire) -> None:
    """Asking twice changes nothing, so one broken connection is not worth an error."""
    wire.broken_first = 1
    wire.says("/x", "fine")

    assert Transport(wire.url).get("/x").text == "fine"
    assert [method for method, *_ in wire.asked] == ["GET", "GET"]


def test_a_post_on_a_broken_connection_is_not_tried_again(wire: Wire) -> None:
    """What a POST asked for may have happened: it is never sent twice."""
    wire.broken_first = 1
    wire.says("/x", "fine")

    with pytest.raises(ConnectionBroken):
        Transport(wire.url).post_json("/x", {})

    assert len(wire.asked) == 1


def test_a_status_other_than_2xx_becomes_bad_answer_with_the_servers_words(wire: Wire) -> None:
    """The server's own sentence is in the error, on one line."""
    wire.says("/x", "no\n such   thing", status=418)

    with pytest.raises(BadAnswer) as caught:
        Transport(wire.url).get("/x").required()

    assert str(caught.value) == f"GET {wire.url}/x answered 418: no such thing"


def test_a_body_that_is_no_json_is_a_bad_answer(wire: Wire) -> None:
    """A proxy's HTML page never becomes a parser's traceback."""
    wire.says("/x", "<html>login</html>")

    with pytest.raises(BadAnswer, match="not JSON: <html>login"):
        Transport(wire.url).get("/x").json()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        pytest.param("http://u:p4ss@h:1/x", "http://u:***@h:1/x", id="a password in the address"),
        pytest.param("http://u@h/x", "http://u@h/x", id="a user without a password"),
        pytest.param(
            "https://h/send?access_token=abc&a=1", "https://h/send?access_token=***&a=1", id="a token"
        ),
        pytest.param(
            "https://h/send?timestamp=1&sign=Zz%3D", "https://h/send?timestamp=1&sign=***", id="a sign"
        ),
        pytest.param("http://[::1]:9090/x?query=up", "http://[::1]:9090/x?query=up", id="nothing to hide"),
    ],
)
def test_masked_hides_secrets_and_nothing_else(url: str, shown: str) -> None:
    """Texts may go to a terminal, a log or a chat."""
    assert masked(url) == shown


def test_a_password_is_used_but_never_shown(wire: Wire) -> None:
    """The login reaches the server; the address and the error show stars."""
    url = wire.url.replace("http://", "http://me:hunter2@")
    transport = Transport(url)

    with pytest.raises(BadAnswer) as caught:
        transport.get("/x").required()

    assert "hunter2" not in str(caught.value) + transport.address


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:9090",
        "ftp://h/",
        "http://",
        "http://h:port",
        "http://[::1",
        "http://h:99999",
        "http://h:0",
    ],
)
def test_what_is_no_http_address_is_refused(url: str) -> None:
    """A typo in an option is an error at once, with an example of what is allowed."""
    with pytest.raises(ValueError, match="write one like"):
        checked_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://me:hunter2@[::1",
        "http://me:hunter2@h:99999",
        "me:hunter2@h",
        "http://me:hunt/er2@h",
        "h?access_token=hunter2",
    ],
)
def test_a_password_is_not_shown_where_the_address_is_wrong(url: str) -> None:
    """Nobody knows how it was meant to be read."""
    with pytest.raises(ValueError, match="write one like") as caught:
        checked_url(url)

    assert "hunter2" not in str(caught.value)
    assert "er2" not in str(caught.value)


@pytest.mark.parametrize("ask", ["get", "post_form"])
def test_half_a_character_cannot_be_asked_about(wire: Wire, ask: str) -> None:
    """Names in JSON may hold one, and arguments that are not UTF-8 become such."""
    with pytest.raises(ClientError, match=r"'m\\ud800' is not text in UTF-8"):
        getattr(Transport(wire.url), ask)("/x", {"model": "m\ud800"})

    assert wire.asked == []


def test_every_exception_of_requests_has_one_of_ours() -> None:
    """Nothing of requests escapes as itself, whatever it raises."""
    theirs = [
        kind
        for _, kind in inspect.getmembers(requests.exceptions, inspect.isclass)
        if issubclass(kind, requests.RequestException)
    ]

    assert len(theirs) > 15
    for kind in theirs:
        error = kind("x", "", 0) if kind is requests.exceptions.JSONDecodeError else kind("x")
        assert isinstance(translated(error, "GET http://h/", 1.0), ClientError)
