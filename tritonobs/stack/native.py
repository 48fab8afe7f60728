"""The stack as native processes: start and wait until ready, look after, stop."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import requests

from tritonobs.errors import StackError
from tritonobs.stack import ports, processes
from tritonobs.stack.processes import Part
from tritonobs.stack.services import Service

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tritonobs.stack.services import Folders

READY_SECONDS = 90.0
POLL_SECONDS = 0.2


def up(services: Sequence[Service], folders: Folders, on_ready: Callable[[str], None]) -> tuple[Part, ...]:
    """Start every service and wait until each is ready; `on_ready` is told the name of each as it is.

    Whatever goes wrong, an interrupt included, nothing stays running.

    Raises:
        StackError: a stack runs here already, a port is taken, or a part died or was not ready in time (with
            the last lines of its log).
    """
    require_down(folders)
    ports.require_free({f"{each.name} :{port}": port for each in services for port in each.ports})
    for folder in (folders.data / "prometheus", folders.data / "alertmanager"):
        folder.mkdir(parents=True, exist_ok=True)
    parts: list[Part] = []
    try:
        for service in services:
            parts.append(processes.start(service, folders.logs))
            _remember(folders, parts)
        _wait_until_ready(parts, on_ready)
    except BaseException:
        processes.stop(parts)
        folders.state_file.unlink(missing_ok=True)
        raise
    return tuple(parts)


def require_down(folders: Folders) -> None:
    """Make sure that nothing runs in this state folder.

    Raises:
        StackError: something does.
    """
    if any(part.process() for part in known(folders)):
        raise StackError(f"a stack is running in {folders.root}; stop it with: tritonobs down")


def watch(parts: Sequence[Part]) -> None:
    """Block while every part runs.

    Raises:
        StackError: a part died; the text has its exit status and the last lines of its log.
    """
    while True:
        require_alive(parts)
        time.sleep(POLL_SECONDS)


def require_alive(parts: Sequence[Part]) -> None:
    """Make sure that every part runs.

    Raises:
        StackError: a part died; the text has its exit status and the last lines of its log.
    """
    for part in parts:
        if part.process() is None:
            status = processes.reap(part)
            how = "" if status is None else f" with exit status {status}"
            raise StackError(f"{part.name} ended{how}; the end of {part.log}:\n{processes.log_tail(part)}")


def down(folders: Folders) -> tuple[Part, ...]:
    """Stop what runs in this state folder; returns the parts that were still running."""
    parts = known(folders)
    running = tuple(part for part in parts if part.process())
    processes.stop(parts)
    folders.state_file.unlink(missing_ok=True)
    return running


def known(folders: Folders) -> tuple[Part, ...]:
    """The parts this state folder knows of, running or not."""
    try:
        rows = json.loads(folders.state_file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ()
    except ValueError as error:
        raise StackError(
            f"{folders.state_file} is damaged ({error}); remove it and stop its processes by hand"
        ) from error
    return tuple(Part(**row) for row in rows)


def describe(part: Part) -> Service | None:
    """How to start a running part again just as it was started; None when it does not run."""
    process = part.process()
    if process is None:
        return None
    return Service(
        name=part.name,
        argv=tuple(process.cmdline()),
        env=process.environ(),
        url=part.url,
        ready_url=part.ready_url,
    )


def start_again(service: Service, folders: Folders) -> Part:
    """Start a part of a running stack anew, wait until it is ready, and note its new process.

    Raises:
        StackError: it died or was not ready in time.
    """
    others = [part for part in known(folders) if part.name != service.name]
    processes.stop(part for part in known(folders) if part.name == service.name)
    part = processes.start(service, folders.logs, again=True)
    _remember(folders, [*others, part])
    _wait_until_ready([part], lambda _: None)
    return part


def is_ready(part: Part) -> bool:
    """Whether the part answers its ready page with 200 now."""
    try:
        return requests.get(part.ready_url, timeout=2).ok
    except requests.RequestException:
        return False


def _remember(folders: Folders, parts: Sequence[Part]) -> None:
    folders.root.mkdir(parents=True, exist_ok=True)
    folders.state_file.write_text(json.dumps([part.as_json() for part in parts], indent=2), encoding="utf-8")


def _wait_until_ready(parts: Sequence[Part], on_ready: Callable[[str], None]) -> None:
    deadline = time.monotonic() + READY_SECONDS
    waiting = list(parts)
    while waiting:
        require_alive(parts)
        for part in [each for each in waiting if is_ready(each)]:
            waiting.remove(part)
            on_ready(part.name)
        if waiting and time.monotonic() > deadline:
            part = waiting[0]
            raise StackError(
                f"{part.name} was not ready after {READY_SECONDS:.0f} s; the end of {part.log}:\n"
                f"{processes.log_tail(part)}"
            )
        time.sleep(POLL_SECONDS)
