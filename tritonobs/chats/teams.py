"""Microsoft Teams, through the webhook of a Workflow: adaptive cards.

Facts are those of Microsoft's documentation (learn.microsoft.com: connectors/teams, microsoftteams/platform/
webhooks-and-connectors/how-to/add-incoming-webhook, microsoftteams/platform/task-modules-and-cards/cards/
cards-format): 28 KB a message, four requests a second, 429 beyond; Markdown of a TextBlock is bold, italic,
lists and links. The trigger of a Workflow answers 202 before the card is posted. What its 400, 401, 403 and
404 mean is from answers in public reports; they have JSON with `error.code`.
"""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import SplitResult, parse_qs

from pydantic import Field

from tritonobs.chats.chat import (
    MOST_VALUES,
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
    shortened,
    without_entities,
    without_underscores,
)
from tritonobs.outside import read_json
from tritonobs.section import File, optional_list

_WEBHOOK: Final = "https://….logic.azure.com/workflows/…/triggers/manual/paths/invoke?…&sig=…"
_ACCEPTED, _TOO_LARGE = frozenset({200, 202}), 413
_REFUSED: Final = {
    400: "the Workflow does not expect a card: make it from the template for webhook requests",
    401: "the webhook is incomplete, or was regenerated",
    403: "the Workflow allows only signed-in people; allow anyone to trigger it",
    404: "the Workflow was removed or turned off",
}
_COLOURS: Final = {"🔴": "Attention", "🟠": "Warning", "🔵": "Accent", "✅": "Good"}
# `{{DATE(…)}}` is a function of adaptive cards.
_FUNCTION = re.compile(r"\{(?=\{)")


class TeamsMention(MentionSpec):
    """People who are mentioned by name, and for which alerts."""

    users: tuple[Name, ...] = optional_list("Sign-in names (lee@example.org) or object ids.")


class TeamsSpec(Delivered, ByWebhook):
    """A Teams channel or chat, through the webhook of a Workflow."""

    webhook_file: File | None = Field(default=None, description=f"File with the whole webhook, {_WEBHOOK}.")
    mention: tuple[TeamsMention, ...] = optional_list("People who are mentioned by name.")
    messages_per_minute: int = Field(
        default=20, ge=2, le=240, description="Messages in a minute; Teams accepts four per second."
    )


class Teams(RobotChat):
    """A card has the text in blocks, and buttons for the first alert's links."""

    name = "teams"
    title = "Teams"
    summary = "Microsoft Teams, by Workflows."
    section = TeamsSpec
    most_bytes = 25_000
    """Of about 28 KB. A larger one is refused after the Workflow has answered 202, where no one sees it."""
    # Not documented: the limit is for a second, the pause for what else the tenant sends.
    mute_seconds = 30.0
    spacing_seconds = 0.3
    webhook_like = _WEBHOOK
    dialect = Dialect(heading=("**", "**"), quote="", end="")

    def is_webhook(self, parts: SplitResult) -> bool:
        """The trigger of a Workflow, with its signature."""
        query = parse_qs(parts.query)
        return parts.path.endswith("/triggers/manual/paths/invoke") and bool(query.get("sig"))

    def judge(self, heard: Heard) -> Reply:
        """By the status; an error has its code in JSON."""
        code = str(heard.status)
        if heard.status in _ACCEPTED:
            # The trigger's answer has no body; a page of a proxy has one.
            if heard.body.lstrip()[:1] == b"<":
                raise NotUnderstood(f"{code} and something that is not {self.title}'s")
            return Reply(verdict=Verdict.ACCEPTED, code=code)
        text = _error(heard.body)
        if heard.status == _TOO_LARGE:
            return Reply(verdict=Verdict.TOO_LONG, code=code, text=text)
        if heard.status in _REFUSED:
            return Reply(verdict=Verdict.REFUSED, code=code, text=text, hint=_REFUSED[heard.status])
        if not text:
            raise NotUnderstood(code)
        return Reply(verdict=Verdict.BUSY, code=code, text=text)

    def escape(self, text: str) -> str:
        """Look-alikes for what begins emphasis, an entity or a function."""
        text = without_underscores(without_entities(text))
        return _FUNCTION.sub("\N{FULLWIDTH LEFT CURLY BRACKET}", text)

    def mention(self, people: People) -> str:
        """Each has an entity of the same text beside the card."""
        return " ".join(f"<at>{user}</at>" for user in people.user_ids)

    def write(self, digest: Digest) -> Message:
        """A block for each paragraph; within one, an empty line is what Teams shows as the end of a line."""
        body: list[dict[str, Any]] = [
            {"type": "TextBlock", "wrap": True, "text": "\n\n".join(paragraph.splitlines())}
            for paragraph in re.split(r"\n{2,}", digest.text)
        ]
        body[0] |= {"size": "Medium", "color": _COLOURS.get(digest.icon, "Default")}
        card: dict[str, Any] = {
            "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
            "type": "AdaptiveCard",
            "version": "1.4",
            "body": body,
            "actions": [
                {"type": "Action.OpenUrl", "title": link.word, "url": link.url} for link in digest.buttons
            ],
            "msteams": {"width": "Full", "entities": [_entity(user) for user in digest.people.user_ids]},
        }
        attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
        said = {"type": "message", "summary": digest.title, "attachments": [attachment]}
        return Message(title=digest.title, text=digest.text, said=said)


def _entity(user: str) -> dict[str, Any]:
    return {"type": "mention", "text": f"<at>{user}</at>", "mentioned": {"id": user, "name": user}}


def _error(body: bytes) -> str:
    """The code and the words of an error; "" of anything else."""
    try:
        said = read_json(body, most=MOST_VALUES)["error"]
        return shortened(f"{said['code']} {said.get('message', '')}")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ""


CHAT = Teams()
