"""Faults of processes, and of the monitoring.

Workers and the server are dead or stopped. Scrapes, the daemon or the delivery fail.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime, timedelta, timezone

import psutil

from tritonobs.errors import StackError, TritonobsError
from tritonobs.extensions.lab.drill.drill import Drill, Takes, alert
from tritonobs.extensions.lab.drill.rig import Rig
from tritonobs.extensions.lab.stack import native
from tritonobs.extensions.lab.stack.processes import port_of, wait_for
from tritonobs.programs import free_ports

_WORKER_FIRES, _WORKER_RESOLVES = Takes(fixed=85.0, scaled=15.0), Takes(fixed=40.0)
_SERVER_FIRES, _SERVER_RESOLVES = Takes(fixed=25.0, scaled=30.0), Takes(fixed=35.0)
_CRASHES = 3
_LIFE_SECONDS = 15.0
"""Before 24.11 only counters that fall show a start: so the one before has to answer some requests."""
_SEEN_SECONDS = 60.0


def _worker(rig: Rig, model: str) -> psutil.Process:
    """The process that runs a model's instance."""
    server = rig.part("triton").process()
    for child in server.children(recursive=True) if server else ():
        # One that was killed before stays with its server, dead.
        with suppress(psutil.NoSuchProcess):
            if any(f"/{model}/" in word for word in child.cmdline()):
                return child
    raise StackError(f"{model} has no worker on the stack; start the stack again")


@contextmanager
def _killed_worker(rig: Rig) -> Iterator[None]:
    worker = _worker(rig, "detector")
    try:
        worker.kill()
        yield
    finally:
        rig.load("detector")


@contextmanager
def _hanging_worker(rig: Rig) -> Iterator[None]:
    worker = _worker(rig, "nms")
    try:
        worker.suspend()
        yield
    finally:
        # Not resumed: Triton 24.10 crashed with a worker that went on after a minute.
        worker.kill()
        rig.load("nms")


@contextmanager
def _frozen_server(rig: Rig) -> Iterator[None]:
    server = rig.part("triton").process()
    if server is None:
        raise StackError("tritonserver does not run; start the stack again")
    try:
        server.suspend()
        yield
    finally:
        server.resume()


@contextmanager
def killed_part(rig: Rig, name: str) -> Iterator[None]:
    """Kill a part of the stack; start it again as it was."""
    service, part = native.describe(rig.part(name)), rig.part(name)
    process = part.process()
    if service is None or process is None:
        raise StackError(f"{name} does not run; start the stack again")
    family = [process, *process.children(recursive=True)]
    try:
        for each in family:
            each.kill()
        yield
    finally:
        native.start_again(service, rig.folders)


@contextmanager
def _crashing_server(rig: Rig) -> Iterator[None]:
    enough = threading.Event()

    def seen(health: str) -> None:
        def look() -> bool | None:
            targets = rig.prometheus.targets()
            seen = any(each.url == rig.replica.metrics_url and each.health == health for each in targets)
            return seen or enough.is_set() or None

        wait_for(look, f"Prometheus to see Triton {health}", _SEEN_SECONDS)

    def crash() -> None:
        # What could not be started again in here is started below.
        with suppress(TritonobsError, psutil.Error):
            for _ in range(_CRASHES - 1):
                with killed_part(rig, "triton"):
                    seen("down")
                seen("up")
                if enough.wait(_LIFE_SECONDS):
                    return
            with killed_part(rig, "triton"):
                enough.wait()

    thread = threading.Thread(target=crash, name="crash loop", daemon=True)
    thread.start()
    try:
        yield
    finally:
        enough.set()
        thread.join()
        rig.revive()


_OF_PROCESSES = (
    Drill(
        name="worker-killed",
        breaks="the detector's worker process is killed; Triton starts no other",
        cause=_killed_worker,
        alerts=(alert("TritonWorkerDead", model="detector"),),
        check="dead_worker",
        model="detector",
        fires=_WORKER_FIRES,
        resolves=_WORKER_RESOLVES,
    ),
    Drill(
        name="worker-hangs",
        breaks="the worker of nms is stopped (SIGSTOP)",
        cause=_hanging_worker,
        alerts=(alert("TritonWorkerDead", model="nms"),),
        check="dead_worker",
        model="nms",
        fires=_WORKER_FIRES,
        resolves=_WORKER_RESOLVES,
    ),
    Drill(
        name="server-frozen",
        breaks="tritonserver is stopped (SIGSTOP): connections are accepted, nothing responds",
        cause=_frozen_server,
        alerts=(alert("TritonServerDown"),),
        check="replica_down",
        fires=_SERVER_FIRES,
        resolves=_SERVER_RESOLVES,
    ),
    Drill(
        name="server-killed",
        breaks="tritonserver is killed",
        cause=lambda rig: killed_part(rig, "triton"),
        alerts=(alert("TritonServerDown"),),
        check="replica_down",
        fires=_SERVER_FIRES,
        resolves=_SERVER_RESOLVES,
    ),
    Drill(
        name="restart-loop",
        breaks=f"tritonserver dies {_CRASHES} times in a row, and is not started again after that",
        cause=_crashing_server,
        alerts=(alert("TritonRestartLoop"),),
        check="replica_down",
        fires=Takes(fixed=75.0),
        resolves=Takes(fixed=15.0, scaled=1500.0),
    ),
)


