"""The stack as native processes: start, wait until ready, watch, stop.

One tritonserver alone, with any model repository, is for tests, benchmarks and soaks.
"""

from __future__ import annotations

import shlex
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

import requests

from tritonobs.errors import FileUnusable, StackError
from tritonobs.extensions.lab.stack import processes
from tritonobs.extensions.lab.stack.processes import Folders, Part, Service
from tritonobs.extensions.lab.stack.services import (
    free_shared_memory,
    make_backend_folder,
    triton_command,
    triton_environment,
)
from tritonobs.programs import LOOPBACK, free_ports

READY_SECONDS = 90.0
POLL_SECONDS = 0.2
_TURN_SECONDS = 2.0


def up(
    services: Sequence[Service],
    folders: Folders,
    on_ready: Callable[[str], None],
    *,
    held: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> tuple[Part, ...]:
    """Start every service and wait until each is ready; `on_ready` is called with the name of each as it is.

    After any failure, an interrupt included, nothing stays running. A process is started inside `held()`,
    which puts off signals: no signal may come between its fork and its note.

    Raises:
        StackError: a stack runs here already, a port is taken, or a part died or was not ready in time (with
            the last lines of its log).
    """
    require_down(folders)
    processes.require_free({f"{each.name} :{port}": port for each in services for port in each.ports})
    # What another stack measured here would be the baseline of this one.
    shutil.rmtree(folders.data, ignore_errors=True)
    for folder in (folders.data / "prometheus", folders.data / "alertmanager"):
        folder.mkdir(parents=True)
    parts: list[Part] = []
    try:
        for service in services:
            with held():
                parts.append(processes.start(service, folders.logs, owner=folders.owner))
                processes.remember(folders, parts)
        _wait_until_ready(parts, on_ready)
    except BaseException:
        processes.stop(parts, owner=folders.owner)
        folders.state_file.unlink(missing_ok=True)
        raise
    return tuple(parts)


def require_down(folders: Folders) -> None:
    """Make sure that nothing runs in this state folder.

    Raises:
        StackError: something does.
    """
    if any(part.process() for part in known(folders)) or processes.owned(folders.owner):
        raise StackError(f"a stack is running in {folders.root}; stop it with: {down_command(folders)}")


def down_command(folders: Folders) -> str:
    """What stops the stack of this folder, to be copied."""
    usual = folders.root == Path.cwd() / ".tritonobs"
    return "tritonobs down" if usual else f"tritonobs down --state {shlex.quote(str(folders.root))}"


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
    """Stop what runs in this state folder; returns the parts that were still running.

    A damaged list of the parts does not matter: every process carries the folder's name.
    """
    parts: tuple[Part, ...] = ()
    if folders.lock_file.exists():
        with suppress(StackError, FileUnusable), processes.starting(folders, patience_seconds=_TURN_SECONDS):
            pass
    with suppress(StackError):
        parts = known(folders)
    running = tuple(part for part in parts if part.process())
    processes.stop(parts, owner=folders.owner)
    free_shared_memory(folders.backends)
    if folders.state_file.exists():
        folders.state_file.unlink()
    return running


def known(folders: Folders) -> tuple[Part, ...]:
    """The parts this state folder knows of, running or not.

    Raises:
        StackError: its note of them is damaged.
    """
    return processes.recall(folders)


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
    """Start a part of a running stack again, wait until it is ready, and note its new process.

    Raises:
        StackError: it died or was not ready in time.
    """
    others = [part for part in known(folders) if part.name != service.name]
    processes.stop(part for part in known(folders) if part.name == service.name)
    part = processes.start(service, folders.logs, owner=folders.owner, again=True)
    processes.remember(folders, [*others, part])
    _wait_until_ready([part], lambda _: None)
    return part


def is_ready(part: Part) -> bool:
    """Whether the part answers its ready page with 200 now."""
    try:
        return requests.get(part.ready_url, timeout=2).ok
    except requests.RequestException:
        return False


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


@dataclass(frozen=True, slots=True, kw_only=True)
class LoneTriton:
    """A running server: where it answers, its process and its log."""

    part: Part
    http_url: str
    metrics_url: str

    def log(self) -> str:
        """What it and its models wrote until now."""
        return Path(self.part.log).read_text(encoding="utf-8", errors="replace")

    def require_alive(self) -> None:
        """Make sure that it still runs.

        Raises:
            StackError: it died; the text has its exit status and the last lines of its log.
        """
        require_alive([self.part])


@contextmanager
def lone_triton(
    repository: Path, root: Path, *, extra: Sequence[str] = (), variables: Mapping[str, str] | None = None
) -> Iterator[LoneTriton]:
    """Serve `repository` on free ports while the block runs, everything it writes below `root`.

    `extra` are more flags of tritonserver, `variables` more of its environment.

    Raises:
        StackError: the server is missing, died, or was not ready in time.
    """
    http_port, metrics_port = free_ports(2)
    http_url = f"http://{LOOPBACK}:{http_port}"
    folders = Folders(root=root)
    service = Service(
        name="triton",
        argv=triton_command(
            repository=repository,
            backends=make_backend_folder(folders.backends),
            http_port=http_port,
            metrics_port=metrics_port,
            extra=extra,
        ),
        env=triton_environment(dict(variables or {})),
        url=http_url,
        ready_url=f"{http_url}/v2/health/ready",
        ports=(http_port, metrics_port),
    )
    parts = up([service], folders, lambda _: None)
    try:
        yield LoneTriton(
            part=parts[0], http_url=http_url, metrics_url=f"http://{LOOPBACK}:{metrics_port}/metrics"
        )
    finally:
        processes.stop(parts, owner=folders.owner)
        free_shared_memory(folders.backends)
        folders.state_file.unlink(missing_ok=True)
