"""Alertmanager's configuration (0.25 and newer): ours alone, or merged into the user's own.

A fragment is written beside it, for an Alertmanager whose configuration is kept elsewhere. Inhibitions say
which alerts make which others superfluous.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final

from tritonobs import names
from tritonobs.plan.fleet import Plan
from tritonobs.plan.notify import DEAD_MAN, NO_RECEIVER, OWN, Auth, Notify, Route, Webhook
from tritonobs.render.artifact import Artifact, yaml_text
from tritonobs.spec.notify import OwnAlertmanager
from tritonobs.units import format_duration, literal

Config = dict[str, Any]
PATH = "alertmanager/alertmanager.yml"
FRAGMENT = "alertmanager/fragment.yml"
_TEMPLATES = "templates/tritonobs.tmpl"

_SUBJECT = ("cluster", "model", "version")
_LIMITS = ("TritonQpsNearLimit", "TritonQpsWillExceedLimit", "TritonQpsSpike")
_PAGES = ("TritonErrorBudgetBurnFast", "TritonErrorBudgetBurnMedium")
_BURNS = tuple(f"TritonErrorBudgetBurn{tier}" for tier in ("Fast", "Medium", "Slow", "Long"))


def render_alertmanager(plan: Plan) -> tuple[Artifact, ...]:
    """The configuration, the fragment and the message templates; no secret is read for them."""
    own = plan.notify.alertmanager
    config = _merged(plan, own) if own else {**fragment(plan), "route": whole_tree(plan)}
    source = " and notify.alertmanager_file" if own else ""
    comment = f"Made by tritonobs from the fleet file of {plan.fleet}{source}; change those and build again."
    how = (
        f"Made by tritonobs from the fleet file of {plan.fleet}. For an Alertmanager that is configured "
        "elsewhere: add each list to the list of the same name there, our routes first, and copy the template"
    )
    templates = resources.files("tritonobs.render") / "templates" / "tritonobs.tmpl"
    return (
        Artifact(path=PATH, text=yaml_text(config, comment=comment)),
        Artifact(path=FRAGMENT, text=yaml_text(fragment(plan), comment=how)),
        Artifact(path=f"alertmanager/{_TEMPLATES}", text=templates.read_text(encoding="utf-8")),
    )


def fragment(plan: Plan) -> Config:
    """Ours, as lists to add to those of another configuration."""
    return {
        "templates": [_TEMPLATES],
        "route": {"routes": branches(plan)},
        "inhibit_rules": inhibit_rules(plan),
        "receivers": receivers(plan),
    }


def _merged(plan: Plan, own: OwnAlertmanager) -> Config:
    """The user's configuration with our routes before theirs, so that none of theirs takes our alerts.

    Their routes to receivers of ours stay first: that is how they mute or delay our alerts.
    """
    config: Config = _absolute(copy.deepcopy(dict(own.config)), own.folder)
    ours = fragment(plan)
    config["templates"] = [*config.get("templates", []), *ours["templates"]]
    config["inhibit_rules"] = [*config.get("inhibit_rules", []), *ours["inhibit_rules"]]
    config["receivers"] = [*config.get("receivers", []), *ours["receivers"]]
    names = {receiver["name"] for receiver in ours["receivers"]}
    routes = config["route"].get("routes", [])
    first = [route for route in routes if route.get("receiver") in names]
    rest = [route for route in routes if route.get("receiver") not in names]
    config["route"]["routes"] = [*first, *ours["route"]["routes"], *rest]
    return config


def _absolute(value: Any, folder: Path, key: str = "") -> Any:  # noqa: ANN401 (any YAML value)
    """The value with every path absolute: what is written moves to another folder."""
    if isinstance(value, dict):
        return {name: _absolute(below, folder, str(name)) for name, below in value.items()}
    if isinstance(value, list):
        return [_absolute(below, folder, key) for below in value]
    if isinstance(value, str) and (key == "templates" or key.endswith("_file")):
        return str(folder / value)
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Superfluous:
    """While one of `causes` fires, `effects` with the same `equal` labels are not sent.

    An effect that outlives its cause is sent when the cause is over, as if something new had happened:
    entries of the table end with their cause, or must be known after it (`bench/incidents.py`). With
    `cause_slo` and `effect_reason` only alerts about that SLO and that reason are meant.
    """

    causes: tuple[str, ...]
    effects: tuple[str, ...]
    equal: tuple[str, ...]
    cause_slo: str = ""
    effect_reason: str = ""


TABLE: Final = (
    # A server that is down explains what its own models, workers and pages seem to lack.
    Superfluous(
        causes=("TritonServerDown",),
        effects=(
            "TritonMetricsEmpty",
            "TritonRestartLoop",
            "TritonReplicaSlow",
            "TritonWorkerDead",
            "TritonModelReloaded",
            "TritonStageMetricsFailing",
            "TritonHostMemoryPressure",
        ),
        equal=("cluster", names.REPLICA),
    ),
    # On an empty page every model is missing.
    Superfluous(
        causes=("TritonMetricsEmpty",), effects=("TritonModelMissing",), equal=("cluster", names.REPLICA)
    ),
    Superfluous(
        causes=("TritonModelUnloaded",),
        effects=("TritonSliMissing", "TritonVersionNotLoaded"),
        equal=_SUBJECT,
    ),
    Superfluous(
        causes=("TritonModelUnloaded",), effects=("TritonTrafficStopped",), equal=("cluster", "model")
    ),
    Superfluous(causes=("TritonTrafficStopped",), effects=("TritonTrafficDrop",), equal=("cluster", "model")),
    # Above the limit is more than near it, and no forecast.
    Superfluous(causes=("TritonQpsAboveLimit",), effects=_LIMITS, equal=_SUBJECT),
    Superfluous(causes=("TritonTokensAboveLimit",), effects=("TritonTokensNearLimit",), equal=_SUBJECT),
    # For one SLO, the fastest burn is enough.
    *(
        Superfluous(causes=(fast,), effects=_BURNS[place + 1 :], equal=(*_SUBJECT, names.SLO))
        for place, fast in enumerate(_BURNS[:-1])
    ),
    # Errors that spend the budget at the rate of a page: why is in the page.
    Superfluous(
        causes=_PAGES,
        cause_slo="availability",
        effects=("TritonErrorReasonSurge",),
        equal=("cluster", "model"),
    ),
    # A dead worker fails what it gets; Triton counts that for the backend.
    Superfluous(
        causes=("TritonWorkerDead",),
        effects=("TritonErrorReasonSurge",),
        equal=_SUBJECT,
        effect_reason="BACKEND",
    ),
    # All model instances busy means that requests wait.
    Superfluous(causes=("TritonSaturated",), effects=("TritonQueueWaitHigh",), equal=_SUBJECT),
    Superfluous(causes=("TritonobsServeDown",), effects=("TritonLimitSourceLost",), equal=("cluster",)),
)
# More requests to a pipeline are more requests to its members. All other alerts of a member (that it is
# saturated, that requests wait, that it fails) may be the cause of its pipeline's, and are sent. One short
# pattern, because a fleet may have hundreds of pipelines.
_FELT_BY_MEMBERS: Final = 'alertname=~"TritonQps.+"'


def inhibit_rules(plan: Plan) -> list[dict[str, Any]]:
    """The rules; none mutes an alert by itself, none mutes an alert about something else."""
    return [*_table(plan), *_pipelines(plan)]


def _table(plan: Plan) -> Iterator[dict[str, Any]]:
    own = {names.CLUSTER: plan.rules.cluster_label, names.REPLICA: plan.rules.replica_label}
    for one in TABLE:
        yield {
            "source_matchers": list(_about(one.causes, {names.SLO: one.cause_slo})),
            "target_matchers": list(_about(one.effects, {names.REASON: one.effect_reason})),
            "equal": [label for name in one.equal if (label := own.get(name, name))],
        }


def _about(alerts: tuple[str, ...], labels: Mapping[str, str]) -> Iterator[str]:
    yield matcher("alertname", alerts)
    yield from (matcher(label, (value,)) for label, value in labels.items() if value)


def _pipelines(plan: Plan) -> Iterator[dict[str, Any]]:
    """A page about too many requests to a pipeline is enough: its members need no page of their own."""
    callers: dict[tuple[str, ...], list[str]] = {}
    for model in plan.models:
        members = tuple(dict.fromkeys(call.model for call in model.calls))
        if members:
            callers.setdefault(members, []).append(model.name)
    for members, pipelines in callers.items():
        yield {
            "source_matchers": [
                matcher("alertname", ("TritonQpsAboveLimit",)),
                matcher(names.MODEL, tuple(pipelines)),
            ],
            "target_matchers": [_FELT_BY_MEMBERS, matcher(names.MODEL, members)],
            "equal": list(plan.cluster_labels),
        }


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
    wait_seconds: int
    interval_seconds: int
    repeat_seconds: int


# A page may wait a second for others. A ticket waits three minutes, because no one acts on it at once: by
# then its whole family has fired, and so has a page that makes it superfluous (bench/incidents.py).
TIMINGS: Final = (
    Timing(severity="critical", wait_seconds=1, interval_seconds=10, repeat_seconds=14_400),
    Timing(severity="warning", wait_seconds=180, interval_seconds=300, repeat_seconds=43_200),
    Timing(severity="info", wait_seconds=60, interval_seconds=300, repeat_seconds=259_200),
)


def whole_tree(plan: Plan) -> Config:
    """The root route of an Alertmanager that is ours alone."""
    whole = _whole(plan)
    return {**whole, "routes": [_watchdog(plan.notify), *whole["routes"]]}


def branches(plan: Plan) -> list[Config]:
    """The routes for an Alertmanager that others use, too: they take our alerts and no others.

    Without a receiver of ours, alerts that no route of the fleet file takes are left to the others' routes.
    """
    # A route of theirs for the Watchdog gets it as well: both dead man's switches need it.
    watchdog = [_watchdog(plan.notify) | {"continue": True}] if plan.notify.dead_man else []
    if all_destinations(plan):
        return [*watchdog, {"matchers": [OURS], **_whole(plan)}]
    return [
        *watchdog,
        *(route | {"matchers": [OURS, *route["matchers"]]} for route in _inner(plan)),
    ]


def _whole(plan: Plan) -> Config:
    """The route of all our alerts but the Watchdog, to every destination."""
    usual = next(timing for timing in TIMINGS if timing.severity == "warning")
    return {
        "receiver": receiver_name(all_destinations(plan)),
        # Small groups: an alert of one model must not wait for another's. serve merges them in any case.
        "group_by": list(_group(plan)),
        **_timing(usual),
        "routes": [*_inner(plan), *_by_severity(TIMINGS, _group(plan))],
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
    severities = route.match.get("severity")
    timings = [one for one in TIMINGS if severities is None or one.severity in severities]
    ours = tuple(name for name in route.to if not name.startswith(OWN))
    others = [name.removeprefix(OWN) for name in route.to if name.startswith(OWN)]
    receivers = [*([receiver_name(ours)] if ours else []), *others]
    for place, receiver in enumerate(receivers, start=1):
        goes_on = route.continue_ or place < len(receivers)
        yield {
            "matchers": [matcher(label, values) for label, values in route.match.items()],
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
    written = (route.to for route in plan.notify.routes)
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
        return f"{label}={literal(several[0])}"
    pattern = "|".join(_META.sub(r"\\\1", value) for value in several)
    return f"{label}=~{literal(pattern)}"
