"""What the `notify:` section says that is wrong: names that do not exist or exist twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs.plan.receivers import DEAD_MAN, NO_RECEIVER, OWN
from tritonobs.spec.words import listed, quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from tritonobs.findings import Finding
    from tritonobs.spec.notify import NotifySpec
    from tritonobs.spec.schema import Spec
    from tritonobs.spec.source import Step


def notify_findings(spec: Spec) -> Iterator[Finding]:
    """Every finding about it."""
    notify = spec.notify
    own = spec.own_alertmanager.receivers if spec.own_alertmanager else ()
    receivers = dict.fromkeys((*receiver_names(notify), *(f"{OWN}{name}" for name in own)))
    for index, route in enumerate(notify.routes):
        at: tuple[Step, ...] = ("notify", "routes", index)
        for position, receiver in enumerate(route.to):
            yield from _known(spec, (*at, "to", position), receiver, receivers, "a receiver")
    for name, robot in notify.dingtalk.items():
        others = [other for other in notify.dingtalk if other != name]
        for position, other in enumerate(robot.failover):
            yield from _known(
                spec, ("notify", "dingtalk", name, "failover", position), other, others, "another robot"
            )
    yield from _clashes(spec)


def receiver_names(notify: NotifySpec) -> list[str]:
    """`dingtalk/oncall` and the like, for every receiver there is."""
    kinds = ("dingtalk", "slack", "webhook")
    return [f"{kind}/{name}" for kind in kinds for name in getattr(notify, kind)]


def _known(
    spec: Spec, path: tuple[Step, ...], name: str, allowed: Collection[str], what: str
) -> Iterator[Finding]:
    if name not in allowed:
        message = f"found {quoted(name)}, which is not {what}; allowed are {listed(allowed)}"
        yield spec.source.finding(path, message, hint=spec.source.guess(name, allowed))


def _clashes(spec: Spec) -> Iterator[Finding]:
    own = spec.own_alertmanager.receivers if spec.own_alertmanager else ()
    ours = {*receiver_names(spec.notify), NO_RECEIVER, DEAD_MAN}
    for name in own:
        if name in ours:
            message = f"has a receiver {quoted(name)}, which is the name of one of ours; rename it"
            yield spec.source.finding(("notify", "alertmanager_file"), message)
