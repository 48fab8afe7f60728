"""Ports and processes of a stack: start, recognise and stop them.

None is left behind, and no other process is touched. The state folder of a stack holds its owner, who may
start in it, and which processes run.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urlsplit

import psutil

from tritonobs import files
from tritonobs.errors import FileUnusable, StackError
from tritonobs.programs import LOOPBACK

_WAIT_SECONDS = 0.2
_T = TypeVar("_T")


def port_of(url: str) -> int:
    """The port a URL names, or its scheme's."""
    parts = urlsplit(url)
    return parts.port or {"http": 80, "https": 443}[parts.scheme]


def require_free(ports: Mapping[str, int]) -> None:
    """Make sure that the ports of these parts are free.

    Raises:
        StackError: names every port that is taken, and by which process.
    """
    taken = [f"  {part}: {_owner(port)}" for part, port in ports.items() if _is_taken(port)]
    if taken:
        raise StackError(
            "ports the stack needs are taken:\n" + "\n".join(taken) + "\n"
            "stop those programs, change the addresses in the fleet file, or use --free-ports"
        )


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return True
    return False


def _owner(port: int) -> str:
    for connection in psutil.net_connections("tcp"):
        listens = connection.status == psutil.CONN_LISTEN and connection.laddr
        if listens and listens.port == port and connection.pid:
            return f"port {port} is used by {psutil.Process(connection.pid).name()} (pid {connection.pid})"
    return f"port {port} is used by another user's process"


def wait_for(look: Callable[[], _T | None], what: str, patience_seconds: float) -> _T:
    """What `look` returns once it is something.

    Raises:
        StackError: it stayed None for `patience_seconds`.
    """
    deadline = time.monotonic() + patience_seconds
    while time.monotonic() < deadline:
        found = look()
        if found is not None:
            return found
        time.sleep(_WAIT_SECONDS)
    raise StackError(f"waited {patience_seconds:.0f} s for {what}; see the logs of the stack")


GRACE_SECONDS = 10.0
"""How long a part may take to end by itself; Triton waits 5 s for requests in flight."""
LOG_TAIL_LINES = 15
_EXEC_SECONDS, _LOOK_SECONDS = 1.0, 0.01
"""How long a program may take to be loaded: until then its arguments cannot be read."""
# Python collects, and forgets, the exit status of a process whose object is dropped.
_children: dict[tuple[int, float], psutil.Popen] = {}

_MOST_STATE_BYTES: Final = 1024 * 1024
_POLL_SECONDS: Final = 0.02
_MOST_PID: Final = 2**31
_NUMBERS: Final = {"pid": int, "started": float}


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One process: how to start it, where it answers, and the page that says it is ready."""

    name: str
    argv: tuple[str, ...]
    url: str
    ready_url: str
    env: Mapping[str, str] | None = None
    ports: tuple[int, ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """Where a stack keeps what it makes; all below one state folder."""

    root: Path

    @property
    def built(self) -> Path:
        """What `render` wrote."""
        return self.root / "built"

    @property
    def data(self) -> Path:
        """What Prometheus and Alertmanager store."""
        return self.root / "data"

    @property
    def backends(self) -> Path:
        """Triton's backends, laid out for this Python."""
        return self.root / "backends"

    @property
    def logs(self) -> Path:
        """One log a part."""
        return self.root / "logs"

    @property
    def state_file(self) -> Path:
        """Which processes run, for `status` and `down`."""
        return self.root / "stack.json"

    @property
    def lock_file(self) -> Path:
        """Held while a stack is being started; its presence says that the folder is ours."""
        return self.root / "stack.lock"

    @property
    def owner(self) -> Path:
        """The name that every process of the stack carries."""
        return self.root.resolve()

    @property
    def faults_file(self) -> Path:
        """Which faults the models have now, on a stack for rehearsals."""
        return self.root / "faults.json"

    @property
    def models(self) -> Path:
        """A copy of the model repository that rehearsals may change."""
        return self.root / "models"

    @property
    def drills_file(self) -> Path:
        """What a stack for rehearsals was started with."""
        return self.root / "drills.json"


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
"""The environment variable that says to which stack a process belongs: no state file is needed."""


