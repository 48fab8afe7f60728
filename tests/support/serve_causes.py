"""What is done to a running `tritonobs serve`, each for as long as its context lasts."""

from __future__ import annotations

import fcntl
import resource
import shutil
import socket
import subprocess
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from support.evil import Evil, EvilServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.serve_rig import Rig
    from tritonobs.extensions.lab.robot import Fault

HALF_OPEN = 1100


@contextmanager
def instead(rig: Rig, put: Callable[[Path], object]) -> Iterator[None]:
    """Something else in the fleet file's place."""
    rig.path.unlink()
    put(rig.path)
    yield
    shutil.rmtree(rig.path) if rig.path.is_dir() else rig.path.unlink(missing_ok=True)
    rig.write()


@contextmanager
def with_field(rig: Rig, field: str, value: object) -> Iterator[None]:
    """The fleet file says this for a while."""
    before = dict(rig.fleet)
    rig.fleet[field] = value
    rig.write()
    yield
    rig.fleet.clear()
    rig.fleet.update(before)
    rig.write()


@contextmanager
def log_is_a_folder(rig: Rig) -> Iterator[None]:
    """The log of limits cannot be written, and not be read."""
    (rig.folder / "logs").mkdir(exist_ok=True)
    with with_field(rig, "limits_log", "logs"):
        yield


@contextmanager
def disk_full(rig: Rig) -> Iterator[None]:
    """The log of limits is on a disk of 16 kB that is full."""
    disk = rig.folder / "disk"
    disk.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", disk], check=True)  # noqa: S607 (a program of the system)
    try:
        (disk / "limits.jsonl").write_bytes(b"")
        with suppress(OSError), (disk / "filler").open("wb", buffering=0) as filler:
            while True:
                filler.write(b"x" * 4096)
        with with_field(rig, "limits_log", "disk/limits.jsonl"):
            rig.cluster.annotate("shop", "inspect", {"tritonobs.dev/max-qps": "77"})
            yield
            (disk / "filler").unlink()
            rig.wait(rig.well)
    finally:
        rig.cluster.delete("shop", "inspect")
        subprocess.run(["umount", "-l", disk], check=True)  # noqa: S607 (a program of the system)


@contextmanager
def log_locked(rig: Rig) -> Iterator[None]:
    """As by a `limits set` that was stopped with Ctrl-Z."""
    with (rig.folder / "fleet.limits.jsonl").open("a") as log:
        fcntl.flock(log, fcntl.LOCK_EX)
        rig.cluster.annotate("shop", "inspect", {"tritonobs.dev/max-qps": "77"})
        yield
    rig.cluster.delete("shop", "inspect")


@contextmanager
def evil_at(rig: Rig, where: str, evil: Evil) -> Iterator[None]:
    """An evil server in the place of the API server, of Prometheus, or of the robot."""
    with EvilServer(evil) as server:
        if where == "robot":
            rig.secret("webhook", f"{server.url}/robot/send?access_token=t")
            yield
            rig.secret("webhook", rig.robot.webhook_url)
        elif where == "prometheus":
            with with_field(rig, "addresses", {"prometheus": server.url}):
                rig.wait(lambda: rig.shows(r"^tritonobs_config_generation [2-9]"))
                yield
        else:
            with with_field(rig, "kubernetes", {"api": server.url, "token_file": "token"}):
                yield


@contextmanager
def robot_fails(rig: Rig, fault: Fault) -> Iterator[None]:
    """The robot answers the next messages like this."""
    rig.robot.fail(fault, times=3)
    yield
    rig.robot.mend()


@contextmanager
def connections(rig: Rig, said: bytes) -> Iterator[None]:
    """More connections than files may be open, each of which has said something and says no more."""
    parts = urlsplit(rig.serve.url)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4 * HALF_OPEN), hard))
    with ExitStack() as held:
        for _ in range(HALF_OPEN):
            one = socket.create_connection((parts.hostname or "", parts.port or 0), timeout=10)
            held.callback(one.close)
            one.sendall(said)
        yield


@contextmanager
def poison(rig: Rig) -> Iterator[None]:
    """In one call, and so in one digest, with healthy ones."""
    bad = rig.alert("poison", startsAt="9999-12-31T23:59:59-12:00")
    worse = {**rig.alert("x"), "labels": {"alertname": "Attack", "model": "\ud800"}, "fingerprint": "worse"}
    healthy = [f"beside-poison-{number}" for number in range(5)]
    rig.sent += healthy
    rig.post(bad, worse, *(rig.alert(model) for model in healthy))
    yield


@contextmanager
def many(rig: Rig) -> Iterator[None]:
    """Three thousand in one call."""
    rig.post(*(rig.alert(f"many-{number}") for number in range(3000)))
    yield


def written(text: str) -> Callable[[Path], object]:
    """Puts this text into a file."""
    return lambda path: path.write_text(text)
