"""One Kubernetes API server, asked as a program of the cluster asks it: token, authority, time, errors."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Final, Protocol

import requests

from tritonobs.clients.deadline import TooLarge, read, session, within
from tritonobs.clients.secrets import Secret, secret_text
from tritonobs.clients.transport import Json, as_documented, masked, translated
from tritonobs.errors import BadAnswer, ClientError, SecretUnusable, TimedOut, Unreachable
from tritonobs.jsontext import read_json

# The default of kubectl's `--chunk-size`.
PAGE: Final = 500
_CONNECT_SECONDS = 5.0
ANSWER_SECONDS: Final = 30.0
_MOST_BYTES, MOST_VALUES = 256 * 2**20, 1_000_000
_MOST_SAID_BYTES = 2**20


class Expired(ClientError):  # noqa: N818 (an event, like its siblings)
    """The server no longer knows what came after the given resource version: list again."""


class Missing(ClientError):  # noqa: N818
    """There is no such object."""


class Conflict(ClientError):  # noqa: N818
    """Another client changed or made the object meanwhile."""


_OWN: Final = {HTTPStatus.GONE: Expired, HTTPStatus.NOT_FOUND: Missing, HTTPStatus.CONFLICT: Conflict}


class _Server(Protocol):
    """An API server and who we are to it; an empty `url` is the cluster this process runs in."""

    @property
    def url(self) -> str: ...
    @property
    def token_file(self) -> Path: ...
    @property
    def ca_file(self) -> Path: ...


class KubernetesApi:
    """One API server, for a program that asks with the token in a file.

    The token is read again for every call, because Kubernetes rotates it.

    Raises:
        Unreachable: without a `url`, this is no pod of a cluster.
    """

    def __init__(self, server: _Server) -> None:
        self._token_file = server.token_file
        self._ca_file = server.ca_file
        self._url = server.url or in_cluster()
        self._session = session()

    def address(self, path: str) -> str:
        """What is asked, fit to show."""
        return masked(f"{self._url}{path}")

    def close(self) -> None:
        """Give the connections back."""
        self._session.close()

    def pages(self, path: str, parameters: Mapping[str, str], *, accept: str = "") -> Iterator[Json]:
        """A list, page by page.

        Raises:
            Expired: the list changed too much between two pages.
            ClientError: the server was not reached or refused.
            SecretUnusable: there is no token.
        """
        following = ""
        while True:
            more = {"limit": str(PAGE)} | ({"continue": following} if following else {})
            page = self.ask("GET", path, parameters={**parameters, **more}, accept=accept)
            with as_documented(self.address(path), "a list"):
                following = page["metadata"].get("continue") or ""
            yield page
            if not following:
                return

    def ask(
        self,
        method: str,
        path: str,
        *,
        parameters: Mapping[str, str] | None = None,
        body: object = None,
        accept: str = "",
        seconds: float = 0.0,
    ) -> Json:
        """The answer to one request, whole within `seconds`; within 30 s where none are given.

        Raises:
            Missing: there is no such object.
            Conflict: another client changed or made it meanwhile.
            ClientError: the server was not reached or refused.
            SecretUnusable: there is no token.
        """
        request, seconds = f"{method} {self.address(path)}", seconds or ANSWER_SECONDS
        with within(seconds) as limit:
            try:
                with self.open(
                    path, method=method, parameters=parameters, body=body, accept=accept, seconds=seconds
                ) as answer:
                    text = read(answer, _MOST_BYTES)
            except (requests.RequestException, Unreachable) as error:
                if not limit.expired:
                    if isinstance(error, Unreachable):
                        raise
                    raise translated(error, request, seconds) from None
            except TooLarge as error:
                raise BadAnswer(f"{request} answered {error}") from None
        # Also without an exception: a body without a length that was cut off here looks whole.
        if limit.expired:
            raise TimedOut(f"{request}: no whole answer within {seconds:g} s")
        with as_documented(self.address(path), "an answer"):
            return read_json(text, most=MOST_VALUES)

    def open(
        self,
        path: str,
        *,
        seconds: float,
        method: str = "GET",
        parameters: Mapping[str, str] | None = None,
        body: object = None,
        accept: str = "",
    ) -> requests.Response:
        """An answer whose body is yet to be read.

        Raises:
            ClientError: as `ask`.
            SecretUnusable: there is no token.
        """
        token = _token(self._token_file)
        request = f"{method} {self.address(path)}"
        try:
            answer = self._session.request(
                method,
                f"{self._url}{path}",
                params=parameters,
                json=body,
                headers={
                    "Accept": accept or "application/json",
                    "Authorization": f"Bearer {token.reveal()}",
                },
                timeout=(_CONNECT_SECONDS, seconds),
                verify=str(self._ca_file) if self._url.startswith("https:") else True,
                allow_redirects=False,
                stream=True,
            )
        except OSError as error:
            # requests' own errors are OSErrors too; a missing authority file is a plain one.
            if isinstance(error, requests.RequestException):
                raise translated(error, request, seconds) from None
            raise Unreachable(f"{request}: {self._ca_file} is no authority to trust") from None
        if HTTPStatus.OK <= answer.status_code < HTTPStatus.MULTIPLE_CHOICES:
            return answer
        with answer:
            # HTTPStatus refuses a number that it has no name for, and a proxy may answer any.
            kind = _OWN.get(HTTPStatus(answer.status_code), BadAnswer) if _known(answer) else BadAnswer
            raise kind(f"{request} answered {answer.status_code}: {_said(answer)}")


def in_cluster() -> str:
    """The API server of the cluster this process runs in.

    Raises:
        Unreachable: it runs in none.
    """
    host, port = (
        os.environ.get("KUBERNETES_SERVICE_HOST", ""),
        os.environ.get("KUBERNETES_SERVICE_PORT", "443"),
    )
    if not host:
        raise Unreachable("this is no pod of a cluster; write the API server's address as kubernetes.api")
    # The variable has an IPv6 address as it is; a URL needs brackets around it.
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def _token(file: Path) -> Secret:
    text = secret_text(file, owner="kubernetes: token file")
    # requests refuses a header with a line break in an error that quotes the header.
    if not text or not text.isascii() or len(text.split()) != 1:
        raise SecretUnusable(f"kubernetes: {file} holds no token")
    return Secret(text)


def _known(answer: requests.Response) -> bool:
    return answer.status_code in set(HTTPStatus)


def _said(answer: requests.Response) -> str:
    try:
        return str(read_json(read(answer, _MOST_SAID_BYTES), most=_MOST_SAID_BYTES)["message"])
    except (ValueError, KeyError, TypeError, requests.RequestException):
        return HTTPStatus(answer.status_code).phrase if _known(answer) else "no reason"
