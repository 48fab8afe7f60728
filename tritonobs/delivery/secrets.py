"""The secrets that serve reads, each at the moment it is used: a new one in its file needs no restart."""

from __future__ import annotations

from tritonobs.clients.secrets import Secret, read_secret
from tritonobs.plan.notify import Notify, Robot


def robot_secrets(robot: Robot) -> tuple[Secret, Secret | None]:
    """Webhook and signing secret (None for an unsigned robot).

    Raises:
        SecretUnusable: one is missing, empty or readable by every user.
    """
    webhook = read_secret(
        file=robot.webhook.file, env=robot.webhook.env, owner=f"robot {robot.name}: webhook"
    )
    if robot.secret is None:
        return webhook, None
    secret = read_secret(
        file=robot.secret.file, env=robot.secret.env, owner=f"robot {robot.name}: signing secret"
    )
    return webhook, secret


def check_secrets(notify: Notify) -> None:
    """Nothing, when the secrets of every robot and webhook can be used.

    Raises:
        SecretUnusable: as above, for the first that cannot.
    """
    for robot in notify.robots:
        robot_secrets(robot)
    for webhook in notify.relayed:
        if webhook.secret:
            read_secret(file=webhook.secret.file, env=webhook.secret.env, owner=f"webhook {webhook.name}")