def start(service: Service, logs: Path, *, owner: Path, again: bool = False) -> Part:
    """Start one process in a session of its own, its output in `<logs>/<name>.log`.

    It and all it starts belong to the state folder `owner`. `again` keeps the log, which says why the
    previous process ended.
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
    """End the parts and every process they started, and all others of `owner`: by SIGTERM, then SIGKILL."""
    parts = list(parts)
    others = owned(owner) if owner else []
    running = [process for part in parts if (process := part.process())] + others
    family = [process for part in parts for process in _session(part)] + others
    for process in running:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.terminate()
    _wait(running)
    # A model's worker can outlive its server; none of them is needed any more.
    for process in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    _wait(family)
    for part in parts:
        reap(part)


def _wait(processes: list[psutil.Process]) -> None:
    """Wait until they have ended, at most GRACE_SECONDS."""
    deadline = time.monotonic() + GRACE_SECONDS
    while (left := deadline - time.monotonic()) > 0:
        # Linux 6.18 says so of a process that ends at this moment, and psutil 7 passes it on.
        with contextlib.suppress(FileNotFoundError):
            psutil.wait_procs(processes, timeout=left)
            return
        time.sleep(_LOOK_SECONDS)


def _lives(process: psutil.Process) -> bool:
    return bool(process.status() != psutil.STATUS_ZOMBIE)


def _session(part: Part) -> list[psutil.Process]:
    """The processes of a part: itself and all it started, also when it died and they live on.

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


@contextmanager
def starting(folders: Folders, *, patience_seconds: float = 0.0) -> Iterator[None]:
    """Keep every other start out of this folder while the block runs, and let a second one touch nothing.

    A process that was forked and has not started its program yet holds the lock, too: with the lock, every
    process of the folder can be seen.

    Raises:
        StackError: another start is under way here, or the folder holds what is not ours.
        FileUnusable: the folder cannot be written to.
    """
    require_ours(folders)
    with files.refused(folders.root, "written"):
        folders.root.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folders.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
    try:
        deadline = time.monotonic() + patience_seconds
        while not files.locked(descriptor):
            if time.monotonic() >= deadline:
                raise StackError(f"another program is starting a stack in {folders.root} just now")
            time.sleep(_POLL_SECONDS)
        yield
    finally:
        os.close(descriptor)


def require_ours(folders: Folders) -> None:
    """Make sure that the folder is empty or one of ours: a stack removes and replaces what is in it.

    Raises:
        StackError: it holds something else.
        FileUnusable: it is not a folder, or cannot be read.
    """
    with files.refused(folders.root, "read"):
        there = {path.name for path in folders.root.iterdir()} if folders.root.exists() else set()
    ours = {folders.lock_file.name, folders.state_file.name, folders.built.name}
    if there and not there & ours:
        raise StackError(
            f"{folders.root} holds files of something else; name an empty folder with --state, or a new one"
        )


def remember(folders: Folders, parts: Sequence[Part]) -> None:
    """Write down which processes run.

    Raises:
        FileUnusable: that cannot be written.
    """
    folders.root.mkdir(parents=True, exist_ok=True)
    files.replace(folders.state_file, json.dumps([part.as_json() for part in parts], indent=2).encode())


def recall(folders: Folders) -> tuple[Part, ...]:
    """What was written down; nothing when nothing was.

    Raises:
        StackError: it is damaged.
    """
    if not folders.state_file.exists():
        return ()
    try:
        rows = json.loads(files.read_text(folders.state_file, most=_MOST_STATE_BYTES))
    except (ValueError, RecursionError, FileUnusable) as error:
        raise _damaged(folders, str(error)) from error
    if not isinstance(rows, list) or not all(_is_part(row) for row in rows):
        raise _damaged(folders, "it lists no processes")
    return tuple(Part(**row) for row in rows)


def _is_part(row: object) -> bool:
    named = {field.name for field in fields(Part)}
    if (
        not isinstance(row, dict)
        or row.keys() != named
        or any(type(row[name]) is not _NUMBERS.get(name, str) for name in named)
    ):
        return False
    return bool(0 < row["pid"] < _MOST_PID)


def _damaged(folders: Folders, how: str) -> StackError:
    cure = f"tritonobs down --state {shlex.quote(str(folders.root))}"
    return StackError(f"{folders.state_file} is damaged ({how}); this stops what runs and removes it: {cure}")
