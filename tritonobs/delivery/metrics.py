"""The metrics of serve itself, in a separate registry: a process may run two daemons."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

from tritonobs import __version__, names
from tritonobs.delivery.payload import Alert

# 0.5 s is what every call waits to be grouped, 30 s the longest that one is held (`commit.Pace`).
_WAIT_BOUNDS = (0.5, 1, 2, 3, 5, 10, 20, 30, 60)
_MOST_CODES = 40


class DeliveryMetrics:
    """Counters and gauges of deliveries; every robot's exist from its first mention on, at zero."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        # The same names as Prometheus and Alertmanager give theirs: the delivery board compares the three.
        ProcessCollector(registry=self.registry)
        counter = partial(Counter, registry=self.registry)
        gauge = partial(Gauge, registry=self.registry)
        robot = (names.ROBOT,)
        self._calls = counter(names.DELIVERY_CALLS, "Webhook calls by answer.", (*robot, "answer"))
        self._alerts = counter(
            names.DELIVERY_ALERTS, "Alerts named in accepted messages.", (*robot, "status")
        )
        self._messages = counter(names.DELIVERY_MESSAGES, "Messages the robot accepted.", robot)
        self._errors = counter(
            names.DELIVERY_ERRORS, "Messages not accepted, by the chat's code or trouble.", (*robot, "code")
        )
        self._mutes = counter(names.ROBOT_MUTES, "Times the chat muted the robot.", robot)
        self._refused = counter(
            names.DELIVERY_REFUSED, "Webhook calls answered 4xx, which Alertmanager drops.", ("reason",)
        )
        self._relayed = counter(
            names.RELAYED_CALLS, "Calls passed on to webhooks with secret addresses.", ("webhook", "answer")
        )
        self._wait = Histogram(
            names.DELIVERY_WAIT,
            "Seconds from a call's arrival to its response.",
            robot,
            registry=self.registry,
            buckets=_WAIT_BOUNDS,
        )
        self.waiting = gauge(names.DELIVERY_WAITING, "Webhook calls in flight.", robot)
        self.budget = gauge(names.ROBOT_BUDGET, "Messages the robot may still send in this minute.", robot)
        self.mute = gauge(names.ROBOT_MUTED, "1 while the chat mutes the robot.", robot)
        self._info = gauge(names.ROBOT_INFO, "1; the label says which chat it is in.", (*robot, "chat"))
        self._chats: dict[str, str] = {}
        self.generation = gauge(names.CONFIG_GENERATION, "Fleet files loaded since the start.")
        self.valid = gauge(names.CONFIG_VALID, "1 when the current fleet file is in use.")
        self.loaded = gauge(names.CONFIG_LOADED, "When the fleet file in use was loaded.")
        self._unshown = counter(
            names.UNSHOWN_ALERTS,
            "Alerts of which only the name could be shown, by what is wrong with them.",
            robot,
        )
        self._dropped = counter(
            names.CONNECTIONS_DROPPED, "Connections closed before the request was complete.", ("reason",)
        )
        self.evidence = counter(
            names.EVIDENCE_QUERIES, "Prometheus queries made for messages, by outcome.", ("outcome",)
        )
        gauge(names.BUILD_INFO, "1; the version is in the label.", ("version",)).labels(__version__).set(1)
        self._codes: set[str] = set()

    def known(self, robot: str, chat: str) -> None:
        """Let the robot's series begin at zero, so that a first failure is an increase."""
        self._forget_chat(robot)
        self._chats[robot] = chat
        self._info.labels(robot, chat).set(1)
        for answer in ("accepted", "come_again"):
            self._calls.labels(robot, answer)
        for status in ("firing", "resolved"):
            self._alerts.labels(robot, status)
        self._messages.labels(robot)
        self._unshown.labels(robot)
        self._mutes.labels(robot)
        self._wait.labels(robot)

    def forget(self, robot: str) -> None:
        """Remove the gauges of a robot that is gone: its chat, that it is muted, that calls wait."""
        self._forget_chat(robot)
        for gauge in (self.waiting, self.budget, self.mute):
            with contextlib.suppress(KeyError):
                gauge.remove(robot)

    def _forget_chat(self, robot: str) -> None:
        chat = self._chats.pop(robot, "")
        if chat:
            self._info.remove(robot, chat)

    def answered(self, robot: str, *, accepted: bool, seconds: float) -> None:
        """One call has its answer."""
        self._calls.labels(robot, "accepted" if accepted else "come_again").inc()
        self._wait.labels(robot).observe(seconds)

    def named(self, robot: str, alerts: Iterable[Alert]) -> None:
        """These alerts are in accepted messages."""
        for alert in alerts:
            self._alerts.labels(robot, alert.status).inc()

    def accepted(self, robot: str) -> None:
        """The robot accepted a message."""
        self._messages.labels(robot).inc()

    def failed(self, robot: str, code: str) -> None:
        """The robot did not accept a message. Codes come from outside: after 40 the rest is `other`."""
        if len(self._codes) >= _MOST_CODES and code not in self._codes:
            code = "other"
        self._codes.add(code)
        self._errors.labels(robot, code).inc()

    def muted(self, robot: str) -> None:
        """The chat muted the robot."""
        self._mutes.labels(robot).inc()

    def relayed(self, webhook: str, *, passed: bool) -> None:
        """A call was passed on to a webhook, or could not be."""
        self._relayed.labels(webhook, "passed" if passed else "come_again").inc()

    def unshown(self, robot: str) -> None:
        """An alert was shown by its name only."""
        self._unshown.labels(robot).inc()

    def dropped(self, reason: str) -> None:
        """A connection was closed: its request did not arrive in time, or too many were open."""
        self._dropped.labels(reason).inc()

    def refused(self, reason: str) -> None:
        """A call was answered 4xx."""
        self._refused.labels(reason).inc()
