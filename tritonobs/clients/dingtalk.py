"""DingTalk's custom robot: signs and sends one Markdown message, and classifies the answer."""

from __future__ import annotations

import base64
import enum
import hashlib
import hmac
import ipaddress
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from urllib.parse import parse_qs, urlencode

import requests

from tritonobs.clients.deadline import TooLarge, read, session, within
from tritonobs.clients.secrets import Secret
from tritonobs.clients.transport import translated
from tritonobs.errors import BadAnswer, SecretUnusable, TimedOut
from tritonobs.jsontext import read_json

MOST_BYTES = 20_000
"""Of the JSON body; one byte more is answered with 460101."""
MESSAGES_PER_MINUTE = 20
MUTE_SECONDS = 600.0
_CONNECT_SECONDS = 2.0
_MOST_ANSWER_BYTES = 2**20
_SIGNATURE_REFUSED = 310000
_CLOCK_SECONDS = 60.0


class Verdict(enum.Enum):
    """What an answer means for the message and the robot."""

    ACCEPTED = "accepted"
    TOO_FAST = "too_fast"
    """Over 20 messages in a minute: the robot is muted for ten minutes."""
    TOO_LONG = "too_long"
    BUSY = "busy"
    REFUSED = "refused"
    """Token, signature, keyword or address: a person has to repair a setting."""
    UNKNOWN = "unknown"
    """An undocumented errcode: try again later."""


_VERDICTS = {
    0: Verdict.ACCEPTED,
    -1: Verdict.BUSY,
    130101: Verdict.TOO_FAST,
    130102: Verdict.TOO_FAST,
    90030: Verdict.TOO_FAST,
    460101: Verdict.TOO_LONG,
    101002: Verdict.TOO_LONG,
    310000: Verdict.REFUSED,
    300001: Verdict.REFUSED,
    300005: Verdict.REFUSED,
    400101: Verdict.REFUSED,
    400102: Verdict.REFUSED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The vendor's answer. `errmsg` is cut and comes from outside: show it as data."""

    errcode: int
    errmsg: str

    @property
    def verdict(self) -> Verdict:
        """What it means."""
        return _VERDICTS.get(self.errcode, Verdict.UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Markdown:
    """A message. People in `mobiles` and `user_ids` are called; the text must contain their `@…`, too."""

    title: str
    text: str
    mobiles: tuple[str, ...] = ()
    user_ids: tuple[str, ...] = ()
    at_all: bool = False

    def body(self) -> bytes:
        """The JSON as sent; its length is what the vendor limits."""
        at = {"atMobiles": self.mobiles, "atUserIds": self.user_ids, "isAtAll": self.at_all}
        said = {"msgtype": "markdown", "markdown": {"title": self.title, "text": self.text}, "at": at}
        # The vendor counts bytes: 中 has three, its escape would have six. Half a surrogate becomes `?`.
        return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


class DingTalk:
    """Sends messages, from several threads if need be. `base_url`, when given, replaces the vendor's."""

    def __init__(
        self, *, base_url: str = "", timeout_seconds: float = 5.0, clock: Callable[[], float] = time.time
    ) -> None:
        self._base_url = base_url.rstrip("/")
        self._timeout_seconds = timeout_seconds
        self._clock = clock
        self._session = session()

    def send(self, webhook: Secret, secret: Secret | None, message: Markdown) -> Reply:
        """Send once; trying again is the caller's.

        Raises:
            SecretUnusable: the webhook is not a DingTalk webhook.
            Unreachable: no connection. `ConnectionBroken`: whether the message was sent is unknown.
            TimedOut: no answer in time; again unknown.
            BadAnswer: an answer that is not DingTalk's; again unknown.
        """
        address, token = self._address(webhook)
        query = {"access_token": token, **(self._signature(secret) if secret else {})}
        request = f"POST {address}"
        whole = self._timeout_seconds + _CONNECT_SECONDS
        with within(whole) as limit:
            try:
                answer = self._session.post(
                    f"{address}?{urlencode(query)}",
                    data=message.body(),
                    headers={"Content-Type": "application/json;charset=utf-8"},
                    timeout=(min(_CONNECT_SECONDS, self._timeout_seconds), self._timeout_seconds),
                    allow_redirects=False,
                    stream=True,
                )
                body = read(answer, _MOST_ANSWER_BYTES)
            except requests.RequestException as error:
                # `from None`, because the errors of requests quote the address with its token.
                if not limit.expired:
                    raise translated(error, request, self._timeout_seconds) from None
            except TooLarge as error:
                raise BadAnswer(f"{request} answered {error}") from None
        if limit.expired:
            raise TimedOut(f"{request}: no whole answer within {whole:g} s")
        reply = _read(request, answer.status_code, body)
        return self._with_clock(reply, answer.headers.get("Date", "")) if secret else reply

    def close(self) -> None:
        """Give the connections back."""
        self._session.close()

    def _with_clock(self, reply: Reply, date: str) -> Reply:
        """The error, with a hint where a signature was refused and the clocks differ: it has the time."""
        if reply.errcode != _SIGNATURE_REFUSED:
            return reply
        try:
            off = self._clock() - parsedate_to_datetime(date).timestamp()
        except (ValueError, TypeError):
            return reply
        if abs(off) <= _CLOCK_SECONDS:
            return reply
        which = "ahead of" if off > 0 else "behind"
        hint = f"this machine's clock is {abs(off):.0f} s {which} DingTalk's"
        return Reply(errcode=reply.errcode, errmsg=f"{reply.errmsg} ({hint})")

    def _address(self, webhook: Secret) -> tuple[str, str]:
        parts = webhook.as_address()
        token = parse_qs(parts.query).get("access_token", [""])[0]
        # Plain HTTP would show the token on the way; on loopback the robot is a double.
        trusted = parts.scheme == "https" or _loopback(parts.hostname)
        if not token or not parts.hostname or not (trusted or self._base_url):
            raise SecretUnusable(
                "the webhook is not DingTalk's; it looks like "
                "https://oapi.dingtalk.com/robot/send?access_token=…"
            )
        host = self._base_url or f"{parts.scheme}://{parts.netloc}"
        return f"{host}{parts.path}", token

    def _signature(self, secret: Secret) -> dict[str, str]:
        stamp = str(int(self._clock() * 1000))
        key = secret.reveal()
        digest = hmac.new(key.encode(), f"{stamp}\n{key}".encode(), hashlib.sha256).digest()
        return {"timestamp": stamp, "sign": base64.b64encode(digest).decode()}


def _loopback(host: str | None) -> bool:
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return host == "localhost"


def _read(request: str, status: int, body: bytes) -> Reply:
    if status != requests.codes.ok:
        raise BadAnswer(f"{request} answered {status}")
    try:
        said = read_json(body, most=1000)
        errcode, errmsg = said["errcode"], str(said.get("errmsg", ""))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise BadAnswer(f"{request} answered 200 and something that is not DingTalk's") from None
    if not isinstance(errcode, int):
        raise BadAnswer(f"{request} answered an errcode that is not a number")
    return Reply(errcode=errcode, errmsg=" ".join(errmsg.split())[:200])
