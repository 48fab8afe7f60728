"""Slack's incoming webhook, which Alertmanager sends to by itself, with our templates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from tritonobs.chats.chat import Chat
from tritonobs.section import File, Language, Section


class SlackSpec(Section):
    """A Slack channel, through an incoming webhook."""

    webhook_file: File = Field(description="File with the webhook, https://hooks.slack.com/services/….")
    channel: str = Field(
        default="", description="A channel such as #oncall; that of the webhook when left out."
    )


class Slack(Chat):
    """Its messages are Alertmanager's attachments."""

    name = "slack"
    title = "Slack"
    summary = "Slack channels."
    section = SlackSpec

    def receiver(self, written: SlackSpec, language: Language, base: Path) -> tuple[str, dict[str, Any]]:
        """The webhook stays in its file, which Alertmanager reads."""
        words = "tritonobs.zh" if language == "zh" else "tritonobs"
        return "slack_configs", {
            "api_url_file": str(base / written.webhook_file),
            **({"channel": written.channel} if written.channel else {}),
            "send_resolved": True,
            "color": '{{ template "tritonobs.slack.color" . }}',
            "title": f'{{{{ template "{words}.title" . }}}}',
            "title_link": "{{ .ExternalURL }}",
            "fallback": f'{{{{ template "{words}.title" . }}}}',
            "text": f'{{{{ template "{words}.slack.text" . }}}}',
        }


CHAT = Slack()
