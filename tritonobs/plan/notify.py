"""Who is told about alerts, everything inherited and every path absolute. Secrets are named, never held."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from tritonobs.spec.notify import NotifySpec, RobotSpec

Language = Literal["en", "zh"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretSource:
    """Where a secret is: a file or an environment variable, exactly one of them."""

    file: Path | None = None
    env: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Robot:
    """A DingTalk custom robot. Its webhook and signing secret stay in their files or variables until sent.

    `secret` is None for a robot guarded by keywords or an address list instead of a signature.
    """

    name: str
    webhook: SecretSource
    secret: SecretSource | None = None
    mobiles: tuple[str, ...] = ()
    user_ids: tuple[str, ...] = ()
    language: Language = "en"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notify:
    """The whole `notify:` section, decided."""

    robots: tuple[Robot, ...] = ()


def build_notify(spec: NotifySpec, base: Path) -> Notify:
    """Fill in what is inherited; relative paths count from `base`, the folder of the fleet file."""
    return Notify(
        robots=tuple(_robot(name, robot, spec, base) for name, robot in spec.dingtalk.items()),
    )


def _robot(name: str, robot: RobotSpec, spec: NotifySpec, base: Path) -> Robot:
    return Robot(
        name=name,
        webhook=_source(robot.webhook_file, robot.webhook_env, base),
        secret=_source(robot.secret_file, robot.secret_env, base)
        if robot.secret_file or robot.secret_env
        else None,
        mobiles=robot.mobiles,
        user_ids=robot.user_ids,
        language=robot.language or spec.language,
    )


def _source(file: Path | None, env: str, base: Path) -> SecretSource:
    return SecretSource(file=base / file if file else None, env=env)
