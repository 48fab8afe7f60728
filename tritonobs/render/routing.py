"""Alertmanager's routes and receivers for our alerts: which receiver, and how soon.

One receiver for each combination of destinations that a route asks for.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from tritonobs import names
from tritonobs.plan.fleet import Plan
from tritonobs.plan.notify import DEAD_MAN, NO_RECEIVER, OWN, Auth, Notify, Route, Webhook
from tritonobs.units import format_duration

Config = dict[str, Any]

TEST_ALERT = "TritonobsTest"
OURS: Final = 'alertname=~"Triton.+"'
"""Every alert of the rules but the Watchdog, which other rule sets have, too."""
_REMINDER_SHARE = 9
_PAGE = "critical"

# Characters with a meaning in RE2; all others mean themselves.
_META = re.compile(r"([\\.+*?()|\[\]{}^$])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How fast alerts of one severity are sent.

    Alertmanager gives a notification the time of one interval, at least 10 s, before it begins again.
    `tritonobs serve` merges groups, so that short waits do not flood a chat.
    """

    severity: str
    wait_seconds: Decimal
    interval_seconds: Decimal
    repeat_seconds: Decimal


# A page may wait a second for others. A ticket waits three minutes, because no one acts on it at once: by
# then its whole family has fired, and so has a page that makes it superfluous (bench/incidents.py).
TIMINGS: Final = (
    Timing(
        severity="critical",
        wait_seconds=Decimal(1),
        interval_seconds=Decimal(10),
        repeat_seconds=Decimal(14_400),
    ),
    Timing(
        severity="warning",
        wait_seconds=Decimal(180),
        interval_seconds=Decimal(300),
        repeat_seconds=Decimal(43_200),
    ),
    Timing(
        severity="info",
        wait_seconds=Decimal(60),
        interval_seconds=Decimal(300),
        repeat_seconds=Decimal(259_200),
    ),
)


def whole_tree(plan: Plan) -> Config:
    """The root route of an Alertmanager that is ours alone."""
    return {
        **_pace(plan),
        "routes": [_watchdog(plan.notify), *_inner(plan), *_by_severity(TIMINGS, _group(plan))],
    }


def branches(plan: Plan) -> list[Config]:
    """The routes for an Alertmanager that others use, too: they take our alerts and no others.

    Without a receiver of ours, alerts that no route of the fleet file takes are left to the others' routes.
    """
    # A route of theirs for the Watchdog gets it as well: both dead man's switches need it.
    watchdog = [_watchdog(plan.notify) | {"continue": True}] if plan.notify.dead_man else []
    if all_destinations(plan):
        whole = {
            "matchers": [OURS],
            **_pace(plan),
            "routes": [*_inner(plan), *_by_severity(TIMINGS, _group(plan))],
        }
        return [*watchdog, whole]
    return [
        *watchdog,
        *(route | {"matchers": [OURS, *route["matchers"]]} for route in _inner(plan)),
    ]


def _pace(plan: Plan) -> Config:
    usual = next(timing for timing in TIMINGS if timing.severity == "warning")
    return {
        "receiver": receiver_name(all_destinations(plan)),
        # Small groups: an alert of one model must not wait for another's. serve merges them in any case.
        "group_by": list(_group(plan)),
        **_timing(usual),
    }


def _group(plan: Plan) -> tuple[str, ...]:
    return (*plan.cluster_labels, names.MODEL)


def _inner(plan: Plan) -> Iterator[Config]:
    yield from _tests(plan.notify)
    # `none` in rules.severities keeps an alert visible in Prometheus and sends it to no receiver.
    yield {"matchers": [matcher("severity", ("none",))], "receiver": NO_RECEIVER}
    for route in plan.notify.routes:
        yield from _route(route, _group(plan))


def _watchdog(notify: Notify) -> Config:
    alone: Config = {"matchers": [matcher("alertname", (names.WATCHDOG,))], "receiver": DEAD_MAN}
    if notify.dead_man is None:
        return alone
    every = notify.dead_man.every_seconds
    # A reminder is due at the first tick after its time: with a share less, that is the very next one.
    reminder = every * _REMINDER_SHARE / 10
    return alone | {
        "group_wait": "0s",
        "group_interval": format_duration(every),
        "repeat_interval": format_duration(reminder),
    }


def _tests(notify: Notify) -> Iterator[Config]:
    """Test alerts go to the robot they name, at once and nowhere else."""
    for robot in notify.robots:
        yield {
            "matchers": [matcher("alertname", (TEST_ALERT,)), matcher("robot", (robot.name,))],
            "receiver": receiver_name((robot.receiver,)),
            # Alertmanager's word for all labels: a test waits for no group.
            "group_by": ["..."],
            "group_wait": "0s",
        }


def _route(route: Route, group: tuple[str, ...]) -> Iterator[Config]:
    """One route for all receivers of ours together, and one for each of the user's own."""
    severities = dict(route.match).get("severity")
    timings = [one for one in TIMINGS if severities is None or one.severity in severities]
    ours = tuple(name for name in route.receivers if not name.startswith(OWN))
    others = [name.removeprefix(OWN) for name in route.receivers if name.startswith(OWN)]
    receivers = [*([receiver_name(ours)] if ours else []), *others]
    for place, receiver in enumerate(receivers, start=1):
        goes_on = route.continues or place < len(receivers)
        yield {
            "matchers": [matcher(label, values) for label, values in route.match],
            "receiver": receiver,
            **({"continue": True} if goes_on else {}),
            "routes": list(_by_severity(timings, group)),
        }


def _by_severity(timings: Iterable[Timing], group: tuple[str, ...]) -> Iterator[Config]:
    for timing in timings:
        # A page does not wait for the next tick of another page about the same model.
        alone = {"group_by": [*group, "alertname"]} if timing.severity == _PAGE else {}
        yield {"matchers": [matcher("severity", (timing.severity,))], **alone, **_timing(timing)}


def _timing(timing: Timing) -> Config:
    return {
        "group_wait": format_duration(timing.wait_seconds),
        "group_interval": format_duration(timing.interval_seconds),
        "repeat_interval": format_duration(timing.repeat_seconds),
    }


def all_destinations(plan: Plan) -> tuple[str, ...]:
    """Every destination, except robots that only replace others."""
    notify = plan.notify
    stand_ins = {name for robot in notify.robots for name in robot.failover}
    return (
        *(robot.receiver for robot in notify.robots if robot.name not in stand_ins),
        *(channel.receiver for channel in notify.channels),
        *(f"webhook/{webhook.name}" for webhook in notify.webhooks),
    )


def receiver_name(destinations: Sequence[str]) -> str:
    """The receiver that sends to all of them."""
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
        address = f"{plan.addresses.serve_url}/alertmanager/{robot.receiver}"
        yield robot.receiver, "webhook_configs", _through_serve(address, plan)
    for channel in notify.channels:
        yield channel.receiver, channel.section, copy.deepcopy(dict(channel.config))
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


def matcher(label: str, values: Iterable[str]) -> str:
    """`label` has one of the values, of any characters."""
    several = tuple(values)
    if len(several) == 1:
        return f"{label}={quoted(several[0])}"
    pattern = "|".join(_META.sub(r"\\\1", value) for value in several)
    return f"{label}=~{quoted(pattern)}"


def quoted(text: str) -> str:
    """In double quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
