"""Faults of the monitoring: scrapes, the daemon, delivery."""

from __future__ import annotations

import re
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from tritonobs.lab.drill.drill import Alert, Drill, Takes
from tritonobs.lab.drill.servers import killed_part
from tritonobs.lab.stack.ports import free_ports, port_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from tritonobs.lab.drill.rig import Rig

_MINUTES = 30
_ALWAYS = 100_000
_CONFIGURATION = "prometheus.yml"
_PROMISES = "    tier: critical\n"
"""The line of the example fleet under which promises of inspect may stand."""


@contextmanager
def _watched_otherwise(rig: Rig, file: str, change: Callable[[str], str]) -> Iterator[None]:
    """Another configuration, or other rules, of Prometheus."""
    try:
        with rig.edited(rig.folders.built / "prometheus" / file, change):
            rig.prometheus.reload()
            yield
    finally:
        rig.prometheus.reload()


def _dead_port(rig: Rig) -> AbstractContextManager[None]:
    port, dead = port_of(rig.replica.metrics_url), free_ports(1)[0]
    return _watched_otherwise(rig, _CONFIGURATION, lambda text: re.sub(rf":{port}\b", f":{dead}", text))


def _empty_page(rig: Rig) -> AbstractContextManager[None]:
    return _watched_otherwise(
        rig,
        _CONFIGURATION,
        lambda text: text.replace("__metrics_path__: /metrics", "__metrics_path__: /stats"),
    )


def _failing_rule(rig: Rig) -> AbstractContextManager[None]:
    # Several rows on both sides: Prometheus loads such a rule, and cannot evaluate it.
    return _watched_otherwise(
        rig, "rules/alerts.rules.yml", lambda text: text.replace("vector(1) == 1", "up * on () up")
    )


def _no_serve(rig: Rig) -> AbstractContextManager[None]:
    return killed_part(rig, "serve")


def _bad_fleet_file(rig: Rig) -> AbstractContextManager[None]:
    return rig.edited(rig.fleet_file, lambda text: f"{text}\nmodles: {{}}\n")


def _unmeasured_promise(rig: Rig) -> AbstractContextManager[None]:
    return rig.promised(_PROMISES, "upload: {objective: 99%, stage: upload, threshold: 500ms}")


@contextmanager
def _robot_fails(rig: Rig, fault: str, times: int) -> Iterator[None]:
    """The robot fails while a message is to be delivered."""
    labels = {"alertname": "TritonobsRehearsal", "severity": "critical", "rehearsal": fault}
    said, begins_at = {"summary": "A rehearsal."}, _moment(0)
    try:
        rig.robot.post_json("/faults", {"fault": fault, "times": times}).required()
        rig.alertmanager.raise_alert(labels, said, begins_at=begins_at, ends_at=_moment(_MINUTES))
        yield
    finally:
        rig.robot.delete("/faults").required()
        rig.alertmanager.raise_alert(labels, said, begins_at=begins_at, ends_at=_moment(0))


@contextmanager
def _muted_robot(rig: Rig) -> Iterator[None]:
    try:
        with _robot_fails(rig, "MUTE", 1):
            yield
    finally:
        # It stays silent for the vendor's ten minutes; a new process knows nothing of them.
        with killed_part(rig, "serve"):
            pass


def _failing_robot(rig: Rig) -> AbstractContextManager[None]:
    return _robot_fails(rig, "STATUS_500", _ALWAYS)


def _moment(minutes: int) -> str:
    return (datetime.now(tz=timezone.utc) + timedelta(minutes=minutes)).isoformat()


DRILLS = (
    Drill(
        name="scrape-loss",
        breaks="Prometheus scrapes a port where no server answers; Triton serves on",
        cause=_dead_port,
        alerts=(Alert(name="TritonServerDown"),),
        check="scrape_problem",
        fires=Takes(fixed=25.0, scaled=30.0),
        resolves=Takes(fixed=25.0),
    ),
    Drill(
        name="metrics-empty",
        breaks="Prometheus scrapes a path of Triton that has no metrics",
        cause=_empty_page,
        alerts=(Alert(name="TritonMetricsEmpty"),),
        check="scrape_problem",
        fires=Takes(fixed=30.0, scaled=60.0),
        resolves=Takes(fixed=35.0),
    ),
    Drill(
        name="serve-killed",
        breaks="tritonobs serve is killed: no messages, no limits",
        cause=_no_serve,
        alerts=(Alert(name="TritonobsServeDown"), Alert(name="TritonLimitSourceLost")),
        check="delivery",
        fires=Takes(fixed=30.0, scaled=60.0),
        resolves=Takes(fixed=30.0),
    ),
    Drill(
        name="robot-muted",
        breaks="DingTalk mutes the robot while a message is to be sent",
        cause=_muted_robot,
        alerts=(Alert(name="TritonobsRobotMuted"),),
        check="delivery",
        fires=Takes(fixed=45.0),
        resolves=Takes(fixed=30.0),
    ),
    Drill(
        name="robot-failing",
        breaks="DingTalk answers every message with HTTP 500",
        cause=_failing_robot,
        alerts=(Alert(name="TritonobsDeliveryFailing"),),
        check="delivery",
        fires=Takes(fixed=60.0, scaled=60.0),
        resolves=Takes(fixed=80.0, scaled=120.0),
    ),
    Drill(
        name="bad-fleet-file",
        breaks="a fleet file with a mistake in it is saved",
        cause=_bad_fleet_file,
        alerts=(Alert(name="TritonobsFleetFileInvalid"),),
        check="delivery",
        fires=Takes(fixed=25.0, scaled=30.0),
        resolves=Takes(fixed=25.0),
    ),
    Drill(
        name="sli-missing",
        breaks="the fleet file promises an SLO for a stage that no code measures",
        cause=_unmeasured_promise,
        alerts=(Alert(name="TritonSliMissing", labels={"model": "inspect", "slo": "upload"}),),
        check="",
        fires=Takes(fixed=30.0, scaled=600.0),
        resolves=Takes(fixed=30.0),
    ),
    Drill(
        name="rules-failing",
        breaks="the rule of the Watchdog is one that Prometheus cannot evaluate",
        cause=_failing_rule,
        alerts=(Alert(name="TritonobsRulesFailing", labels={"group": "tritonobs.alerts.tritonobs"}),),
        check="delivery",
        fires=Takes(fixed=35.0, scaled=60.0),
        resolves=Takes(fixed=15.0, scaled=600.0),
    ),
)
