"""HTTP for the clients: timeouts, retries where they are safe, our own errors, no secret in any text.

The timeouts of requests are for each piece that arrives: a server that sends a byte a second never runs into
one. So a whole request has a time limit, too. When the time is over, the connection is shut down, which wakes
its reader: in the headers, in the body, or before that in TLS.
"""

from __future__ import annotations

import os
import re
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit, urlunsplit

import requests
from pydantic import ConfigDict, ValidationError
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, Retry
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError, ReadTimeoutError
from urllib3.poolmanager import PoolManager

from tritonobs.clients.secrets import without
from tritonobs.errors import BadAnswer, ClientError, ConnectionBroken, TimedOut, Unreachable
from tritonobs.outside import TooMany, read_json, web_parts

Json: TypeAlias = Any
"""What json.loads gives; each client narrows what it reads, inside `as_documented`."""
BY_NAME: Final = ConfigDict(populate_by_name=True)
"""Of what pydantic reads of an answer: in code, its fields have our names."""

DEFAULT_TIMEOUT_SECONDS = 5.0
_CONNECT_TIMEOUT_SECONDS = 2.0
_WHOLE = 2
"""A whole request may take this many times the longest silence."""
_MOST_BYTES, _MOST_VALUES = 128 * 2**20, 5_000_000
_MOST_POSTED_BYTES = 2**20
_EXCERPT = 200
_HIDDEN = r"\1=***"
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]*://)[^\s\"']+", re.IGNORECASE)
_SECRET_VALUE = re.compile(r"(?i)\b((?:access_)?token|sign|key|secret|password)=[^&#\s]*")


def masked(url: str) -> str:
    """The URL without its password and without the values of its secret parameters."""
    parts = urlsplit(url)
    netloc = parts.netloc
    if parts.password is not None:
        login, _, host = netloc.rpartition("@")
        netloc = f"{login.partition(':')[0]}:***@{host}"
    return _SECRET_VALUE.sub(_HIDDEN, urlunsplit(parts._replace(netloc=netloc)))


def masked_text(text: str) -> str:
    """The text with each address in it masked; of one that cannot be parsed only the scheme is left."""

    def hidden(found: re.Match[str]) -> str:
        if "@" not in found[0] and not _SECRET_VALUE.search(found[0]):
            return found[0]
        try:
            return masked(found[0])
        except ValueError:
            return f"{found[1]}***"

    return _ADDRESS.sub(hidden, text) if "://" in text else text


def checked_url(url: str) -> str:
    """The URL without a slash at its end.

    Raises:
        ValueError: it is not usable, as `web_parts` has it.
    """
    if web_parts(url) is None:
        # In an address that cannot be parsed, any part may be a password.
        shown = (
            "text with an @, which may hold a password," if "@" in url else _SECRET_VALUE.sub(_HIDDEN, url)
        )
        raise ValueError(f"{shown} is not an address; write one like http://host:9090")
    return url.rstrip("/")


@contextmanager
def as_documented(address: str, what: str) -> Iterator[None]:
    """Reading an answer of another shape than its documentation says becomes BadAnswer."""
    try:
        yield
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise BadAnswer(f"{address}: {what} is not as documented ({place}: {first['msg']})") from None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise BadAnswer(f"{address}: {what} is not as documented ({type(error).__name__}: {error})") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a server said; `url` is masked."""

    method: str
    url: str
    status: int
    text: str

    @property
    def ok(self) -> bool:
        """Whether the status is 2xx."""
        return HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES

    def required(self) -> Answer:
        """Itself.

        Raises:
            BadAnswer: the status is not 2xx.
        """
        return self if self.ok else self._refuse(f"answered {self.status}")

    def json(self) -> Json:
        """The body as JSON.

        Raises:
            BadAnswer: the body is not JSON.
        """
        try:
            return read_json(self.text, most=_MOST_VALUES)
        except TooMany as error:
            raise BadAnswer(f"{self.method} {self.url} answered JSON that {error}") from None
        except ValueError:
            return self._refuse(f"answered {self.status} and something that is not JSON")

    def _refuse(self, what: str) -> Answer:
        excerpt = " ".join(self.text.split())[:_EXCERPT]
        raise BadAnswer(f"{self.method} {self.url} {what}" + (f": {excerpt}" if excerpt else ""))


class _PatientOnce(Retry):
    """Broken connections may be tried again; a silent server does not get the work twice."""

    def increment(self, *args: Json, **more: Json) -> _PatientOnce:
        if isinstance(more.get("error"), ReadTimeoutError):
            raise more["error"]
        return super().increment(*args, **more)


class Transport:
    """One server, one pool of connections; usable from several threads.

    A GET is tried again when the connection broke before an answer came; anything else only when there was no
    connection, so that nothing is done twice. The client of an API is a transport that knows its paths.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        retries: int = 2,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._base_url = checked_url(url)
        self._timeout = (min(_CONNECT_TIMEOUT_SECONDS, timeout_seconds), timeout_seconds)
        retry = _PatientOnce(total=retries, backoff_factor=0.1, status=0, redirect=0, allowed_methods={"GET"})
        self._session = session(retries=retry, pool_size=16)
        self._session.headers.update(headers or {})

    @property
    def address(self) -> str:
        """Where the server is, fit to show."""
        return masked(self._base_url)

    def get(self, path: str, params: Mapping[str, str] | None = None) -> Answer:
        """Ask."""
        return self._ask("GET", path, params=params)

    def post_form(self, path: str, form: Mapping[str, str]) -> Answer:
        """Ask, with more than fits into a URL."""
        return self._ask("POST", path, data=form)

    def post_json(self, path: str, body: object) -> Answer:
        """Request an action."""
        return self._ask("POST", path, json=body)

    def delete(self, path: str) -> Answer:
        """Request a removal."""
        return self._ask("DELETE", path)

    def close(self) -> None:
        """Give the connections back."""
        self._session.close()

    def _ask(self, method: str, path: str, **content: Json) -> Answer:
        url = f"{self._base_url}{path}"
        shown = masked(url)
        request, whole = f"{method} {shown}", _WHOLE * self._timeout[1]
        with answered(request, whole_seconds=whole, silent_seconds=self._timeout[1]):
            try:
                # No redirects: no answer decides which address is asked next.
                answer = self._session.request(
                    method, url, timeout=self._timeout, allow_redirects=False, stream=True, **content
                )
            # JSON and arguments can hold halves of characters, which have no bytes.
            except UnicodeEncodeError as error:
                raise BadAnswer(f"{request}: {error.object[:_EXCERPT]!r} is not text in UTF-8") from None
            body = read(answer, _MOST_BYTES)
        # requests reads a text without a charset as Latin-1.
        named = answer.encoding if "charset" in answer.headers.get("Content-Type", "") else None
        return Answer(
            method=method, url=shown, status=answer.status_code, text=_decoded(body, named or "utf-8")
        )


