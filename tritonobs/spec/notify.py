"""The `notify:` section of fleet.yaml: who is told, how and when. Secrets are named here, never written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Language = Literal["en", "zh"]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RobotSpec(_Section):
    """A DingTalk custom robot: where its webhook and signing secret are, never what they are."""

    webhook_file: Path | None = None
    webhook_env: str = ""
    secret_file: Path | None = None
    secret_env: str = ""
    mobiles: tuple[str, ...] = ()
    user_ids: tuple[str, ...] = ()
    language: Language | None = None

    @model_validator(mode="after")
    def _one_source_each(self) -> RobotSpec:
        if bool(self.webhook_file) == bool(self.webhook_env):
            raise ValueError("give exactly one of webhook_file and webhook_env")
        if self.secret_file and self.secret_env:
            raise ValueError("give secret_file or secret_env, not both")
        return self


class NotifySpec(_Section):
    """Who is told about alerts."""

    language: Language = "en"
    dingtalk: dict[Name, RobotSpec] = Field(default_factory=dict)
