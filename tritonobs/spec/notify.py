"""The `notify:` section of fleet.yaml: receivers, routes, messages. Secrets are named, never held."""

from __future__ import annotations

import zoneinfo
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from tritonobs.spec.section import MOST_ENTRIES, File, Language, Match, ReceiverName, Section, Texts
from tritonobs.spec.values import Duration, Name, Url
from tritonobs.spec.words import quoted


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


def _zone(name: str) -> str:
    try:
        zoneinfo.ZoneInfo(name)
    # ValueError is for `../x`, OSError for a folder such as `Asia`.
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(
            f"found {quoted(name)}; allowed is a time zone such as UTC or Asia/Shanghai"
        ) from None
    return name


Zone = Annotated[str, AfterValidator(_zone)]


class RouteSpec(Section):
    """Alerts with these labels go to these receivers. The first matching route decides."""

    match: Match = Field(
        default_factory=dict, description="Labels, each with one value or a list; every alert when left out."
    )
    to: Texts = Field(
        description="Receivers: dingtalk/NAME, slack/NAME, webhook/NAME, or alertmanager/NAME for one of "
        "`alertmanager_file`."
    )
    continue_: bool = Field(default=False, alias="continue", description="Try the routes below as well.")


class MentionSpec(Section):
    """People who are mentioned by name, and for which alerts."""

    match: Match = Field(
        default_factory=dict,
        description="Labels an alert must have, each with one value or a list; every alert when left out.",
    )
    mobiles: tuple[str, ...] = Field(
        default=(), max_length=MOST_ENTRIES, description="Mobile numbers; +CC-number outside China."
    )
    users: tuple[str, ...] = Field(default=(), max_length=MOST_ENTRIES, description="DingTalk user ids.")
    everyone: bool = Field(default=False, description="Mention everyone in the group.")

    @model_validator(mode="after")
    def _calls_somebody(self) -> MentionSpec:
        if not (self.mobiles or self.users or self.everyone):
            raise ValueError("mentions no one; write mobiles, users or everyone")
        return self


class RobotSpec(Section):
    """A DingTalk custom robot: where its webhook and its signing secret are stored."""

    webhook_file: File | None = Field(
        default=None,
        description="File with the whole webhook, https://oapi.dingtalk.com/robot/send?access_token=….",
    )
    webhook_env: str = Field(default="", description="Environment variable with it, instead of a file.")
    secret_file: File | None = Field(default=None, description="File with the secret of the signature, SEC….")
    secret_env: str = Field(default="", description="Environment variable with it, instead of a file.")
    keyword: str = Field(
        default="", description="The keyword of a robot that requires one; every message contains it."
    )
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
    # The first minute of a process has a share of its own, at least 1 (delivery/lane.py); of 1 nothing
    # would be left for the minutes after it.
    messages_per_minute: int = Field(
        default=20,
        ge=2,
        le=20,
        description="The vendor's limit; write less if other programs use the robot too.",
    )

    @model_validator(mode="after")
    def _one_source_each(self) -> RobotSpec:
        if bool(self.webhook_file) == bool(self.webhook_env):
            raise ValueError("webhook_file and webhook_env: write exactly one of them")
        if self.secret_file and self.secret_env:
            raise ValueError("secret_file and secret_env: write one of them, or none for an unsigned robot")
        return self


class AuthSpec(Section):
    """How Alertmanager authenticates to `tritonobs serve`: a bearer token, or a name and a password."""

    token_file: File | None = Field(default=None, description="File with a bearer token.")
    username: str = Field(default="", description="Basic authentication: the name.", pattern=r"^[^:]*$")
    password_file: File | None = Field(
        default=None, description="Basic authentication: file with the password."
    )
    alertmanager_file: File | None = Field(
        default=None,
        description="The absolute path of the same file on Alertmanager's machine, if it differs.",
    )

    @model_validator(mode="after")
    def _one_way(self) -> AuthSpec:
        if bool(self.token_file) == bool(self.password_file) or bool(self.username) != bool(
            self.password_file
        ):
            raise ValueError("write either token_file, or username and password_file")
        return self


class NotifySpec(Section):
    """Receivers of alerts, and the messages they get."""

    language: Language = Field(default="en", description="Language of the messages: en or zh.")
    timezone: Zone = Field(default="UTC", description="Time zone of the times in messages.")
    auth: AuthSpec | None = Field(
        default=None,
        description="Who may post alerts to `tritonobs serve`; every client that reaches it when left out.",
    )
    alertmanager_file: File | None = Field(
        default=None,
        description="Your own `alertmanager.yml`: our receivers and routes are merged into it.",
    )
    dingtalk: dict[ReceiverName, RobotSpec] = Field(
        default_factory=dict, max_length=MOST_ENTRIES, description="DingTalk custom robots."
    )
    slack: dict[ReceiverName, SlackSpec] = Field(
        default_factory=dict, max_length=MOST_ENTRIES, description="Slack channels."
    )
    webhook: dict[ReceiverName, WebhookSpec] = Field(
        default_factory=dict, max_length=MOST_ENTRIES, description="Other HTTP services."
    )
    nightingale: NightingaleSpec = Field(
        default_factory=NightingaleSpec, description="For alerts that Nightingale evaluates."
    )
    dead_man: DeadManSpec | None = Field(
        default=None, description="The service that raises the alarm when the alerting itself is down."
    )
    routes: tuple[RouteSpec, ...] = Field(
        default=(),
        max_length=MOST_ENTRIES,
        description="Which alerts go to which receivers; every alert to every receiver when left out.",
    )
