"""The rig of serve's soak: callers as Alertmanager is one, and everything that happens to serve meanwhile."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import psutil
import requests

from tritonobs.extensions.lab.robot import Fault, RobotDouble

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hours_seen import Seen

    from support.kubernetes import KubernetesDouble
    from support.programs import ServeProgram

ROBOTS = ("day", "night")
BURST_SECONDS, REST_SECONDS = 10.0, 60.0
CALLS, ALERTS = 5, 25
"""In each burst: calls for each robot, and alerts in each; the ends of an earlier burst's come with them."""
LOOK_SECONDS = 5.0
FULL_SECONDS = 100.0
"""Long enough for more lines of the log than fit into what is left of its last page."""
PATIENCE_SECONDS = 600.0
FAULTS = (Fault.STATUS_500, Fault.RESET, Fault.GARBAGE, Fault.BUSY, Fault.LOST_ANSWER, Fault.TIMEOUT)
QPS = "tritonobs.dev/max-qps"
FLEET = """\
fleet: soak
replicas: [{{name: a, url: "http://10.0.0.1:8000"}}]
addresses: {{prometheus: "http://127.0.0.1:1"}}
models: {{inspect: {{qps_limit: {limit}, versions: {{"1": {{}}}}}}, nms: {{versions: {{"1": {{}}}}}}}}
kubernetes: {{api: "{api}", token_file: token}}
notify: {{dingtalk: {{{robots}}}}}
"""


@dataclass(kw_only=True)
class Soak:
    """The rig and what it saw. `accepted` are the alerts whose delivery was confirmed to the caller."""

    folder: Path
    serve: ServeProgram
    robots: dict[str, RobotDouble]
    cluster: KubernetesDouble
    disk: Path | None
    accepted: set[tuple[str, str, str]] = field(default_factory=set)
    began: dict[int, str] = field(default_factory=dict)
    sent: set[tuple[str, str, str]] = field(default_factory=set)
    memory: list[tuple[float, int, int]] = field(default_factory=list)
    down: Counter[str] = field(default_factory=Counter)
    unhealthy: int = 0
    looks: int = 0
    limit: int = 0
    annotated: list[str] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)
    seen: Seen | None = None

    def write_fleet(self) -> None:
        """Another limit; in place of the file, as editors and mounts do."""
        self.limit += 1
        robots = ", ".join(
            f"{name}: {{webhook_file: {name}-webhook, secret_file: {name}-secret}}" for name in ROBOTS
        )
        new = self.folder / "new.yaml"
        new.write_text(FLEET.format(limit=self.limit, api=self.cluster.url, robots=robots), encoding="utf-8")
        new.replace(self.folder / "fleet.yaml")


def caller(soak: Soak, robot: str, number: int, *, resolved: bool) -> None:
    """One group's call, until it is accepted; then, a minute later, the end of its alerts."""
    began = soak.began.setdefault(number, datetime.now(timezone.utc).isoformat())
    state = "resolved" if resolved else "firing"
    models = [f"m{number + at:07}" for at in range(ALERTS)]
    alerts = [
        {
            "status": state,
            "labels": {"alertname": "Soak", "severity": "warning", "model": model},
            "startsAt": began,
            "fingerprint": model,
        }
        for model in models
    ]
    news = {(robot, model, state) for model in models}
    soak.sent |= news
    pause = 1.0
    while not soak.ended.is_set():
        with suppress(requests.RequestException):
            answer = requests.post(
                f"{soak.serve.url}/alertmanager/dingtalk/{robot}",
                data=json.dumps({"version": "4", "groupKey": models[0], "alerts": alerts}),
                headers={"Content-Type": "application/json"},
                timeout=60,
            )
            if answer.status_code == requests.codes.ok:
                soak.accepted |= news
                return
        soak.ended.wait(pause)
        pause = min(pause * 1.5, 10.0)


def traffic(soak: Soak, until: float, every_seconds: float, calls: int) -> None:
    """Bursts; each of 25 alerts in a call, and the ends of the burst a minute before."""
    numbers = 0
    past: list[tuple[float, str, int]] = []
    with ThreadPoolExecutor(max_workers=256) as pool:
        while time.monotonic() < until or past:
            burst = time.monotonic()
            if burst < until:
                for robot in ROBOTS:
                    for _ in range(calls):
                        pool.submit(caller, soak, robot, numbers, resolved=False)
                        past.append((burst + REST_SECONDS, robot, numbers))
                        numbers += ALERTS
            # As Alertmanager does: the end of an alert that was never sent is not news.
            due = [
                one
                for one in past
                if one[0] <= burst and (one[1], f"m{one[2]:07}", "firing") in soak.accepted
            ]
            for one in due:
                past.remove(one)
                pool.submit(caller, soak, one[1], one[2], resolved=True)
            if burst > until + PATIENCE_SECONDS:
                soak.ended.set()
                return
            time.sleep(max(0.0, burst + every_seconds - time.monotonic()))


def rewrite(soak: Soak, until: float) -> None:
    """The fleet file every ten seconds, an annotation every twenty."""
    turn = 0
    while time.monotonic() < until:
        soak.write_fleet()
        if turn % 2 == 0:
            value = str(100 + turn)
            soak.annotated.append(value)
            soak.cluster.annotate("soak", "nms", {QPS: value})
        turn += 1
        time.sleep(10)


def trouble(soak: Soak, until: float, whole: float) -> None:
    """In turn: a robot fails for half a minute, the API server for as long; the disk is full twice."""
    begin, turn, full = until - whole, 0, [0.25, 0.65]
    while time.monotonic() < until:
        robot = soak.robots[ROBOTS[turn % 2]]
        fault = FAULTS[turn % len(FAULTS)]
        robot.fail(fault, times=2 if fault is Fault.TIMEOUT else 6)
        time.sleep(30)
        robot.mend()
        soak.cluster.refuse(*[500, 429, 403] * 20)
        soak.cluster.break_watches()
        time.sleep(20)
        soak.cluster.accept()
        if full and soak.disk and time.monotonic() - begin > full[0] * whole:
            full.pop(0)
            with full_disk(soak.disk):
                time.sleep(FULL_SECONDS)
        time.sleep(20)
        turn += 1


@contextmanager
def full_disk(disk: Path) -> Iterator[None]:
    """Not a byte more fits."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 512)
    yield
    filler.unlink()


def watch(soak: Soak) -> None:
    """Memory, open files, tasks, health."""
    process = psutil.Process(soak.serve.pid)
    while not soak.ended.wait(LOOK_SECONDS):
        soak.memory.append((time.monotonic(), process.memory_info().rss, process.num_fds()))
        soak.looks += 1
        try:
            page = requests.get(f"{soak.serve.url}/metrics", timeout=9).text
            requests.get(f"{soak.serve.url}/healthz", timeout=2).raise_for_status()
        except requests.RequestException:
            soak.unhealthy += 1
            continue
        soak.down.update(re.findall(r'tritonobs_task_up\{task="([^"]+)"\} 0', page))
