"""Scenes in a real Prometheus: all of them side by side in the past, judged one by one."""

from __future__ import annotations

import json
import subprocess
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from planted.fault import Named
from planted.fleet import SCRAPE_SECONDS
from tritonobs import programs
from tritonobs.clients.prometheus import PrometheusClient, Target
from tritonobs.errors import ClientError
from tritonobs.extensions.lab.stack.processes import wait_for
from tritonobs.extensions.triage.calm import windows
from tritonobs.extensions.triage.snapshot import ReplicaState, Snapshot, take_snapshot
from tritonobs.names import HEARTBEAT
from tritonobs.programs import LOOPBACK, free_ports

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from planted.fleet import Fleet
    from planted.scene import Scene
    from tritonobs.extensions.triage.judge import Verdict

APART_SECONDS = 1800.0
_A_BLOCK = 4
_LOOKBACK = "11s"
"""What vanished from a page has no marker here; Prometheus would see it at the next scrape."""


class Recorded(PrometheusClient):
    """A Prometheus that says of its targets what was so then."""

    then: tuple[Target, ...] = ()

    def targets(self) -> tuple[Target, ...]:
        """Those of then."""
        return self.then


def play(scene: Scene) -> Fleet:
    """What happened."""
    fleet = scene.fleet()
    fleet.scrape_all(scene.begins + scene.looks + 1)
    scene.plant(fleet)
    fleet.run(scene.begins + scene.looks)
    return fleet


def lines(fleet: Fleet, begins: float, until: float) -> Iterator[str]:
    """Its samples as OpenMetrics."""
    for (name, labels), points in fleet.series.items():
        head = _named(name, labels)
        # A heartbeat is a time of day.
        zero = begins if name == HEARTBEAT else 0.0
        for moment, value in points:
            yield f"{head} {value + zero!r} {begins + moment:.3f}\n"
    steps = range(0, int(until), int(SCRAPE_SECONDS))
    for model, limit in fleet.limits.items():
        for step in steps:
            yield f"{_named('tritonobs_qps_limit', (('model', model),))} {limit} {begins + step:.3f}\n"
    for name, labels in fleet.fleet_rows():
        for step in steps:
            yield f"{_named(name, labels)} 1 {begins + step:.3f}\n"


def _named(name: str, labels: Iterable[tuple[str, str]]) -> str:
    chosen = ",".join(f'{key}="{value}"' for key, value in labels if value)
    return f"{name}{{{chosen}}}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What is known of a replica besides its page, at the end of a scene."""

    name: str
    address: str
    listed: bool
    answers: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """Scenes that were played: when each began, and its servers."""

    began: dict[str, float]
    servers: dict[str, list[Server]]


def played(scenes: Iterable[Scene], folder: Path) -> Played:
    """Play scenes into a database in this folder; what was played there before is not played again."""
    noted = folder / "played.json"
    if noted.exists():
        known = json.loads(noted.read_text())
        return Played(
            began=known["began"],
            servers={name: [Server(**row) for row in rows] for name, rows in known["servers"].items()},
        )
    zero = (time.time() // 86_400 - 10) * 86_400
    result = Played(began={}, servers={})
    waiting = list(scenes)
    # promtool reads a file once for every two hours in it.
    for number, group in enumerate(waiting[at : at + _A_BLOCK] for at in range(0, len(waiting), _A_BLOCK)):
        text = folder / "samples.txt"
        with text.open("w") as file:
            for place, scene in enumerate(group):
                fleet = play(scene)
                result.began[scene.name] = began = zero + (number * _A_BLOCK + place) * APART_SECONDS
                result.servers[scene.name] = [
                    Server(name=each.name, address=each.address, listed=each.listed, answers=each.answers)
                    for each in fleet.replicas
                ]
                file.writelines(lines(fleet, began, scene.begins + scene.looks))
            file.write("# EOF\n")
        store(text, folder / "data")
        text.unlink()
    noted.write_text(
        json.dumps(
            {
                "began": result.began,
                "servers": {name: [asdict(row) for row in rows] for name, rows in result.servers.items()},
            }
        )
    )
    return result


def store(text: Path, data: Path) -> None:
    """Put OpenMetrics into a database."""
    promtool = programs.find("prometheus").with_name("promtool")
    done = subprocess.run(
        [str(promtool), "tsdb", "create-blocks-from", "openmetrics", str(text), str(data)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stderr)


@contextmanager
def prometheus(folder: Path) -> Iterator[str]:
    """One that has all of it."""
    (port,) = free_ports(1)
    config = folder / "prometheus.yml"
    config.write_text("{}\n")
    command = [
        str(programs.find("prometheus")),
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'data'}",
        "--storage.tsdb.retention.time=100y",
        f"--web.listen-address={LOOPBACK}:{port}",
        f"--query.lookback-delta={_LOOKBACK}",
    ]
    with (folder / "log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        client = PrometheusClient(f"http://{LOOPBACK}:{port}")

        def ready() -> bool | None:
            try:
                return client.ready() or None
            except ClientError:
                return None

        try:
            wait_for(ready, "Prometheus", 60.0)
            yield client.address
        finally:
            process.terminate()


def look(url: str, scene: Scene, servers: list[Server], zero: float) -> Snapshot:
    """What triage sees of a scene that began at `zero`."""
    client = Recorded(url, timeout_seconds=30.0)
    client.then = tuple(
        target(
            each.address,
            answers=each.answers,
            error=scene.errors.get(each.address, "connection refused"),
        )
        for each in servers
        if each.listed
    )
    now = zero + scene.begins + scene.looks
    incident, baseline = windows(now, scene.since, "previous")
    snapshot = take_snapshot(client, incident=incident, baseline=baseline)
    entries = scene.entries
    replicas = tuple(
        ReplicaState(address=f"http://{each.name}:8000", ready=True, entries=entries, configs=())
        for each in servers
        if each.answers and each.listed
    )
    # Of what is long past triage does not ask why a scrape failed; here the past is played as the present.
    return replace(snapshot, replicas=replicas, targets=client.then)


def target(address: str, *, answers: bool, error: str) -> Target:
    """A server as Prometheus lists it."""
    return Target(
        url=f"http://{address}/metrics",
        health="up" if answers else "down",
        last_error="" if answers else error,
        interval=f"{SCRAPE_SECONDS:g}s",
        labels={"job": "triton", "instance": address},
    )


def named(verdict: Verdict) -> tuple[Named, ...]:
    """The causes, as a score reads them."""
    return tuple(
        Named(
            check=cause.check,
            place=cause.place,
            sentence=cause.sentence,
            since=cause.since,
            steps=cause.next_steps,
        )
        for cause in verdict.causes
    )
