"""Alertmanager's receivers: one for each combination of destinations that a route asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tritonobs.plan.receivers import DEAD_MAN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tritonobs.plan.fleet import Plan
    from tritonobs.plan.notify import Auth
    from tritonobs.plan.receivers import Slack, Webhook, Wecom

    Config = dict[str, Any]

NOBODY: Final = "nobody"


def everybody(plan: Plan) -> tuple[str, ...]:
    """Every destination, but robots that only stand in for others."""
    notify = plan.notify
    stand_ins = {name for robot in notify.robots for name in robot.failover}
    return (
        *(f"dingtalk/{robot.name}" for robot in notify.robots if robot.name not in stand_ins),
        *(f"slack/{slack.name}" for slack in notify.slacks),
        *(f"email/{email.name}" for email in notify.emails),
        *(f"wecom/{wecom.name}" for wecom in notify.wecoms),
        *(f"webhook/{webhook.name}" for webhook in notify.webhooks),
    )


def receiver_name(destinations: Sequence[str]) -> str:
    """The receiver that tells all of them."""
    return " + ".join(destinations) or NOBODY


def receiver(destinations: Sequence[str], plan: Plan) -> Config:
    """One receiver."""
    configs: dict[str, list[Config]] = {}
    for name, section, config in _destinations(plan):
        if name in destinations:
            configs.setdefault(section, []).append(config)
    return {"name": receiver_name(destinations), **configs}


def dead_man(plan: Plan) -> Config:
    """The receiver of the Watchdog alert; nobody without a dead man's switch."""
    if plan.notify.dead_man is None:
        return {"name": DEAD_MAN}
    config = _webhook(plan.notify.dead_man.webhook, plan) | {"send_resolved": False}
    return {"name": DEAD_MAN, "webhook_configs": [config]}


def _destinations(plan: Plan) -> Iterator[tuple[str, str, Config]]:
    """Every destination with the section it belongs to; made anew each time, so that YAML shares nothing."""
    notify = plan.notify
    for robot in notify.robots:
        address = f"{plan.addresses.serve_url}/alertmanager/dingtalk/{robot.name}"
        yield f"dingtalk/{robot.name}", "webhook_configs", _through_serve(address, plan)
    for slack in notify.slacks:
        yield f"slack/{slack.name}", "slack_configs", _slack(slack)
    for email in notify.emails:
        yield f"email/{email.name}", "email_configs", {"to": ", ".join(email.to), "send_resolved": True}
    for wecom in notify.wecoms:
        yield f"wecom/{wecom.name}", "wechat_configs", _wecom(wecom)
    for webhook in notify.webhooks:
        yield f"webhook/{webhook.name}", "webhook_configs", _webhook(webhook, plan)


def _through_serve(address: str, plan: Plan) -> Config:
    return {"url": address, "send_resolved": True, **_authorization(plan.notify.auth)}


def _authorization(auth: Auth | None) -> Config:
    if auth is None:
        return {}
    file = str(auth.alertmanager_file)
    if auth.username:
        return {"http_config": {"basic_auth": {"username": auth.username, "password_file": file}}}
    return {"http_config": {"authorization": {"credentials_file": file}}}


def _webhook(webhook: Webhook, plan: Plan) -> Config:
    if webhook.secret:
        return _through_serve(f"{plan.addresses.serve_url}/alertmanager/webhook/{webhook.name}", plan)
    return {"url": webhook.url, "send_resolved": True}


def _slack(slack: Slack) -> Config:
    return {
        "api_url_file": str(slack.webhook_file),
        **({"channel": slack.channel} if slack.channel else {}),
        "send_resolved": True,
        "color": '{{ template "tritonobs.slack.color" . }}',
        "title": '{{ template "tritonobs.title" . }}',
        "title_link": "{{ .ExternalURL }}",
        "fallback": '{{ template "tritonobs.title" . }}',
        "text": '{{ template "tritonobs.slack.text" . }}',
    }


def _wecom(wecom: Wecom) -> Config:
    to = {"to_user": wecom.to_user, "to_party": wecom.to_party, "to_tag": wecom.to_tag}
    return {
        "corp_id": wecom.corp_id,
        "agent_id": wecom.agent_id,
        "api_secret_file": str(wecom.secret_file),
        **{field: who for field, who in to.items() if who},
        "send_resolved": True,
        "message": '{{ template "tritonobs.wecom.text" . }}',
    }
