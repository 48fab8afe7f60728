"""What the `notify:` section says that cannot be meant: names nobody has, fields this Alertmanager lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs.spec.words import listed, nearest, quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from tritonobs.findings import Finding
    from tritonobs.spec.notify import NotifySpec
    from tritonobs.spec.schema import Spec
    from tritonobs.spec.source import Step

WECOM_FILE_SINCE = (0, 31)
"""Alertmanager before it takes a WeCom secret only in its configuration, where we write none."""


def notify_findings(spec: Spec) -> Iterator[Finding]:
    """Every finding about it."""
    notify = spec.notify
    receivers = receiver_names(notify)
    for index, route in enumerate(notify.routes):
        at: tuple[Step, ...] = ("notify", "routes", index)
        for position, receiver in enumerate(route.to):
            yield from _known(spec, (*at, "to", position), receiver, receivers, "receiver")
        for position, mute in enumerate(route.mute):
            yield from _known(spec, (*at, "mute", position), mute, notify.mute_times, "mute time")
    for name, robot in notify.dingtalk.items():
        others = [other for other in notify.dingtalk if other != name]
        for position, other in enumerate(robot.failover):
            yield from _known(
                spec, ("notify", "dingtalk", name, "failover", position), other, others, "other robot"
            )
    if notify.email and notify.mail_server is None:
        yield spec.source.finding(("notify", "email"), "needs notify.mail_server, which is missing", key=True)
    yield from _wecom(spec)


def receiver_names(notify: NotifySpec) -> list[str]:
    """`dingtalk/oncall` and the like, for every receiver there is."""
    kinds = ("dingtalk", "slack", "email", "wecom", "webhook")
    return [f"{kind}/{name}" for kind in kinds for name in getattr(notify, kind)]


def _known(
    spec: Spec, path: tuple[Step, ...], name: str, allowed: Collection[str], what: str
) -> Iterator[Finding]:
    if name not in allowed:
        message = f"found {quoted(name)}, which is no {what}; allowed are {listed(tuple(allowed))}"
        yield spec.source.finding(path, message, hint=nearest(name, tuple(allowed)))


def _wecom(spec: Spec) -> Iterator[Finding]:
    given = tuple(int(part) for part in spec.notify.alertmanager_version.split("."))
    if spec.notify.wecom and given < WECOM_FILE_SINCE:
        since = ".".join(map(str, WECOM_FILE_SINCE))
        message = f"needs Alertmanager {since}, the first to read WeCom's secret from a file"
        hint = f'with one that new, write alertmanager_version: "{since}"'
        yield spec.source.finding(("notify", "wecom"), message, hint=hint, key=True)
