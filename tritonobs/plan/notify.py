"""The receivers of alerts, everything inherited and every path absolute. Secrets are named, never held."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from tritonobs.chats.chat import Chat, Delivered, MentionSpec, People
from tritonobs.section import Language
from tritonobs.spec.notify import (
    AuthSpec,
    DeadManSpec,
    NightingaleSpec,
    NotifySpec,
    OwnAlertmanager,
    RouteSpec,
    WebhookSpec,
)

Nightingale = NightingaleSpec
Route = RouteSpec
"""As the fleet file says it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretSource:
    """Where a secret is: a file or an environment variable, exactly one of them."""

    file: Path | None = None
    env: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfChat:
    """An entry of a chat in the fleet file."""

    chat: str
    name: str

    @property
    def receiver(self) -> str:
        """`dingtalk/oncall`."""
        return f"{self.chat}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel(OfChat):
    """A channel of a chat that Alertmanager sends to: the list of its receivers, and the entry there."""

    section: str
    config: Mapping[str, Any]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention(People):
    """The people to mention for alerts whose labels have one of the given values; no label: any alert."""

    match: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Robot(OfChat):
    """A robot of a chat. Its webhook and signing secret stay in their files or variables until sent.

    `secret` is None for a robot guarded by a keyword or an address list instead of a signature. `failover`
    names the robots that replace it, in this order.
    """

    webhook: SecretSource
    secret: SecretSource | None = None
    keyword: str = ""
    failover: tuple[str, ...] = ()
    mentions: tuple[Mention, ...] = ()
    language: Language = "en"
    template_file: Path | None = None
    messages_per_minute: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Auth:
    """What Alertmanager shows to `tritonobs serve`: name and password with a `username`, else a bearer token.

    `alertmanager_file` is the path of the same secret where Alertmanager runs.
    """

    file: Path
    alertmanager_file: Path
    username: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notify:
    """The whole `notify:` section, decided."""

    timezone: str = "UTC"
    language: Language = "en"
    """That of messages of receivers that name none."""
    nightingale: Nightingale = field(default_factory=Nightingale)
    auth: Auth | None = None
    robots: tuple[Robot, ...] = ()
    channels: tuple[Channel, ...] = ()
    webhooks: tuple[Webhook, ...] = ()
    dead_man: DeadMan | None = None
    routes: tuple[Route, ...] = ()
    alertmanager: OwnAlertmanager | None = None
    """The user's own configuration, which ours is merged into."""

    @property
    def relayed(self) -> tuple[Webhook, ...]:
        """The services whose address is a secret: `tritonobs serve` passes alerts on to them."""
        services = (*self.webhooks, *([self.dead_man.webhook] if self.dead_man else []))
        return tuple(service for service in services if service.secret)


def build_notify(spec: NotifySpec, own: OwnAlertmanager | None, base: Path) -> Notify:
    """Fill in what is inherited; relative paths count from `base`, the folder of the fleet file."""
    return Notify(
        timezone=spec.timezone,
        language=spec.language,
        nightingale=spec.nightingale,
        auth=_auth(spec.auth, base) if spec.auth else None,
        robots=tuple(_robot(chat, name, robot, spec, base) for chat, name, robot in spec.robots()),
        channels=tuple(
            Channel(chat=chat.name, name=name, section=section, config=config)
            for chat, name, written in spec.entries()
            if not chat.through_serve(written)
            for section, config in [chat.receiver(written, spec.language, base)]
        ),
        webhooks=tuple(_webhook(name, webhook, base) for name, webhook in spec.webhook.items()),
        dead_man=_dead_man(spec.dead_man, base) if spec.dead_man else None,
        routes=spec.routes,
        alertmanager=own,
    )


def _webhook(name: str, spec: WebhookSpec, base: Path) -> Webhook:
    if spec.url:
        return Webhook(name=name, url=spec.url)
    return Webhook(name=name, secret=_secret_source(spec.url_file, spec.url_env, base))


def _dead_man(spec: DeadManSpec, base: Path) -> DeadMan:
    return DeadMan(webhook=_webhook(DEAD_MAN, spec, base), every_seconds=spec.every)


def _secret_source(file: Path | None, env: str, base: Path) -> SecretSource:
    """The file, made absolute, or the variable."""
    return SecretSource(file=base / file if file else None, env=env)


def _robot(chat: Chat, name: str, robot: Delivered, spec: NotifySpec, base: Path) -> Robot:
    webhook, secret = (
        _secret_source(getattr(robot, f"{field}_file", None), getattr(robot, f"{field}_env", ""), base)
        for field in ("webhook", "secret")
    )
    return Robot(
        chat=chat.name,
        name=name,
        webhook=webhook,
        secret=secret if secret.file or secret.env else None,
        keyword=getattr(robot, "keyword", ""),
        failover=robot.failover,
        mentions=tuple(_mention(mention) for mention in robot.mention),
        language=robot.language or spec.language,
        template_file=base / robot.template_file if robot.template_file else None,
        messages_per_minute=robot.messages_per_minute,
    )


def _mention(mention: MentionSpec) -> Mention:
    return Mention(
        match=tuple(mention.match.items()),
        mobiles=getattr(mention, "mobiles", ()),
        user_ids=getattr(mention, "users", ()),
        everyone=getattr(mention, "everyone", False),
    )


def _auth(auth: AuthSpec, base: Path) -> Auth:
    # `AuthSpec` takes exactly one of the two, so `base` alone is never the file.
    written = auth.token_file or auth.password_file
    file = base / written if written else base
    return Auth(file=file, alertmanager_file=auth.alertmanager_file or file, username=auth.username)
