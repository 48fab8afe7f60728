"""Alertmanager's configuration (0.25 and newer): who is told, how soon, and what silences what."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any

from tritonobs.plan.receivers import DEAD_MAN
from tritonobs.render.artifact import Artifact, yaml_text
from tritonobs.render.inhibition import inhibit_rules
from tritonobs.render.matchers import matcher
from tritonobs.render.receivers import NOBODY, dead_man, everybody, receiver, receiver_name
from tritonobs.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tritonobs.plan.fleet import Plan
    from tritonobs.plan.notify import Notify
    from tritonobs.plan.receivers import MailServer
    from tritonobs.plan.routes import MuteTime, Route, Span, Timing

    Config = dict[str, Any]

PATH = "alertmanager/alertmanager.yml"
_TEMPLATES = "templates/tritonobs.tmpl"
WATCHDOG, TEST_ALERT = "Watchdog", "TritonobsTest"
_REMINDER_SHARE = 9
_GROUP, _PAGE = ("cluster", "model"), "critical"


def render_alertmanager(plan: Plan) -> tuple[Artifact, ...]:
    """The configuration and its message templates; they name the files secrets are in, never a secret."""
    notify = plan.notify
    fallback = everybody(plan)
    destinations = [fallback, *(route.receivers for route in notify.routes)]
    destinations += [(f"dingtalk/{robot.name}",) for robot in notify.robots]
    receivers = {receiver_name(names): receiver(names, plan) for names in (*destinations, ())}
    config = {
        **({"global": _mail_server(notify.mail_server)} if notify.mail_server else {}),
        "templates": [_TEMPLATES],
        "route": _tree(plan, fallback),
        "inhibit_rules": inhibit_rules(plan),
        **({"time_intervals": [_interval(mute) for mute in notify.mute_times]} if notify.mute_times else {}),
        "receivers": [dead_man(plan), *receivers.values()],
    }
    comment = f"Made by tritonobs from the fleet file of {plan.fleet}; change that one and build anew."
    templates = resources.files("tritonobs.render") / "templates" / "tritonobs.tmpl"
    return (
        Artifact(path=PATH, text=yaml_text(config, comment=comment)),
        Artifact(path=f"alertmanager/{_TEMPLATES}", text=templates.read_text(encoding="utf-8")),
    )


def _tree(plan: Plan, fallback: Sequence[str]) -> Config:
    notify = plan.notify
    usual = next(timing for timing in notify.timings if timing.severity == "warning")
    return {
        "receiver": receiver_name(fallback),
        # Small groups: who waits for news of one model must not wait for another's. serve merges them anyhow.
        "group_by": list(_GROUP),
        **_timing(usual),
        "routes": [
            _watchdog(notify),
            *_tests(notify),
            {"matchers": [matcher("severity", ("none",))], "receiver": NOBODY},
            *(_route(route, notify) for route in notify.routes),
            *_by_severity(notify.timings, ()),
        ],
    }


def _watchdog(notify: Notify) -> Config:
    alone: Config = {"matchers": [matcher("alertname", (WATCHDOG,))], "receiver": DEAD_MAN}
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
            "receiver": receiver_name((f"dingtalk/{robot.name}",)),
            "group_by": ["..."],
            "group_wait": "0s",
        }


def _route(route: Route, notify: Notify) -> Config:
    severities = dict(route.match).get("severity")
    timings = [one for one in notify.timings if severities is None or one.severity in severities]
    return {
        "matchers": [matcher(label, values) for label, values in route.match],
        "receiver": receiver_name(route.receivers),
        **({"continue": True} if route.go_on else {}),
        **({"mute_time_intervals": list(route.mute)} if route.mute else {}),
        "routes": list(_by_severity(timings, route.mute)),
    }


def _by_severity(timings: Iterable[Timing], mute: Sequence[str]) -> Iterator[Config]:
    """Mute times are not inherited by a route's own routes, so that each has them written out."""
    for timing in timings:
        silent = {"mute_time_intervals": list(mute)} if mute else {}
        # A page does not wait for the next tick of another page about the same model.
        alone = {"group_by": [*_GROUP, "alertname"]} if timing.severity == _PAGE else {}
        yield {"matchers": [matcher("severity", (timing.severity,))], **alone, **silent, **_timing(timing)}


def _timing(timing: Timing) -> Config:
    return {
        "group_wait": format_duration(timing.wait_seconds),
        "group_interval": format_duration(timing.interval_seconds),
        "repeat_interval": format_duration(timing.repeat_seconds),
    }


def _interval(mute: MuteTime) -> Config:
    return {"name": mute.name, "time_intervals": [_span(span, mute.timezone) for span in mute.spans]}


def _span(span: Span, timezone: str) -> Config:
    weekdays = {"weekdays": list(span.weekdays)} if span.weekdays else {}
    return {"times": [{"start_time": span.begin, "end_time": span.end}], **weekdays, "location": timezone}


def _mail_server(server: MailServer) -> Config:
    login: Config = {}
    if server.password_file:
        login = {
            "smtp_auth_username": server.username,
            "smtp_auth_password_file": str(server.password_file),
        }
    return {
        "smtp_smarthost": server.smarthost,
        "smtp_from": server.sender,
        "smtp_require_tls": server.require_tls,
        **login,
    }
