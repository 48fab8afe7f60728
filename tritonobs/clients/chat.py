"""Posts one message to a robot of any chat, and gives the answer to the chat's module to read.

Bodies for other HTTP services whose address is a secret are passed on as they are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from email.utils import parsedate_to_datetime
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

import requests

from tritonobs.chats.chat import Heard, Message, NotUnderstood, Reply, RobotChat
from tritonobs.clients.secrets import Secret
from tritonobs.clients.transport import posted, session
from tritonobs.errors import BadAnswer, SecretUnusable
from tritonobs.outside import is_loopback

_CLOCK_SECONDS = 60.0
_JSON: Final = "application/json"
_REDIRECTS: Final = range(300, 400)
_NONE: Final[Mapping[str, str]] = MappingProxyType({})


class ChatClient:
    """Sends messages, from several threads if need be.

    `base_urls` are addresses that replace a vendor's, by the name of the chat.
    """

    def __init__(
        self,
        *,
        base_urls: Mapping[str, str] = _NONE,
        timeout_seconds: float = 5.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._base_urls = {chat: url.rstrip("/") for chat, url in base_urls.items()}
        self._timeout_seconds = timeout_seconds
        self._clock = clock
        self._session = session()

    def send(self, chat: RobotChat, webhook: Secret, secret: Secret | None, message: Message) -> Reply:
        """Send once; trying again is the caller's. A redirect is never followed.

        Raises:
            SecretUnusable: the webhook is not one of this chat's.
            Unreachable: no connection. `ConnectionBroken`: whether the message was sent is unknown.
            TimedOut: no answer in time; again unknown.
            BadAnswer: an answer that is not the vendor's; again unknown.
        """
        require_webhook(chat, webhook, anywhere=chat.name in self._base_urls)
        parts, key, now = webhook.as_address(), secret.reveal() if secret else "", self._clock()
        host = self._base_urls.get(chat.name) or f"{parts.scheme}://{parts.netloc}"
        query = chat.query(parts, key, now)
        request = f"POST {host}{'/…' if chat.path_is_secret else parts.path}"
        answer, body = posted(
            self._session,
            f"{host}{parts.path}" + (f"?{query}" if query else ""),
            chat.signed(message.body(), key, now),
            {"Content-Type": f"{_JSON};charset=utf-8"},
            seconds=self._timeout_seconds,
            shown=request,
            secrets=(query, *([parts.path] if chat.path_is_secret else [])),
        )
        if answer.status_code in _REDIRECTS:
            raise BadAnswer(f"{request} answered {_redirect(answer)}")
        headers = {name.lower(): value for name, value in answer.headers.items()}
        try:
            reply = chat.read(Heard(status=answer.status_code, headers=headers, body=body))
        except NotUnderstood as error:
            raise BadAnswer(f"{request} answered {error}") from None
        return self._with_clock(chat, reply, headers.get("date", "")) if secret else reply

    def pass_on(self, address: Secret, body: bytes) -> None:
        """Post JSON to another service, once. No error shows more of its address than the host.

        Raises:
            SecretUnusable: the secret is not an address.
            ClientError: the service could not be reached, or did not answer 2xx.
        """
        parts = address.as_address()
        if not parts.hostname:
            raise SecretUnusable("it is not an address; write one like https://host/path")
        request = f"POST {parts.scheme}://{parts.hostname}/…"
        answer, _ = posted(
            self._session,
            address.reveal(),
            body,
            {"Content-Type": _JSON},
            seconds=self._timeout_seconds,
            shown=request,
            secrets=(parts.path, parts.query),
        )
        if not requests.codes.ok <= answer.status_code < requests.codes.multiple_choices:
            raise BadAnswer(f"{request} answered {answer.status_code}")

    def close(self) -> None:
        """Give the connections back."""
        self._session.close()

    def _with_clock(self, chat: RobotChat, reply: Reply, date: str) -> Reply:
        """The reply, with a hint where a signature was refused and the clocks differ: it has the time."""
        if reply.code not in chat.clock_codes:
            return reply
        try:
            off = self._clock() - parsedate_to_datetime(date).timestamp()
        except (ValueError, TypeError):
            return reply
        if abs(off) <= _CLOCK_SECONDS:
            return reply
        which = "ahead of" if off > 0 else "behind"
        hint = f"this machine's clock is {abs(off):.0f} s {which} {chat.title}'s"
        return replace(reply, hint=hint)


def require_webhook(chat: RobotChat, webhook: Secret, *, anywhere: bool = False) -> None:
    """Nothing, when a message may be posted to this address.

    Plain HTTP would show the token on the way, except on loopback, where the robot is a double, and where an
    address replaces the vendor's (`anywhere`).

    Raises:
        SecretUnusable: it is not a webhook of this chat; the text does not quote it.
    """
    parts = webhook.as_address()
    trusted = anywhere or parts.scheme == "https" or is_loopback(parts.hostname or "")
    if not (parts.hostname and trusted and chat.is_webhook(parts)):
        raise SecretUnusable(f"the webhook is not {chat.title}'s; it looks like {chat.webhook_like}")


def _redirect(answer: requests.Response) -> str:
    """Where to, without its path, which may repeat the secret."""
    host = urlsplit(answer.headers.get("Location", "")).hostname
    return f"{answer.status_code}: a redirect{f' to {host}' if host else ''} is not followed"
