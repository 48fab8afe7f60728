"""Who is told about alerts, everything inherited and every path absolute. Secrets are named, never held."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from tritonobs.spec.notify import AuthSpec, MentionSpec, NotifySpec, RobotSpec

Language = Literal["en", "zh"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretSource:
    """Where a secret is: a file or an environment variable, exactly one of them."""

    file: Path | None = None
    env: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """Whom to call by name for alerts whose labels have one of the given values; no label: any alert."""

    match: tuple[tuple[str, tuple[str, ...]], ...] = ()
    mobiles: tuple[str, ...] = ()
    user_ids: tuple[str, ...] = ()
    everyone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Robot:
    """A DingTalk custom robot. Its webhook and signing secret stay in their files or variables until sent.

    `secret` is None for a robot guarded by a keyword or an address list instead of a signature. `failover`
    names the robots that stand in for it, in this order.
    """

    name: str
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

    robots: tuple[Robot, ...] = ()
    timezone: str = "UTC"
    auth: Auth | None = None


def build_notify(spec: NotifySpec, base: Path) -> Notify:
    """Fill in what is inherited; relative paths count from `base`, the folder of the fleet file."""
    return Notify(
        robots=tuple(_robot(name, robot, spec, base) for name, robot in spec.dingtalk.items()),
        timezone=spec.timezone,
        auth=_auth(spec.auth, base) if spec.auth else None,
    )


def _robot(name: str, robot: RobotSpec, spec: NotifySpec, base: Path) -> Robot:
    signed = robot.secret_file or robot.secret_env
    return Robot(
        name=name,
        webhook=_source(robot.webhook_file, robot.webhook_env, base),
        secret=_source(robot.secret_file, robot.secret_env, base) if signed else None,
        keyword=robot.keyword,
        failover=robot.failover,
        mentions=tuple(_mention(mention) for mention in robot.mention),
        language=robot.language or spec.language,
        template_file=base / robot.template_file if robot.template_file else None,
        messages_per_minute=robot.messages_per_minute,
    )


def _mention(mention: MentionSpec) -> Mention:
    return Mention(
        match=tuple(mention.match.items()),
        mobiles=mention.mobiles,
        user_ids=mention.users,
        everyone=mention.everyone,
    )


def _auth(auth: AuthSpec, base: Path) -> Auth:
    written = auth.token_file or auth.password_file
    file = base / written if written else base
    return Auth(file=file, alertmanager_file=auth.alertmanager_file or file, username=auth.username)


def _source(file: Path | None, env: str, base: Path) -> SecretSource:
    return SecretSource(file=base / file if file else None, env=env)