_MINUTES = 30
_ALWAYS = 100_000
_CONFIGURATION = "prometheus.yml"
_PROMISES = "    tier: critical\n"
"""The line of the example fleet under which SLOs of inspect may be added."""


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


def _failing_rule(rig: Rig) -> AbstractContextManager[None]:
    # Several rows on both sides: Prometheus loads such a rule, and cannot evaluate it.
    return _watched_otherwise(
        rig, "rules/alerts.rules.yml", lambda text: text.replace("vector(1) == 1", "up * on () up")
    )


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


def _moment(minutes: int) -> str:
    return (datetime.now(tz=timezone.utc) + timedelta(minutes=minutes)).isoformat()


_OF_MONITORING = (
    Drill(
        name="scrape-loss",
        breaks="Prometheus scrapes a port on which no server listens; Triton serves on",
        cause=_dead_port,
        alerts=(alert("TritonServerDown"),),
        check="scrape_problem",
        fires=Takes(fixed=25.0, scaled=30.0),
        resolves=Takes(fixed=25.0),
    ),
    Drill(
        name="metrics-empty",
        breaks="Prometheus scrapes a path of Triton that has no metrics",
        cause=lambda rig: _watched_otherwise(
            rig,
            _CONFIGURATION,
            lambda text: text.replace("__metrics_path__: /metrics", "__metrics_path__: /stats"),
        ),
        alerts=(alert("TritonMetricsEmpty"),),
        check="scrape_problem",
        fires=Takes(fixed=30.0, scaled=60.0),
        resolves=Takes(fixed=35.0),
    ),
    Drill(
        name="serve-killed",
        breaks="tritonobs serve is killed: no messages, no limits",
        cause=lambda rig: killed_part(rig, "serve"),
        alerts=(alert("TritonobsServeDown"), alert("TritonLimitSourceLost")),
        check="delivery",
        fires=Takes(fixed=30.0, scaled=60.0),
        resolves=Takes(fixed=30.0),
    ),
    Drill(
        name="robot-muted",
        breaks="the chat mutes the robot while a message is to be sent",
        cause=_muted_robot,
        alerts=(alert("TritonobsRobotMuted"),),
        check="delivery",
        fires=Takes(fixed=45.0),
        resolves=Takes(fixed=30.0),
    ),
    Drill(
        name="robot-failing",
        breaks="the chat returns HTTP 500 for every message",
        cause=lambda rig: _robot_fails(rig, "STATUS_500", _ALWAYS),
        alerts=(alert("TritonobsDeliveryFailing"),),
        check="delivery",
        fires=Takes(fixed=60.0, scaled=60.0),
        resolves=Takes(fixed=80.0, scaled=120.0),
    ),
    Drill(
        name="bad-fleet-file",
        breaks="a fleet file with a mistake in it is saved",
        cause=lambda rig: rig.edited(rig.fleet_file, lambda text: f"{text}\nmodles: {{}}\n"),
        alerts=(alert("TritonobsFleetFileInvalid"),),
        check="delivery",
        fires=Takes(fixed=25.0, scaled=30.0),
        resolves=Takes(fixed=25.0),
    ),
    Drill(
        name="sli-missing",
        breaks="the fleet file has an SLO for a stage that no code measures",
        cause=lambda rig: rig.promised(
            _PROMISES, "upload: {objective: 99%, stage: upload, threshold: 500ms}"
        ),
        alerts=(alert("TritonSliMissing", model="inspect", slo="upload"),),
        check="",
        fires=Takes(fixed=30.0, scaled=600.0),
        resolves=Takes(fixed=30.0),
    ),
    Drill(
        name="rules-failing",
        breaks="the rule of the Watchdog is one that Prometheus cannot evaluate",
        cause=_failing_rule,
        alerts=(alert("TritonobsRulesFailing", group="tritonobs.alerts.tritonobs"),),
        check="delivery",
        fires=Takes(fixed=35.0, scaled=60.0),
        resolves=Takes(fixed=15.0, scaled=600.0),
    ),
)

DRILLS = (*_OF_PROCESSES, *_OF_MONITORING)
