"""What DingTalk's custom robot accepts, as a pure judgement over one call.

Sources: the vendor's robot documentation (signature, 20 messages a minute, then ten minutes of silence) and
answers seen in public reports: 130101 (ccfos/nightingale#369), 460101
(timonwong/prometheus-webhook-dingtalk#30), 310000 with `sign not match`, `invalid timestamp` or
`keywords not in content`, 300001 for an unknown token.
"""

from __future__ import annotations

import base64
import enum
import hashlib
import hmac
import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MESSAGES_PER_MINUTE = 20
MUTE_SECONDS = 600.0
MOST_BYTES = 20_000
_WINDOW_SECONDS = 60.0
_CLOCK_SKEW_SECONDS = 3600.0
_MORE = ", more: [https://open.dingtalk.com/document/robots/custom-robot-access]"


class Fault(enum.Enum):
    """What goes wrong instead of a judgement."""

    STATUS_500 = "http 500"
    TIMEOUT = "no answer"
    RESET = "connection reset"
    GARBAGE = "an answer that is not JSON"
    BUSY = "errcode -1"
    MUTE = "errcode 130101 and ten minutes of silence"
    UNKNOWN = "an unknown errcode"
    LOST_ANSWER = "accepted, but the connection breaks before the answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One call to a robot: when, and what came of it (an errcode, or the fault's words)."""

    at: float
    outcome: int | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The vendor's answer; `errcode` 0 is acceptance."""

    errcode: int
    errmsg: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message as the group sees it."""

    title: str
    text: str
    mobiles: tuple[str, ...] = ()
    user_ids: tuple[str, ...] = ()
    at_all: bool = False
    received_at: float = 0.0


@dataclass(slots=True, kw_only=True)
class RobotRules:
    """One robot's settings and what it remembers; times are seconds since the epoch, given by the caller.

    An empty `secret` is a robot without signature.
    """

    token: str
    secret: str = ""
    keywords: tuple[str, ...] = ()
    muted_until: float = 0.0
    sent: deque[float] = field(default_factory=deque)
    mutes: int = 0
    most_bytes: int = MOST_BYTES

    def judge(self, query: Mapping[str, str], body: bytes, now: float) -> tuple[Judgement, Message | None]:
        """The answer to one call, and the message if it was accepted."""
        refusal = self._who(query, now) or self._pace(now) or self._size(body)
        if refusal:
            return refusal, None
        message = _read(body, now)
        if message is None:
            return Judgement(errcode=40035, errmsg="缺少参数 markdown.title 或 markdown.text"), None
        if self.keywords and not any(word in message.title + message.text for word in self.keywords):
            return Judgement(errcode=310000, errmsg="keywords not in content" + _MORE), None
        return Judgement(errcode=0, errmsg="ok"), message

    def mute(self, now: float) -> Judgement:
        """Silence the robot for ten minutes, as the vendor does after the 21st message of a minute."""
        self.muted_until = now + MUTE_SECONDS
        self.mutes += 1
        return Judgement(errcode=130101, errmsg="send too fast, exceed 20 times per minute")

    def _who(self, query: Mapping[str, str], now: float) -> Judgement | None:
        if query.get("access_token") != self.token:
            return Judgement(errcode=300001, errmsg="token is not exist")
        if not self.secret:
            return None
        stamp = query.get("timestamp", "")
        if not stamp.isdigit() or abs(now - int(stamp) / 1000) > _CLOCK_SKEW_SECONDS:
            return Judgement(errcode=310000, errmsg="invalid timestamp" + _MORE)
        digest = hmac.new(self.secret.encode(), f"{stamp}\n{self.secret}".encode(), hashlib.sha256).digest()
        if not hmac.compare_digest(base64.b64encode(digest).decode(), query.get("sign", "")):
            return Judgement(errcode=310000, errmsg="sign not match" + _MORE)
        return None

    def _size(self, body: bytes) -> Judgement | None:
        if len(body) <= self.most_bytes:
            return None
        return Judgement(errcode=460101, errmsg=f"message too long, exceed {self.most_bytes} bytes")

    def _pace(self, now: float) -> Judgement | None:
        if now < self.muted_until:
            return Judgement(errcode=130101, errmsg="send too fast, exceed 20 times per minute")
        while self.sent and self.sent[0] <= now - _WINDOW_SECONDS:
            self.sent.popleft()
        self.sent.append(now)
        return self.mute(now) if len(self.sent) > MESSAGES_PER_MINUTE else None


def _read(body: bytes, now: float) -> Message | None:
    try:
        said: dict[str, Any] = json.loads(body.decode())
        markdown, at = said["markdown"], said.get("at", {})
        title, text = markdown["title"], markdown["text"]
        mobiles, user_ids = tuple(at.get("atMobiles", ())), tuple(at.get("atUserIds", ()))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    if said.get("msgtype") != "markdown" or not (
        isinstance(title, str) and title and isinstance(text, str) and text
    ):
        return None
    return Message(
        title=title,
        text=text,
        mobiles=tuple(map(str, mobiles)),
        user_ids=tuple(map(str, user_ids)),
        at_all=at.get("isAtAll") is True,
        received_at=now,
    )
