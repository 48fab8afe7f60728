"""Clients for traces: of our receiver, and of an OpenTelemetry Collector, Tempo or Jaeger."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

import requests

from tritonobs.clients.transport import (
    Json,
    TooLarge,
    Transport,
    checked_url,
    masked,
    read,
    session,
    translated,
    within,
)
from tritonobs.errors import BadAnswer, ClientError, TimedOut

_CONNECT_SECONDS = 2.0
_MOST_ANSWER_BYTES = 2**20


class TracesClient:
    """One receiver."""

    def __init__(self, url: str) -> None:
        self._transport = Transport(url)
        self.address = self._transport.address

    def slow(self, model: str, since_seconds: float) -> Json:
        """Its models, and the slowest requests to one of them in the last `since_seconds`.

        Raises:
            ClientError: it was not reached, or is not a receiver.
        """
        answer = self._transport.get("/traces/slow", {"model": model, "since": f"{since_seconds:g}"})
        return answer.required().json()

    def close(self) -> None:
        """Give the connections back."""
        self._transport.close()


class Refused(ClientError):  # noqa: N818 (what happened; those of errors.py read the same)
    """The collector refuses this body; it must not be sent again."""


class Collector:
    """Posts bodies to an OTLP address (`http://host:4318/v1/traces`), unchanged."""

    def __init__(self, url: str, *, timeout_seconds: float = 10.0) -> None:
        self._url = checked_url(url)
        self._timeout = (_CONNECT_SECONDS, timeout_seconds)
        self._session = session()

    def post(self, body: bytes, headers: Mapping[str, str]) -> None:
        """Send one body, once.

        Raises:
            Refused: it answered 4xx, but for 408 and 429.
            ClientError: it was not reached, or asks to be sent the body again.
        """
        request = f"POST {masked(self._url)}"
        whole = sum(self._timeout)
        with within(whole) as limit:
            try:
                answer = self._session.post(
                    self._url,
                    data=body,
                    headers=dict(headers),
                    timeout=self._timeout,
                    allow_redirects=False,
                    stream=True,
                )
                # Read to its end, or requests would not use the connection again.
                read(answer, _MOST_ANSWER_BYTES)
            except requests.RequestException as error:
                if not limit.expired:
                    raise translated(error, request, self._timeout[1]) from None
            except TooLarge as error:
                raise BadAnswer(f"{request} answered {error}") from None
        if limit.expired:
            raise TimedOut(f"{request}: no whole answer within {whole:g} s")
        status = answer.status_code
        if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
            return
        again = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS}
        final = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in again
        raise (Refused if final else BadAnswer)(f"{request} answered {status}")

    def close(self) -> None:
        """Give the connections back."""
        self._session.close()
