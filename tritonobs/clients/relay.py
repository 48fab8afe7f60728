"""Passes a body on to an HTTP service whose address is a secret."""

from __future__ import annotations

import requests

from tritonobs.clients.deadline import TooLarge, read, session, within
from tritonobs.clients.secrets import Secret, without
from tritonobs.clients.transport import translated
from tritonobs.errors import BadAnswer, SecretUnusable, TimedOut

_CONNECT_SECONDS = 2.0
_MOST_ANSWER_BYTES = 2**20


class Relay:
    """Posts JSON; usable from several threads. No error shows more of the address than its host."""

    def __init__(self, *, timeout_seconds: float = 5.0) -> None:
        self._timeout = (min(_CONNECT_SECONDS, timeout_seconds), timeout_seconds)
        self._session = session()

    def post(self, address: Secret, body: bytes) -> None:
        """Pass the body on, once.

        Raises:
            SecretUnusable: the secret is not an address.
            ClientError: the service could not be reached, or did not answer 2xx.
        """
        parts = address.as_address()
        if not parts.hostname:
            raise SecretUnusable("it is not an address; write one like https://host/path")
        request = f"POST {parts.scheme}://{parts.hostname}/…"
        whole = sum(self._timeout)
        with within(whole) as limit:
            try:
                answer = self._session.post(
                    address.reveal(),
                    data=body,
                    headers={"Content-Type": "application/json"},
                    timeout=self._timeout,
                    allow_redirects=False,
                    stream=True,
                )
                read(answer, _MOST_ANSWER_BYTES)
            except requests.RequestException as error:
                if not limit.expired:
                    clear = translated(error, request, self._timeout[1])
                    raise type(clear)(without(str(clear), parts.path, parts.query)) from None
            except TooLarge as error:
                raise BadAnswer(f"{request} answered {error}") from None
        if limit.expired:
            raise TimedOut(f"{request}: no whole answer within {whole:g} s")
        if not requests.codes.ok <= answer.status_code < requests.codes.multiple_choices:
            raise BadAnswer(f"{request} answered {answer.status_code}")

    def close(self) -> None:
        """Give the connections back."""
        self._session.close()
