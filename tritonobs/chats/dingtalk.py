"""DingTalk's custom robot: Markdown messages, signed in the address.

Facts are those of its documentation (open.dingtalk.com/document/robots/custom-robot-access) and of answers in
public reports: 20 messages a minute, then ten minutes of silence; HTTP 200 with every `errcode`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, parse_qs, urlencode

from pydantic import Field

from tritonobs.chats.chat import (
    ByWebhook,
    Delivered,
    Digest,
    Heard,
    Keyed,
    MentionSpec,
    People,
    Reply,
    RobotChat,
    Signed,
    Verdict,
    json_body,
)
from tritonobs.section import File, optional_list

MOST_BYTES: Final = 20_000
"""Of the JSON body; one byte more is answered with 460101."""

_VERDICTS: Final = {
    0: Verdict.ACCEPTED,
    -1: Verdict.BUSY,
    130101: Verdict.TOO_FAST,
    130102: Verdict.TOO_FAST,
    90030: Verdict.TOO_FAST,
    460101: Verdict.TOO_LONG,
    101002: Verdict.TOO_LONG,
    # Keyword, signature, time or address of the sender; the words of the answer say which.
    310000: Verdict.REFUSED,
    300001: Verdict.REFUSED,
    300005: Verdict.REFUSED,
    400101: Verdict.REFUSED,
    400102: Verdict.REFUSED,
}


class DingTalkMention(MentionSpec):
    """People who are mentioned by name, and for which alerts."""

    mobiles: tuple[str, ...] = optional_list("Mobile numbers; +CC-number outside China.")
    users: tuple[str, ...] = optional_list("DingTalk user ids.")
    everyone: bool = Field(default=False, description="Mention everyone in the group.")


class DingTalkSpec(Delivered, Keyed, Signed, ByWebhook):
    """A DingTalk custom robot: where its webhook and its signing secret are stored."""

    webhook_file: File | None = Field(
        default=None,
        description="File with the whole webhook, https://oapi.dingtalk.com/robot/send?access_token=….",
    )
    secret_file: File | None = Field(default=None, description="File with the secret of the signature, SEC….")
    mention: tuple[DingTalkMention, ...] = optional_list("People who are mentioned by name.")
    # The first minute of a process has a share of its own, at least 1 (delivery/lane.py); of 1 nothing
    # would be left for the minutes after it.
    messages_per_minute: int = Field(
        default=20,
        ge=2,
        le=20,
        description="The vendor's limit; write less if other programs use the robot too.",
    )


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
        return json_body(
            {"msgtype": "markdown", "markdown": {"title": self.title, "text": self.text}, "at": at}
        )


def reply(*, errcode: int, errmsg: str) -> Reply:
    """What an answer of the vendor means; an undocumented one is never acceptance."""
    return Reply(verdict=_VERDICTS.get(errcode, Verdict.UNKNOWN), code=str(errcode), text=errmsg)


class DingTalk(RobotChat):
    """Its documentation knows no way to escape Markdown: texts have look-alikes instead."""

    name = "dingtalk"
    title = "DingTalk"
    summary = "DingTalk custom robots."
    section = DingTalkSpec
    most_bytes = MOST_BYTES
    mute_seconds = 600.0
    webhook_like = "https://oapi.dingtalk.com/robot/send?access_token=…"
    path_is_secret = False
    clock_codes = frozenset({"310000"})

    def is_webhook(self, parts: SplitResult) -> bool:
        """It has a token."""
        return bool(_token(parts))

    def query(self, parts: SplitResult, secret: str, now: float) -> str:
        """The token; signed, the time in milliseconds and an HMAC of it."""
        fields = {"access_token": _token(parts)}
        if secret:
            stamp = str(int(now * 1000))
            digest = hmac.new(secret.encode(), f"{stamp}\n{secret}".encode(), hashlib.sha256).digest()
            fields |= {"timestamp": stamp, "sign": base64.b64encode(digest).decode()}
        return urlencode(fields)

    def read(self, heard: Heard) -> Reply:
        """By `errcode`."""
        errcode, errmsg = self.numbered(heard, "errcode", "errmsg")
        return reply(errcode=errcode, errmsg=errmsg)

    def mention(self, people: People) -> str:
        """`@138… @lee`: the text must contain them for DingTalk to notify people."""
        return " ".join(f"@{who}" for who in (*people.mobiles, *people.user_ids))

    def write(self, digest: Digest) -> Markdown:
        """The text as it is."""
        people = digest.people
        return Markdown(
            title=digest.title,
            text=digest.text,
            mobiles=people.mobiles,
            user_ids=people.user_ids,
            at_all=people.everyone,
        )


def _token(parts: SplitResult) -> str:
    return parse_qs(parts.query).get("access_token", [""])[0]


CHAT = DingTalk()
