"""Receivers other than DingTalk robots, as the plan knows them. Secrets are named, never held."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from decimal import Decimal
    from pathlib import Path

    from tritonobs.spec.notify import NotifySpec
    from tritonobs.spec.receivers import DeadManSpec, MailServerSpec, WebhookSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretSource:
    """Where a secret is: a file or an environment variable, exactly one of them."""

    file: Path | None = None
    env: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slack:
    """A Slack channel; its webhook is in a file that Alertmanager reads."""

    name: str
    webhook_file: Path
    channel: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Email:
    """A mailbox."""

    name: str
    to: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    """The server that takes our mail; without `password_file` nobody logs in."""

    smarthost: str
    sender: str
    username: str = ""
    password_file: Path | None = None
    require_tls: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Wecom:
    """A WeCom application."""

    name: str
    corp_id: str
    agent_id: str
    secret_file: Path
    to_user: str = ""
    to_party: str = ""
    to_tag: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """An HTTP service. With a `secret` instead of a `url`, `tritonobs serve` passes the calls on."""

    name: str
    url: str = ""
    secret: SecretSource | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadMan:
    """Where the Watchdog alert goes, and how often."""

    webhook: Webhook
    every_seconds: Decimal


DEAD_MAN = "dead-man"
"""The name under which `tritonobs serve` passes the Watchdog alert on."""


def build_slacks(spec: NotifySpec, base: Path) -> tuple[Slack, ...]:
    """The Slack channels."""
    return tuple(
        Slack(name=name, webhook_file=base / slack.webhook_file, channel=slack.channel)
        for name, slack in spec.slack.items()
    )


def build_wecoms(spec: NotifySpec, base: Path) -> tuple[Wecom, ...]:
    """The WeCom applications."""
    return tuple(
        Wecom(
            name=name,
            corp_id=wecom.corp_id,
            agent_id=wecom.agent_id,
            secret_file=base / wecom.secret_file,
            to_user=wecom.to_user,
            to_party=wecom.to_party,
            to_tag=wecom.to_tag,
        )
        for name, wecom in spec.wecom.items()
    )


def build_mail_server(spec: MailServerSpec | None, base: Path) -> MailServer | None:
    """The mail server."""
    if spec is None:
        return None
    return MailServer(
        smarthost=spec.smarthost,
        sender=spec.sender,
        username=spec.username,
        password_file=base / spec.password_file if spec.password_file else None,
        require_tls=spec.require_tls,
    )


def build_webhook(name: str, spec: WebhookSpec, base: Path) -> Webhook:
    """An HTTP service."""
    if spec.url:
        return Webhook(name=name, url=spec.url)
    return Webhook(name=name, secret=secret_source(spec.url_file, spec.url_env, base))


def build_dead_man(spec: DeadManSpec | None, base: Path) -> DeadMan | None:
    """Where the Watchdog alert goes."""
    if spec is None:
        return None
    return DeadMan(webhook=build_webhook(DEAD_MAN, spec, base), every_seconds=spec.every)


def secret_source(file: Path | None, env: str, base: Path) -> SecretSource:
    """The file, made absolute, or the variable."""
    return SecretSource(file=base / file if file else None, env=env)
