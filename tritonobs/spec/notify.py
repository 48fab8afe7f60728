"""The `notify:` section of fleet.yaml: who is told, how and when. Secrets are named here, never written."""

from __future__ import annotations

from pydantic import Field, model_validator

from tritonobs.spec.receivers import DeadManSpec, EmailSpec, MailServerSpec, SlackSpec, WebhookSpec, WecomSpec
from tritonobs.spec.routes import AlertSeverity, MuteTimeSpec, RouteSpec, TimingSpec, Zone
from tritonobs.spec.section import File, Language, Match, ReceiverName, Section


class MentionSpec(Section):
    """Who is called by name, and for which alerts."""

    match: Match = Field(
        default_factory=dict,
        description="Labels an alert must have, each with one value or a list; every alert when left out.",
    )
    mobiles: tuple[str, ...] = Field(default=(), description="Mobile numbers; outside China as +CC-number.")
    users: tuple[str, ...] = Field(default=(), description="DingTalk user ids.")
    everyone: bool = Field(default=False, description="Call everybody in the group.")

    @model_validator(mode="after")
    def _calls_somebody(self) -> MentionSpec:
        if not (self.mobiles or self.users or self.everyone):
            raise ValueError("calls nobody; write mobiles, users or everyone")
        return self


class RobotSpec(Section):
    """A DingTalk custom robot: where its webhook and signing secret are, never what they are."""

    webhook_file: File | None = Field(
        default=None,
        description="File with the whole webhook, https://oapi.dingtalk.com/robot/send?access_token=….",
    )
    webhook_env: str = Field(default="", description="Environment variable with it, instead of a file.")
    secret_file: File | None = Field(default=None, description="File with the secret of the signature, SEC….")
    secret_env: str = Field(default="", description="Environment variable with it, instead of a file.")
    keyword: str = Field(
        default="", description="For a robot that asks for one: it is put into every message."
    )
    failover: tuple[ReceiverName, ...] = Field(
        default=(), description="Robots that stand in while this one is mute or broken, in this order."
    )
    mention: tuple[MentionSpec, ...] = Field(default=(), description="Who is called by name.")
    language: Language | None = Field(
        default=None, description="Of the messages; `notify.language` when left out."
    )
    template_file: File | None = Field(
        default=None, description="A Jinja2 template of your own for the messages."
    )
    messages_per_minute: int = Field(
        default=20, ge=2, le=20, description="The vendor's limit; less when others use the robot too."
    )

    @model_validator(mode="after")
    def _one_source_each(self) -> RobotSpec:
        if bool(self.webhook_file) == bool(self.webhook_env):
            raise ValueError("webhook_file and webhook_env: write exactly one of them")
        if self.secret_file and self.secret_env:
            raise ValueError("secret_file and secret_env: write one of them, or none for an unsigned robot")
        return self


class AuthSpec(Section):
    """How Alertmanager shows `tritonobs serve` who it is: a bearer token, or a name and a password."""

    token_file: File | None = Field(default=None, description="File with a bearer token.")
    username: str = Field(default="", description="Basic authentication: the name.", pattern=r"^[^:]*$")
    password_file: File | None = Field(
        default=None, description="Basic authentication: file with the password."
    )
    alertmanager_file: File | None = Field(
        default=None, description="The same file's absolute path where Alertmanager runs, if that differs."
    )

    @model_validator(mode="after")
    def _one_way(self) -> AuthSpec:
        if bool(self.token_file) == bool(self.password_file) or bool(self.username) != bool(
            self.password_file
        ):
            raise ValueError("write either token_file, or username and password_file")
        return self


class NotifySpec(Section):
    """Who is told about alerts."""

    language: Language = Field(default="en", description="Of the messages: en or zh.")
    timezone: Zone = Field(default="UTC", description="Of the times in messages and of mute times.")
    auth: AuthSpec | None = Field(
        default=None,
        description="Who may post alerts to `tritonobs serve`; whoever reaches it when left out.",
    )
    alertmanager_version: str = Field(
        default="0.25",
        pattern=r"^0\.\d+$",
        description="The oldest Alertmanager that reads the configuration.",
    )
    dingtalk: dict[ReceiverName, RobotSpec] = Field(
        default_factory=dict, description="DingTalk custom robots."
    )
    slack: dict[ReceiverName, SlackSpec] = Field(default_factory=dict, description="Slack channels.")
    email: dict[ReceiverName, EmailSpec] = Field(default_factory=dict, description="Mailboxes.")
    mail_server: MailServerSpec | None = Field(default=None, description="The server that takes our mail.")
    wecom: dict[ReceiverName, WecomSpec] = Field(default_factory=dict, description="WeCom applications.")
    webhook: dict[ReceiverName, WebhookSpec] = Field(default_factory=dict, description="Other HTTP services.")
    dead_man: DeadManSpec | None = Field(
        default=None, description="Who raises the alarm when the alerting itself is dead."
    )
    routes: tuple[RouteSpec, ...] = Field(
        default=(), description="Which alerts go where; all to everybody when left out."
    )
    mute_times: dict[ReceiverName, MuteTimeSpec] = Field(
        default_factory=dict, description="Spans of silence."
    )
    timing: dict[AlertSeverity, TimingSpec] = Field(
        default_factory=dict, description="How fast alerts are told, by severity."
    )
