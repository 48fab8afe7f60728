"""DingTalk's custom robot: Markdown messages, signed in the address.

Facts are those of its documentation (open.dingtalk.com/document/robots/custom-robot-access) and of answers in
public reports: 20 messages a minute, then ten minutes of silence; HTTP 200 with every `errcode`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
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
    Message,
    People,
    Reply,
    RobotChat,
    Signed,
    Verdict,
    judged,
)
from tritonobs.section import File, optional_list

_WEBHOOK: Final = "https://oapi.dingtalk.com/robot/send?access_token=…"
MOST_BYTES: Final = 20_000
"""Of the JSON body; one byte more is answered with 460101."""

_ANSWERS: Final = {
    0: (Verdict.ACCEPTED, ""),
    -1: (Verdict.BUSY, ""),
    130101: (Verdict.TOO_FAST, ""),
    130102: (Verdict.TOO_FAST, ""),
    90030: (Verdict.TOO_FAST, ""),
    410100: (Verdict.TOO_FAST, ""),
    # An unsafe link, an unsuitable text, picture or content.
    430101: (Verdict.CONTENT, ""),
    430102: (Verdict.CONTENT, ""),
    430103: (Verdict.CONTENT, ""),
    430104: (Verdict.CONTENT, ""),
    460101: (Verdict.TOO_LONG, ""),
    101002: (Verdict.TOO_LONG, ""),
    # Keyword, signature, time or address of the sender; the words of the answer say which.
    310000: (Verdict.REFUSED, ""),
    300001: (Verdict.REFUSED, ""),
    300005: (Verdict.REFUSED, ""),
    400013: (Verdict.REFUSED, "the group was dissolved"),
    400101: (Verdict.REFUSED, ""),
    400102: (Verdict.REFUSED, ""),
    400106: (Verdict.REFUSED, "the robot was removed"),
}


class DingTalkMention(MentionSpec):
    """People who are mentioned by name, and for which alerts."""

    mobiles: tuple[str, ...] = optional_list("Mobile numbers; +CC-number outside China.")
    users: tuple[str, ...] = optional_list("DingTalk user ids.")
    everyone: bool = Field(default=False, description="Mention everyone in the group.")


class DingTalkSpec(Delivered, Keyed, Signed, ByWebhook):
    """A DingTalk custom robot: where its webhook and its signing secret are stored."""

    webhook_file: File | None = Field(default=None, description=f"File with the whole webhook, {_WEBHOOK}.")
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


class DingTalk(RobotChat):
    """Its documentation knows no way to escape Markdown: texts have look-alikes instead."""

    name = "dingtalk"
    title = "DingTalk"
    summary = "DingTalk custom robots."
    section = DingTalkSpec
    most_bytes = MOST_BYTES
    mute_seconds = 600.0
    webhook_like = _WEBHOOK
    path_is_secret = False
    too_many_by_code = True
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

    def judge(self, heard: Heard) -> Reply:
        """By `errcode`."""
        return judged(_ANSWERS, *self.numbered(heard, "errcode", "errmsg"))

    def mention(self, people: People) -> str:
        """`@138… @lee`: the text must contain them for DingTalk to notify people."""
        return " ".join(f"@{who}" for who in (*people.mobiles, *people.user_ids))

    def write(self, digest: Digest) -> Message:
        """The text as it is. The people are called, whose `@…` must stand in it, too."""
        people = digest.people
        at = {"atMobiles": people.mobiles, "atUserIds": people.user_ids, "isAtAll": people.everyone}
        markdown = {"title": digest.title, "text": digest.text}
        said = {"msgtype": "markdown", "markdown": markdown, "at": at}
        return Message(title=digest.title, text=digest.text, said=said)


def _token(parts: SplitResult) -> str:
    return parse_qs(parts.query).get("access_token", [""])[0]


CHAT = DingTalk()
