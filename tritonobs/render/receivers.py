"""Alertmanager's receivers: one for each combination of destinations that a route asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tritonobs.plan.notify import DEAD_MAN, NO_RECEIVER, OWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tritonobs.plan.fleet import Plan
    from tritonobs.plan.notify import Auth, Slack, Webhook

    Config = dict[str, Any]


def all_destinations(plan: Plan) -> tuple[str, ...]:
    """Every destination, but robots that only stand in for others."""
    notify = plan.notify
    stand_ins = {name for robot in notify.robots for name in robot.failover}
    return (
        *(f"dingtalk/{robot.name}" for robot in notify.robots if robot.name not in stand_ins),
        *(f"slack/{slack.name}" for slack in notify.slacks),
        *(f"webhook/{webhook.name}" for webhook in notify.webhooks),
    )


def receiver_name(destinations: Sequence[str]) -> str:
    """The receiver that tells all of them."""
    return " + ".join(destinations) or NO_RECEIVER


def receivers(plan: Plan) -> list[Config]:
    """Every receiver that a route names: the dead man's switch, every destination, every combination."""
    written = (route.receivers for route in plan.notify.routes)
    ours = (tuple(name for name in names if not name.startswith(OWN)) for names in written)
    single = ((name,) for name, _, _ in _destinations(plan))
    # The empty combination sends nothing: alerts of the severity none are routed to it.
    combinations = dict.fromkeys((all_destinations(plan), *filter(None, ours), *single, ()))
    return [_dead_man(plan), *(_receiver(names, plan) for names in combinations)]


def _receiver(destinations: Sequence[str], plan: Plan) -> Config:
    configs: dict[str, list[Config]] = {}
    for name, section, config in _destinations(plan):
        if name in destinations:
            configs.setdefault(section, []).append(config)
    return {"name": receiver_name(destinations), **configs}


def _dead_man(plan: Plan) -> Config:
    if plan.notify.dead_man is None:
        return {"name": DEAD_MAN}
    config = _webhook(plan.notify.dead_man.webhook, plan) | {"send_resolved": False}
    return {"name": DEAD_MAN, "webhook_configs": [config]}


def _destinations(plan: Plan) -> Iterator[tuple[str, str, Config]]:
    """Every destination with the section it belongs to; made again each time, so that YAML shares nothing."""
    notify = plan.notify
    for robot in notify.robots:
        address = f"{plan.addresses.serve_url}/alertmanager/dingtalk/{robot.name}"
        yield f"dingtalk/{robot.name}", "webhook_configs", _through_serve(address, plan)
    for slack in notify.slacks:
        yield f"slack/{slack.name}", "slack_configs", _slack(slack)
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
    words = "tritonobs.zh" if slack.language == "zh" else "tritonobs"
    return {
        "api_url_file": str(slack.webhook_file),
        **({"channel": slack.channel} if slack.channel else {}),
        "send_resolved": True,
        "color": '{{ template "tritonobs.slack.color" . }}',
        "title": f'{{{{ template "{words}.title" . }}}}',
        "title_link": "{{ .ExternalURL }}",
        "fallback": f'{{{{ template "{words}.title" . }}}}',
        "text": f'{{{{ template "{words}.slack.text" . }}}}',
    }
