"""Faults of processes: workers and the server, dead or stopped."""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import psutil

from tritonobs.errors import StackError, TritonobsError
from tritonobs.lab.drill.drill import Alert, Drill, Takes
from tritonobs.lab.stack import native
from tritonobs.lab.stack.ports import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from tritonobs.lab.drill.rig import Rig

_WORKER_FIRES, _WORKER_RESOLVES = Takes(fixed=85.0, scaled=15.0), Takes(fixed=40.0)
_SERVER_FIRES, _SERVER_RESOLVES = Takes(fixed=25.0, scaled=30.0), Takes(fixed=35.0)
_CRASHES = 3
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
        # Not resumed: Triton 24.10 went down with a worker that went on after a minute's halt.
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
    """End a part of the stack the hard way; start it again as it was."""
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


def _killed_server(rig: Rig) -> AbstractContextManager[None]:
    return killed_part(rig, "triton")


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
                if enough.is_set():
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


DRILLS = (
    Drill(
        name="worker-killed",
        breaks="the detector's worker process is killed; Triton starts no other",
        cause=_killed_worker,
        alerts=(Alert(name="TritonWorkerDead", labels={"model": "detector"}),),
        check="dead_worker",
        model="detector",
        fires=_WORKER_FIRES,
        resolves=_WORKER_RESOLVES,
    ),
    Drill(
        name="worker-hangs",
        breaks="the worker of nms is stopped (SIGSTOP)",
        cause=_hanging_worker,
        alerts=(Alert(name="TritonWorkerDead", labels={"model": "nms"}),),
        check="dead_worker",
        model="nms",
        fires=_WORKER_FIRES,
        resolves=_WORKER_RESOLVES,
    ),
    Drill(
        name="server-frozen",
        breaks="tritonserver is stopped (SIGSTOP): connections are taken, nothing answers",
        cause=_frozen_server,
        alerts=(Alert(name="TritonServerDown"),),
        check="replica_down",
        fires=_SERVER_FIRES,
        resolves=_SERVER_RESOLVES,
    ),
    Drill(
        name="server-killed",
        breaks="tritonserver is killed",
        cause=_killed_server,
        alerts=(Alert(name="TritonServerDown"),),
        check="replica_down",
        fires=_SERVER_FIRES,
        resolves=_SERVER_RESOLVES,
    ),
    Drill(
        name="restart-loop",
        breaks=f"tritonserver dies {_CRASHES} times in a row, and is not started again after that",
        cause=_crashing_server,
        alerts=(Alert(name="TritonRestartLoop"),),
        check="replica_down",
        fires=Takes(fixed=45.0),
        resolves=Takes(fixed=15.0, scaled=1500.0),
    ),
)
