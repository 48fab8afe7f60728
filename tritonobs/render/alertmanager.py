"""Alertmanager's configuration (0.25 and newer): who is told, how soon, and what silences what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tritonobs.render.artifact import Artifact, yaml_text

if TYPE_CHECKING:
    from tritonobs.plan.fleet import Plan
    from tritonobs.plan.notify import Auth, Robot

PATH = "alertmanager/alertmanager.yml"
_NOBODY = "nobody"
_EVERYBODY = "everybody"
# How long to wait for company, between news of one group, and until a reminder. Alertmanager gives a
# notification the time of one interval, at least 10 s. serve merges groups: short waits flood nobody.
_TIMINGS = {
    "critical": {"group_wait": "1s", "group_interval": "10s", "repeat_interval": "4h"},
    "warning": {"group_wait": "10s", "group_interval": "1m", "repeat_interval": "12h"},
    "info": {"group_wait": "1m", "group_interval": "5m", "repeat_interval": "3d"},
}


def render_alertmanager(plan: Plan) -> tuple[Artifact, ...]:
    """The configuration; it names the files secrets are in, never a secret."""
    config = {
        "route": {
            "receiver": _EVERYBODY,
            "group_by": ["cluster", "model"],
            **_TIMINGS["warning"],
            "routes": [
                {"matchers": ['severity="none"'], "receiver": _NOBODY},
                *(
                    {"matchers": [f'severity="{severity}"'], **timing}
                    for severity, timing in _TIMINGS.items()
                ),
            ],
        },
        "receivers": [
            {"name": _NOBODY},
            {"name": _EVERYBODY, "webhook_configs": [_robot(robot, plan) for robot in plan.notify.robots]},
        ],
    }
    comment = f"Made by tritonobs from the fleet file of {plan.fleet}; change that one and build anew."
    return (Artifact(path=PATH, text=yaml_text(config, comment=comment)),)


def _robot(robot: Robot, plan: Plan) -> dict[str, Any]:
    url = f"{plan.addresses.serve_url.rstrip('/')}/alertmanager/dingtalk/{robot.name}"
    return {"url": url, "send_resolved": True, **_authorization(plan.notify.auth)}


def _authorization(auth: Auth | None) -> dict[str, Any]:
    if auth is None:
        return {}
    file = str(auth.alertmanager_file)
    if auth.username:
        return {"http_config": {"basic_auth": {"username": auth.username, "password_file": file}}}
    return {"http_config": {"authorization": {"credentials_file": file}}}
