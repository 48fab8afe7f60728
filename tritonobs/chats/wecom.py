"""WeCom's group robot: Markdown v2, or v1 where people are mentioned.

Facts are those of the vendor's documentation (developer.work.weixin.qq.com/document/path/99110): 20 messages
a minute, 4,096 bytes of text, `<@userid>` in texts and Markdown v1 and not in v2. HTTP 200 with 93000 for an
unknown webhook, 45009 for too many messages and 40058 for a long one are from answers in public reports.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import SplitResult, parse_qs

from pydantic import Field

from tritonobs.chats.chat import (
    ByWebhook,
    Delivered,
    Dialect,
    Digest,
    Heard,
    MentionSpec,
    Message,
    Name,
    People,
    Reply,
    RobotChat,
    Verdict,
    judged,
)
from tritonobs.section import File, optional_list

_WEBHOOK: Final = "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=…"
_ANSWERS: Final = {
    0: (Verdict.ACCEPTED, ""),
    -1: (Verdict.BUSY, ""),
    45009: (Verdict.TOO_FAST, ""),
    40058: (Verdict.TOO_LONG, ""),
    40033: (Verdict.CONTENT, ""),
    93000: (Verdict.REFUSED, "the robot was removed, or its webhook is an old one"),
}


class WeComMention(MentionSpec):
    """People who are mentioned by name, and for which alerts."""

    users: tuple[Name, ...] = optional_list("User ids of WeCom.")


class WeComSpec(Delivered, ByWebhook):
    """A WeCom group robot: where its webhook is stored."""

    webhook_file: File | None = Field(default=None, description=f"File with the whole webhook, {_WEBHOOK}.")
    mention: tuple[WeComMention, ...] = optional_list("People who are mentioned by name.")
    messages_per_minute: int = Field(
        default=20,
        ge=2,
        le=20,
        description="The vendor's limit; write less if other programs use the robot too.",
    )


class WeCom(RobotChat):
    """It knows no signature and no keyword: its webhook is all that guards it."""

    name = "wecom"
    title = "WeCom"
    summary = "WeCom group robots."
    section = WeComSpec
    most_bytes = 4_096
    """Of the text; the whole JSON keeps within it."""
    # Not documented: the minute of the limit.
    mute_seconds = 60.0
    longest_link = 700
    """Of 4,096 bytes for everything."""
    webhook_like = _WEBHOOK
    path_is_secret = False
    dialect = Dialect(end="")

    def is_webhook(self, parts: SplitResult) -> bool:
        """It has a key."""
        return parts.path.endswith("/webhook/send") and bool(parse_qs(parts.query).get("key"))

    def judge(self, heard: Heard) -> Reply:
        """By `errcode`."""
        return judged(_ANSWERS, *self.numbered(heard, "errcode", "errmsg"))

    def mention(self, people: People) -> str:
        """Of users; that of everyone is documented for plain texts only."""
        return " ".join(f"<@{user}>" for user in people.user_ids)

    def write(self, digest: Digest) -> Message:
        """It has no title: a telephone shows the beginning of the text."""
        kind = "markdown" if digest.people.user_ids else "markdown_v2"
        return Message(
            title=digest.title, text=digest.text, said={"msgtype": kind, kind: {"content": digest.text}}
        )


CHAT = WeCom()
