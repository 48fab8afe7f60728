"""Start, recognise and stop processes, so that none is left behind and no other process is touched."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import psutil

from tritonobs.lab.stack.services import Service

GRACE_SECONDS = 10.0
"""How long a part may take to end by itself; Triton waits 5 s for requests in flight."""
LOG_TAIL_LINES = 15
_EXEC_SECONDS, _LOOK_SECONDS = 1.0, 0.01
"""How long a program may take to be loaded: until then its arguments cannot be read."""
# Python collects, and forgets, the exit status of a process whose object is dropped.
_children: dict[tuple[int, float], psutil.Popen] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A started process: `pid` with its start time is unique, a pid alone is used again."""

    name: str
    pid: int
    started: float
    url: str
    ready_url: str
    log: str

    def process(self) -> psutil.Process | None:
        """The process if it still runs, else None."""
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(self.pid)
            if process.create_time() == self.started and _lives(process):
                return process
        return None

    def as_json(self) -> dict[str, object]:
        """The fields as plain values."""
        return asdict(self)


OWNER: Final = "TRITONOBS_STATE_FOLDER"
"""The environment variable that says to whom a process belongs: no state file is needed."""


def start(service: Service, logs: Path, *, owner: Path, again: bool = False) -> Part:
    """Start one process in a session of its own, its output in `<logs>/<name>.log`.

    It and all it starts belong to the state folder `owner`. `again` keeps what is in the log: it tells why
    the process before it ended.
    """
    logs.mkdir(parents=True, exist_ok=True)
    log = logs / f"{service.name}.log"
    with log.open("ab" if again else "wb") as output:
        process = psutil.Popen(
            service.argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**(os.environ if service.env is None else service.env), OWNER: str(owner)},
            start_new_session=True,
        )
    started = process.create_time()
    _children[process.pid, started] = process
    return Part(
        name=service.name,
        pid=process.pid,
        started=started,
        url=service.url,
        ready_url=service.ready_url,
        log=str(log),
    )


def owned(owner: Path) -> list[psutil.Process]:
    """Every process that belongs to a state folder, also one that was started and never written down."""
    found, unsure = [], [process for process in psutil.process_iter() if process.pid != os.getpid()]
    deadline = time.monotonic() + _EXEC_SECONDS
    while unsure:
        looked_at, unsure = unsure, []
        for process in looked_at:
            with contextlib.suppress(psutil.Error, OSError):
                environment = process.environ()
                # A program that is just being loaded shows none; neither do threads of the kernel, ever.
                if not environment and process.exe() and time.monotonic() < deadline:
                    unsure.append(process)
                elif environment.get(OWNER) == str(owner) and _lives(process):
                    found.append(process)
        if unsure:
            time.sleep(_LOOK_SECONDS)
    return found


def stop(parts: Iterable[Part], *, owner: Path | None = None) -> None:
    """End the parts and every process they started, and all else of `owner`: politely, then for good."""
    parts = list(parts)
    others = owned(owner) if owner else []
    running = [process for part in parts if (process := part.process())] + others
    family = [process for part in parts for process in _session(part)] + others
    for process in running:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.terminate()
    psutil.wait_procs(running, timeout=GRACE_SECONDS)
    # A model's worker can outlive its server; none of them is needed any more.
    for process in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(family, timeout=GRACE_SECONDS)
    for part in parts:
        reap(part)


def _lives(process: psutil.Process) -> bool:
    return bool(process.status() != psutil.STATUS_ZOMBIE)


def _session(part: Part) -> list[psutil.Process]:
    """What runs of a part: itself and all it started, also when it died and they live on.

    A pid is not used again while a session is named after it.
    """
    with contextlib.suppress(psutil.NoSuchProcess):
        if psutil.Process(part.pid).create_time() != part.started:
            return []
    members = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError, PermissionError):
            if os.getsid(process.pid) == part.pid:
                members.append(process)
    return members


def reap(part: Part) -> int | None:
    """Collect the exit status of a child of ours; None when it still runs or is not a child."""
    child = _children.get((part.pid, part.started))
    status = child.poll() if child else None
    if status is not None:
        del _children[part.pid, part.started]
    return status


def log_tail(part: Part) -> str:
    """The last lines the part wrote, indented; says so when it wrote none."""
    with open(part.log, "rb") as log:  # noqa: PTH123 (`log` is a path as text in the state file)
        log.seek(0, os.SEEK_END)
        log.seek(max(0, log.tell() - 16_384))
        lines = log.read().decode(errors="replace").splitlines()[-LOG_TAIL_LINES:]
    return "\n".join(f"    {line}" for line in lines) or "    (it wrote nothing)"
