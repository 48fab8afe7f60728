"""Feishu's (Lark's) custom bot: interactive cards, signed in their body.

Facts are those of the vendor's documentation
(open.larkoffice.com/document/ukTMukTMukTM/ucTM5YjL3ETO24yNxkjN): 100 messages a minute and 5 a second to one
robot, 20 KB of JSON, 11232 where it is too fast, also at busy moments such as full hours; 9499, 19021, 19022
and 19024. 19001 for an unknown token and 19036 for a long card are from answers in public reports.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from typing import Final
from urllib.parse import SplitResult

from pydantic import Field

from tritonobs.chats.chat import (
    ByWebhook,
    Delivered,
    Dialect,
    Digest,
    Heard,
    Keyed,
    MentionSpec,
    Message,
    Name,
    People,
    Reply,
    RobotChat,
    Signed,
    Verdict,
    json_body,
    judged,
    without_entities,
)
from tritonobs.section import File, optional_list

_WEBHOOK: Final = "https://open.feishu.cn/open-apis/bot/v2/hook/…"
_PATH: Final = re.compile(r"/open-apis/bot/v2/hook/[\w-]+")
_MOST_STATUS: Final = 499
_COLOURS: Final = {"🔴": "red", "🟠": "orange", "🔵": "blue", "✅": "green"}

_ANSWERS: Final = {
    0: (Verdict.ACCEPTED, ""),
    11232: (Verdict.TOO_FAST, ""),
    9499: (Verdict.TOO_LONG, ""),
    19036: (Verdict.TOO_LONG, ""),
    19001: (Verdict.REFUSED, "the robot was removed, or its webhook is an old one"),
    19021: (Verdict.REFUSED, "the secret is not this robot's, or a clock is off by more than an hour"),
    19022: (Verdict.REFUSED, "the robot does not allow the address of this machine"),
    19024: (Verdict.REFUSED, "write the robot's keyword into the fleet file"),
}
# `:OK:` would be shown as a picture.
_EMOJI = re.compile(r":(?=[A-Za-z]\w*:)")


class FeishuMention(MentionSpec):
    """People who are mentioned by name, and for which alerts."""

    users: tuple[Name, ...] = optional_list("Open ids (ou_…) or user ids of Feishu.")
    everyone: bool = Field(default=False, description="Mention everyone in the group.")


class FeishuSpec(Delivered, Keyed, Signed, ByWebhook):
    """A Feishu or Lark custom bot: where its webhook and its signing secret are stored."""

    webhook_file: File | None = Field(default=None, description=f"File with the whole webhook, {_WEBHOOK}.")
    secret_file: File | None = Field(default=None, description="File with the secret of the signature.")
    mention: tuple[FeishuMention, ...] = optional_list("People who are mentioned by name.")
    messages_per_minute: int = Field(
        default=20, ge=2, le=100, description="Messages in a minute; Feishu accepts 100."
    )


class Feishu(RobotChat):
    """A card has a header, the text, and buttons for the first alert's links."""

    name = "feishu"
    title = "Feishu"
    summary = "Feishu (Lark) custom bots."
    section = FeishuSpec
    most_bytes = 19_800
    """Of 20 KB; the rest is for the signature."""
    # Not documented: the minute of the limit.
    mute_seconds = 60.0
    spacing_seconds = 0.25
    webhook_like = _WEBHOOK
    clock_codes = frozenset({"19021"})
    dialect = Dialect(heading=("**", "**"), quote="▏ ", item="• ", end="")

    def is_webhook(self, parts: SplitResult) -> bool:
        """The token is the end of the path; Lark has another host."""
        return bool(_PATH.fullmatch(parts.path))

    def signed(self, body: bytes, secret: str, now: float) -> bytes:
        """With the time in seconds, and an HMAC whose key is time and secret, of nothing."""
        if not secret:
            return body
        stamp = str(int(now))
        digest = hmac.new(f"{stamp}\n{secret}".encode(), b"", hashlib.sha256).digest()
        sign = base64.b64encode(digest).decode()
        return json_body({"timestamp": stamp, "sign": sign, **json.loads(body)})

    def judge(self, heard: Heard) -> Reply:
        """By `code`; its status is 200 or 4xx."""
        code, text = self.numbered(heard, "code", "msg", most_status=_MOST_STATUS)
        return judged(_ANSWERS, code, text)

    def escape(self, text: str) -> str:
        """Look-alikes for what begins an entity or an emoji."""
        return _EMOJI.sub("\N{MODIFIER LETTER COLON}", without_entities(text))

    def mention(self, people: People) -> str:
        """Tags of Markdown in cards."""
        who = (*people.user_ids, *(["all"] if people.everyone else []))
        return " ".join(f"<at id={one}></at>" for one in who)

    def write(self, digest: Digest) -> Message:
        """The title is plain text, and so are the words on buttons."""
        elements: list[dict[str, object]] = [{"tag": "markdown", "content": digest.text}]
        buttons = [
            {"tag": "button", "type": "default", "text": _plain(link.word), "url": link.url}
            for link in digest.buttons
        ]
        if buttons:
            elements.append({"tag": "action", "actions": buttons})
        header = {"template": _COLOURS.get(digest.icon, "grey"), "title": _plain(digest.title)}
        card = {"config": {"wide_screen_mode": True}, "header": header, "elements": elements}
        return Message(title=digest.title, text=digest.text, said={"msg_type": "interactive", "card": card})


def _plain(text: str) -> dict[str, str]:
    return {"tag": "plain_text", "content": text}


CHAT = Feishu()
