"""Passes a body on to an HTTP service whose address is a secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

import requests

from tritonobs.clients.transport import translated
from tritonobs.errors import BadAnswer, SecretUnusable

if TYPE_CHECKING:
    from tritonobs.clients.secrets import Secret

_CONNECT_SECONDS = 2.0


class Relay:
    """Posts JSON; usable from several threads. No error tells more of the address than its host."""

    def __init__(self, *, timeout_seconds: float = 5.0) -> None:
        self._timeout = (min(_CONNECT_SECONDS, timeout_seconds), timeout_seconds)
        self._session = requests.Session()

    def post(self, address: Secret, body: bytes) -> None:
        """Pass the body on, once.

        Raises:
            SecretUnusable: the secret is no address.
            ClientError: the service could not be reached, or did not answer 2xx.
        """
        parts = address.as_address()
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise SecretUnusable("it holds no address; one looks like https://host/path")
        request = f"POST {parts.scheme}://{parts.hostname}/…"
        try:
            answer = self._session.post(
                address.reveal(),
                data=body,
                headers={"Content-Type": "application/json"},
                timeout=self._timeout,
                allow_redirects=False,
            )
        except requests.RequestException as error:
            told = translated(error, request, self._timeout[1])
            raise type(told)(_without(str(told), parts.path, parts.query)) from None
        if not requests.codes.ok <= answer.status_code < requests.codes.multiple_choices:
            raise BadAnswer(f"{request} answered {answer.status_code}")

    def close(self) -> None:
        """Give the connections back."""
        self._session.close()


def _without(text: str, *secrets: str) -> str:
    """Some errors quote the whole address; its path and query are the secret."""
    for secret in secrets:
        text = text.replace(secret, "…") if len(secret) > 1 else text
    return text
