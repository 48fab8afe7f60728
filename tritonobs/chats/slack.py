"""Slack's incoming webhook: by Alertmanager, with our templates, or by `tritonobs serve`, as blocks.

Facts are those of Slack's documentation (docs.slack.dev: apis/web-api/rate-limits, reference/block-kit, and
api.slack.com/changelog/2016-05-17-changes-to-errors-for-incoming-webhooks): one message a second to a
channel, 429 with `Retry-After`, 200 and `ok` for acceptance, 3,000 characters in a section, 150 in a header,
50 blocks. `no_service`, `no_team` and `invalid_token` are from answers in public reports, and so is that more
than about 13,200 characters in blocks are `msg_blocks_too_long` (slackapi/bolt-js#2509).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import SplitResult

from pydantic import Field, model_validator

from tritonobs.chats.chat import (
    OK,
    ByWebhook,
    Delivered,
    Dialect,
    Digest,
    Heard,
    MentionSpec,
    Message,
    Name,
    NotUnderstood,
    People,
    Reply,
    RobotChat,
    Verdict,
    judged,
    pieces,
    without_entities,
    without_underscores,
)
from tritonobs.section import File, Language, Section, optional_list

_WEBHOOK: Final = "https://hooks.slack.com/services/…"
_PATH: Final = re.compile(r"/services/\w+/\w+/\w+")
_SECTION, _HEADER, _BUTTON = 3_000, 150, 75
_WORD: Final = re.compile(r"[a-z_]{1,60}")
_REMOVED: Final = "the webhook was removed, or is an old one"

_ANSWERS: Final = {
    "ok": (Verdict.ACCEPTED, ""),
    "msg_blocks_too_long": (Verdict.TOO_LONG, ""),
    "msg_too_long": (Verdict.TOO_LONG, ""),
    **dict.fromkeys(
        ("invalid_payload", "invalid_blocks", "invalid_blocks_format", "invalid_attachments", "no_text"),
        (Verdict.CONTENT, ""),
    ),
    "no_service": (Verdict.REFUSED, _REMOVED),
    "no_service_id": (Verdict.REFUSED, _REMOVED),
    "no_team": (Verdict.REFUSED, _REMOVED),
    "team_disabled": (Verdict.REFUSED, "the workspace is disabled"),
    "invalid_token": (Verdict.REFUSED, _REMOVED),
    "channel_not_found": (Verdict.REFUSED, "the channel was removed"),
    "channel_is_archived": (Verdict.REFUSED, "the channel is archived"),
    "action_prohibited": (Verdict.REFUSED, "the workspace does not allow this webhook to post"),
    "posting_to_general_channel_denied": (Verdict.REFUSED, "the webhook may not post to #general"),
}
# An emoji is shown as what it names.
_EMOJI = re.compile(r":(?=(?:[A-Za-z+-][\w+-]*|100|1234):)")


class SlackMention(MentionSpec):
    """People who are mentioned by name, and for which alerts."""

    users: tuple[Name, ...] = optional_list("Ids of users (U…) or of user groups (S…).")
    everyone: bool = Field(default=False, description="Mention everyone in the channel.")


class SlackSpec(Delivered, ByWebhook):
    """A Slack channel, through an incoming webhook."""

    via: Literal["alertmanager", "serve"] = Field(
        default="alertmanager",
        description="Alertmanager sends by itself, with `webhook_file` and `channel` alone; `serve` "
        "delivers as to other robots.",
    )
    channel: str = Field(
        default="",
        description="With `alertmanager`: a channel such as #oncall; that of the webhook when left out.",
    )
    webhook_file: File | None = Field(default=None, description=f"File with the webhook, {_WEBHOOK}.")
    mention: tuple[SlackMention, ...] = optional_list("People who are mentioned by name.")
    messages_per_minute: int = Field(
        default=20, ge=2, le=60, description="Messages in a minute; Slack accepts one per second."
    )

    @model_validator(mode="after")
    def _one_way(self) -> SlackSpec:
        unused = (set(Delivered.model_fields) | {"webhook_env"}) & self.model_fields_set
        if self.via == "alertmanager" and unused:
            raise ValueError(f"{min(unused)}: needs via: serve")
        if self.via == "serve" and self.channel:
            raise ValueError("channel: a webhook has its channel; this field is for via: alertmanager")
        return self


class Slack(RobotChat):
    """Slack documents escapes of `&`, `<` and `>` alone: texts have look-alikes instead."""

    name = "slack"
    title = "Slack"
    summary = "Slack channels."
    section = SlackSpec
    example = {"via": "serve"}  # noqa: RUF012 (read only)
    most_bytes = 12_000
    mute_seconds = 30.0
    spacing_seconds = 1.0
    longest_link = 700
    webhook_like = _WEBHOOK
    dialect = Dialect(heading=("*", "*"), bold=("*", "*"), item="• ", end="")

    def through_serve(self, written: Section) -> bool:
        """As the entry says."""
        return isinstance(written, SlackSpec) and written.via == "serve"

    def receiver(self, written: SlackSpec, language: Language, base: Path) -> tuple[str, dict[str, Any]]:
        """The webhook stays in its file, which Alertmanager reads."""
        words = "tritonobs.zh" if language == "zh" else "tritonobs"
        return "slack_configs", {
            "api_url_file": str(base / str(written.webhook_file)),
            **({"channel": written.channel} if written.channel else {}),
            "send_resolved": True,
            "color": '{{ template "tritonobs.slack.color" . }}',
            "title": f'{{{{ template "{words}.title" . }}}}',
            "title_link": "{{ .ExternalURL }}",
            "fallback": f'{{{{ template "{words}.title" . }}}}',
            "text": f'{{{{ template "{words}.slack.text" . }}}}',
        }

    def is_webhook(self, parts: SplitResult) -> bool:
        """Its three parts are the secret."""
        return bool(_PATH.fullmatch(parts.path))

    def judge(self, heard: Heard) -> Reply:
        """By the one word of the answer; anything longer is not Slack's."""
        word = heard.body.decode("utf-8", "replace").strip()
        if not _WORD.fullmatch(word) or (word == "ok") != (heard.status == OK):
            raise NotUnderstood(f"{heard.status} and something that is not Slack's")
        return judged(_ANSWERS, word, f"HTTP {heard.status}")

    def escape(self, text: str) -> str:
        """Look-alikes for what begins emphasis, an entity or an emoji."""
        return _EMOJI.sub("\N{MODIFIER LETTER COLON}", without_underscores(without_entities(text)))

    def link(self, word: str, url: str) -> str:
        """`|` and `>` are encoded in the address; one that becomes too long so is left out, as others are."""
        address = url.replace("&", "&amp;")
        return f"<{address}|{word}>" if len(address) <= self.longest_link else word

    def mention(self, people: People) -> str:
        """Users, groups, and the channel."""
        who = [f"<!subteam^{one}>" if one.startswith("S") else f"<@{one}>" for one in people.user_ids]
        return " ".join([*who, *(["<!channel>"] if people.everyone else [])])

    def write(self, digest: Digest) -> Message:
        """A header, sections cut at lines, buttons. `verbatim`: Slack makes no links of its own."""
        blocks: list[dict[str, object]] = [{"type": "header", "text": _plain(digest.title[:_HEADER])}]
        for piece in pieces(digest.text, _SECTION):
            text = {"type": "mrkdwn", "text": piece, "verbatim": True}
            blocks.append({"type": "section", "text": text})
        buttons = [
            {"type": "button", "text": _plain(link.word[:_BUTTON]), "url": link.url}
            for link in digest.buttons
        ]
        if buttons:
            blocks.append({"type": "actions", "elements": buttons})
        return Message(title=digest.title, text=digest.text, said={"text": digest.title, "blocks": blocks})


def _plain(text: str) -> dict[str, object]:
    return {"type": "plain_text", "text": text, "emoji": False}


CHAT = Slack()
