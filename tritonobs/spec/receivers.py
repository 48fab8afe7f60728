"""Receivers that Alertmanager itself knows: Slack, e-mail, WeCom, webhooks, and the dead man's switch."""

from __future__ import annotations

from decimal import Decimal

from pydantic import Field, model_validator

from tritonobs.spec.section import File, Section, Texts
from tritonobs.spec.values import Duration, Url


class SlackSpec(Section):
    """A Slack channel, through an incoming webhook."""

    webhook_file: File = Field(description="File with the webhook, https://hooks.slack.com/services/….")
    channel: str = Field(default="", description="Such as #oncall; the webhook's own when left out.")


class EmailSpec(Section):
    """A mailbox, through `notify.mail_server`."""

    to: Texts = Field(description="One address or a list.")


class MailServerSpec(Section):
    """The server that takes our mail."""

    smarthost: str = Field(description="Host and port, such as smtp.example.com:587.", pattern=r"^\S+:\d+$")
    sender: str = Field(description="The address mails come from.")
    username: str = Field(default="", description="Name to log in with.")
    password_file: File | None = Field(default=None, description="File with the password.")
    require_tls: bool = Field(default=True, description="Refuse to send without TLS.")

    @model_validator(mode="after")
    def _whole_login(self) -> MailServerSpec:
        if bool(self.username) != bool(self.password_file):
            raise ValueError("username and password_file: write both or none")
        return self


class WecomSpec(Section):
    """A WeCom application. Alertmanager reads its secret from a file since 0.31."""

    corp_id: str = Field(description="The company's id.")
    agent_id: str = Field(description="The application's id.")
    secret_file: File = Field(description="File with the application's secret.")
    to_user: str = Field(default="", description="User ids, separated by |; @all for everybody.")
    to_party: str = Field(default="", description="Department ids, separated by |.")
    to_tag: str = Field(default="", description="Tag ids, separated by |.")

    @model_validator(mode="after")
    def _tells_somebody(self) -> WecomSpec:
        if not (self.to_user or self.to_party or self.to_tag):
            raise ValueError("tells nobody; write to_user, to_party or to_tag")
        return self


class WebhookSpec(Section):
    """Any HTTP service. `tritonobs serve` passes alerts on to one whose address is a secret."""

    url: Url | None = Field(default=None, description="The address, when it is no secret.")
    url_file: File | None = Field(default=None, description="File with the address, when it is one.")
    url_env: str = Field(default="", description="Environment variable with it, instead of a file.")

    @model_validator(mode="after")
    def _one_address(self) -> WebhookSpec:
        if sum(map(bool, (self.url, self.url_file, self.url_env))) != 1:
            raise ValueError("url, url_file and url_env: write exactly one of them")
        return self


class DeadManSpec(WebhookSpec):
    """A service that raises the alarm when it hears nothing: the Watchdog alert goes there."""

    every: Duration = Field(default=Decimal(60), description="How often it is told that all is well.")

    @model_validator(mode="after")
    def _not_too_often(self) -> DeadManSpec:
        least = 15
        if self.every < least:
            raise ValueError(f"every: allowed are {least}s and more")
        return self
