"""Receivers other than DingTalk robots, as the plan knows them. Secrets are named, never held."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from decimal import Decimal
    from pathlib import Path

    from tritonobs.spec.notify import NotifySpec
    from tritonobs.spec.receivers import DeadManSpec, WebhookSpec


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
    language: Literal["en", "zh"] = "en"


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


DEAD_MAN: Final = "dead-man"
"""The name under which `tritonobs serve` passes the Watchdog alert on."""
NO_RECEIVER: Final = "nobody"
"""The receiver that sends nothing."""
OWN: Final = "alertmanager/"
"""Stands before the name of a receiver of the user's own Alertmanager configuration."""


def build_slacks(spec: NotifySpec, base: Path) -> tuple[Slack, ...]:
    """The Slack channels."""
    return tuple(
        Slack(
            name=name, webhook_file=base / slack.webhook_file, channel=slack.channel, language=spec.language
        )
        for name, slack in spec.slack.items()
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
