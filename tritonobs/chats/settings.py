"""What the fields of robots have in common. A chat's own model puts these parts together, and adds its own.

Fields stand in the reference in the order of the parts, the last one first.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from tritonobs.section import MOST_ENTRIES, File, Language, Match, ReceiverName, Section

Name = Annotated[str, Field(pattern=r"^[\w.@-]{1,128}$")]
"""What a chat calls a person: it stands in the markup of a message, so it is no more than a word."""


class MentionSpec(Section):
    """People who are mentioned by name, and for which alerts."""

    match: Match = Field(
        default_factory=dict,
        description="Labels an alert must have, each with one value or a list; every alert when left out.",
    )

    @model_validator(mode="after")
    def _calls_somebody(self) -> MentionSpec:
        ways = [field for field in type(self).model_fields if field != "match"]
        if not any(getattr(self, way) for way in ways):
            raise ValueError(f"mentions no one; write {', '.join(ways[:-1])} or {ways[-1]}")
        return self


class ByWebhook(Section):
    """A robot that is reached by a secret address."""

    webhook_file: File | None = None
    webhook_env: str = Field(default="", description="Environment variable with it, instead of a file.")

    @model_validator(mode="after")
    def _one_webhook(self) -> ByWebhook:
        if bool(self.webhook_file) == bool(self.webhook_env):
            raise ValueError("webhook_file and webhook_env: write exactly one of them")
        return self


class Signed(Section):
    """A robot whose messages may be signed."""

    secret_file: File | None = None
    secret_env: str = Field(default="", description="Environment variable with it, instead of a file.")

    @model_validator(mode="after")
    def _one_secret_at_most(self) -> Signed:
        if self.secret_file and self.secret_env:
            raise ValueError("secret_file and secret_env: write one of them, or none for an unsigned robot")
        return self


class Keyed(Section):
    """A robot that may require a keyword."""

    keyword: str = Field(
        default="", description="The keyword of a robot that requires one; every message contains it."
    )


class Delivered(Section):
    """What `tritonobs serve` needs to know of every robot."""

    failover: tuple[ReceiverName, ...] = Field(
        default=(),
        max_length=MOST_ENTRIES,
        description="Robots that replace this one while it is muted or broken, in this order.",
    )
    mention: tuple[MentionSpec, ...] = Field(
        default=(), max_length=MOST_ENTRIES, description="People who are mentioned by name."
    )
    language: Language | None = Field(
        default=None, description="Language of the messages; `notify.language` when left out."
    )
    template_file: File | None = Field(default=None, description="Your own Jinja2 template for the messages.")
    messages_per_minute: int = Field(default=20, ge=2)


def file_of(written: Section, field: str) -> Path | None:
    """The file of a secret; None where this chat has no such field, or it is left out."""
    found = getattr(written, field, None)
    return found if isinstance(found, Path) else None