def _decoded(body: bytes, encoding: str) -> str:
    try:
        return body.decode(encoding, "replace")
    # The server names the charset, and may name one that does not exist.
    except LookupError:
        return body.decode("utf-8", "replace")


@contextmanager
def answered(request: str, *, whole_seconds: float, silent_seconds: float) -> Iterator[None]:
    """The block asks and reads the answer, whole within a time.

    Raises:
        ClientError: it was not answered, not whole in time, or with too much.
    """
    with within(whole_seconds) as limit:
        try:
            yield
        except (requests.RequestException, ClientError) as error:
            if not limit.expired:
                if isinstance(error, ClientError):
                    raise
                raise translated(error, request, silent_seconds) from None
        except TooLarge as error:
            raise BadAnswer(f"{request} answered {error}") from None
    # Also without an exception: a body without a length that was cut off here looks whole.
    if limit.expired:
        raise TimedOut(f"{request}: no whole answer within {whole_seconds:g} s")


def posted(
    web: requests.Session,
    url: str,
    data: bytes,
    headers: Mapping[str, str],
    *,
    seconds: float,
    shown: str,
    secrets: Sequence[str] = (),
) -> tuple[requests.Response, bytes]:
    """The answer to one POST and its body. A redirect is not followed.

    Errors show the request as `shown`, and none of the `secrets`, which are parts of the address.

    Raises:
        ClientError: no connection, no whole answer in time, or one that is too large.
    """
    try:
        with answered(shown, whole_seconds=seconds + _CONNECT_TIMEOUT_SECONDS, silent_seconds=seconds):
            answer = web.post(
                url,
                data=data,
                headers=headers,
                timeout=(min(_CONNECT_TIMEOUT_SECONDS, seconds), seconds),
                allow_redirects=False,
                stream=True,
            )
            # Read to its end, or requests would not use the connection again.
            body = read(answer, _MOST_POSTED_BYTES)
    except ClientError as error:
        # `from None`, because the errors of requests quote the address with its token.
        raise type(error)(without(str(error), *secrets)) from None
    return answer, body


def translated(error: requests.RequestException, request: str, timeout_seconds: float) -> ClientError:
    """Our exception for one of requests'; every one of theirs has one."""
    if isinstance(error, requests.ConnectTimeout):
        return Unreachable(f"{request}: no connection within {_CONNECT_TIMEOUT_SECONDS:g} s")
    # A silence within the body is a ConnectionError of requests.
    if isinstance(error, requests.Timeout) or isinstance(_reason(error), ReadTimeoutError):
        return TimedOut(f"{request}: no answer within {timeout_seconds:g} s")
    if isinstance(error, requests.ConnectionError):
        # TLS and a proxy's answer come before the request: nothing was sent.
        none_came = isinstance(error, requests.exceptions.SSLError | requests.exceptions.ProxyError)
        none_came = none_came or isinstance(_reason(error), NewConnectionError)
        return (Unreachable if none_came else ConnectionBroken)(f"{request}: {_plain(error)}")
    return BadAnswer(f"{request}: {_plain(error)}")


def _reason(error: BaseException) -> BaseException:
    """The innermost cause that urllib3 wrapped."""
    inner = getattr(error, "reason", None) or next(
        (arg for arg in error.args if isinstance(arg, BaseException)), None
    )
    return _reason(inner) if isinstance(inner, BaseException) else error


def _plain(error: BaseException) -> str:
    text = str(_reason(error))
    for phrase, plain in (
        ("refused", "connection refused"),
        ("resolve", "no such host"),
        ("unreachable", "network unreachable"),
        ("reset", "connection broken"),
        ("disconnected", "connection broken"),
    ):
        if phrase in text:
            return plain
    return _SECRET_VALUE.sub(r"\1=***", text)[:_EXCERPT] or type(error).__name__


_here = threading.local()
_PIECE = 65_536


class TooLarge(ValueError):
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
