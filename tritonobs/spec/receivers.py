"""Receivers beside the DingTalk robots: Slack, webhooks, and the dead man's switch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, model_validator

from tritonobs.spec.section import MOST_ENTRIES, File, Section
from tritonobs.spec.values import Duration, Name, Url


class SlackSpec(Section):
    """A Slack channel, through an incoming webhook."""

    webhook_file: File = Field(description="File with the webhook, https://hooks.slack.com/services/….")
    channel: str = Field(
        default="", description="A channel such as #oncall; that of the webhook when left out."
    )


class WebhookSpec(Section):
    """Any HTTP service. If its address is a secret, `tritonobs serve` forwards the alerts."""

    url: Url | None = Field(default=None, description="The address, if it is not a secret.")
    url_file: File | None = Field(default=None, description="File with the address, if it is a secret.")
    url_env: str = Field(default="", description="Environment variable with it, instead of a file.")

    @model_validator(mode="after")
    def _one_address(self) -> WebhookSpec:
        if sum(map(bool, (self.url, self.url_file, self.url_env))) != 1:
            raise ValueError("url, url_file and url_env: write exactly one of them")
        return self


class NightingaleSpec(Section):
    """What `build --target n9e` writes into each rule for Nightingale; what is left out is chosen there."""

    data_sources: tuple[Name, ...] = Field(
        default=(),
        max_length=MOST_ENTRIES,
        description="Names of its data sources, with `*` for any text; all of them when left out.",
    )
    notify_rules: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        default=(),
        max_length=MOST_ENTRIES,
        description="Numbers of its notification rules; no message is sent when left out.",
    )


class DeadManSpec(WebhookSpec):
    """A service that raises the alarm when the Watchdog alert stops arriving."""

    every: Duration = Field(default=Decimal(60), description="How often the Watchdog alert is sent.")

    @model_validator(mode="after")
    def _not_too_often(self) -> DeadManSpec:
        least = 15
        if self.every < least:
            raise ValueError(f"every: allowed are {least}s and more")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnAlertmanager:
    """The file as YAML values. Relative paths in it count from `folder`."""

    folder: Path
    # Not in a `repr`: the user's file may hold secrets.
    config: Mapping[str, Any] = field(repr=False)

    @property
    def receivers(self) -> tuple[str, ...]:
        """The names of its receivers."""
        return tuple(str(receiver.get("name", "")) for receiver in self.config.get("receivers", ()))
