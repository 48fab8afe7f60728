"""Commands of tritonobs, each in a process of its own: bounded in time and output, ended with its caller.

The answer of a command to a program is what it prints with `--format json`, so an agent and a script read the
same. `Fleet` says which servers are asked: the fleet file, and addresses that options or the file give.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio

from tritonobs.assets import package_parent
from tritonobs.cli.values import WrongFile, asked_plan, plan_cluster, running_fleet, running_url
from tritonobs.errors import TritonobsError
from tritonobs.outside import read_json, shown
from tritonobs.plan.rules import SCRAPES_PER_WINDOW
from tritonobs.units import format_duration

if TYPE_CHECKING:
    from tritonobs.plan.fleet import Plan

_MOST_BYTES: Final = 16 * 2**20
_MOST_VALUES: Final = 1_000_000
_MOST_COMPLAINT_BYTES: Final = 16_384
_MOST_LINES, _LONGEST_LINE = 5, 300
_PIECE: Final = 65_536
_LEAVE_SECONDS: Final = 2.0
_AT_ONCE, _WAITING = 4, 16
_WORDS, _PACKAGE = "_TRITONOBS_WORDS", "_TRITONOBS_PACKAGE"
# The folder in which an editor starts its servers may hold any module, so it is not searched for ours. Every
# user may list the arguments of processes, and an address may hold a password: they come in the environment.
_START: Final = f"""\
import sys
sys.path[:] = filter(None, sys.path)
import json, os
sys.path.append(os.environ.pop("{_PACKAGE}"))
sys.argv[:] = ["tritonobs", *json.loads(os.environ.pop("{_WORDS}"))]
from tritonobs.__main__ import main
main()
"""


class Unanswered(TritonobsError):
    """The command gave no answer; the text says why, in its words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a command answered: its JSON, its exit status, and the lines that it said beside its answer."""

    value: Any
    status: int
    beside: tuple[str, ...]


class Commands:
    """Runs commands: `at_once` together, a few more wait, and the rest is refused."""

    def __init__(self, *, at_once: int = _AT_ONCE, waiting: int = _WAITING) -> None:
        self._turns = asyncio.Semaphore(at_once)
        self._room = at_once + waiting

    async def json(self, *words: str, seconds: float, folder: Path | None = None) -> Said:
        """What the command answers with `--format json`, which is added to `words`.

        Raises:
            Unanswered: it printed no JSON, took longer than `seconds`, printed too much, or too many wait.
        """
        # Arguments behind `--` are not options.
        at = words.index("--") if "--" in words else len(words)
        name = " ".join(word for word in words[:2] if word.isalpha())
        async with self.turn(name, seconds):
            status, out, err = await _run((*words[:at], "--format=json", *words[at:]), folder)
        beside = _lines(err)
        try:
            value = read_json(out, most=_MOST_VALUES)
        except ValueError:
            raise Unanswered(f"tritonobs {name}: " + ("; ".join(beside) or f"exit {status}")) from None
        return Said(value=value, status=status, beside=beside)

    @asynccontextmanager
    async def turn(self, name: str, seconds: float) -> AsyncIterator[None]:
        """Room for one piece of work of at most `seconds`, its wait included.

        Raises:
            Unanswered: there is none, or the time is over.
        """
        if not self._room:
            raise Unanswered("too many calls wait already; ask again in a few seconds")
        self._room -= 1
        try:
            with anyio.fail_after(seconds):
                async with self._turns:
                    yield
        except TimeoutError:
            raise Unanswered(f"{name}: no answer within {seconds:g} s") from None
        finally:
            self._room += 1


async def _run(words: tuple[str, ...], folder: Path | None) -> tuple[int, bytes, bytes]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _START,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=folder,
        env=_environment(words),
        start_new_session=True,
    )
    assert process.stdout is not None  # noqa: S101 (pipes were asked for)
    assert process.stderr is not None  # noqa: S101 (the same)
    try:
        out, err = await asyncio.gather(_read(process.stdout), _tail(process.stderr))
        return await process.wait(), out, err
    finally:
        if process.returncode is None:
            with anyio.CancelScope(shield=True):
                await _end(process)


def _environment(words: tuple[str, ...]) -> dict[str, str]:
    """Ours, with the arguments, and without what would colour an answer."""
    # Arguments may hold halves of characters, which only JSON as ASCII can carry.
    ours = {_WORDS: json.dumps(words), _PACKAGE: str(package_parent())}
    return {**os.environ, "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8", **ours}


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the command and what it started; it has a moment to leave by itself."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with anyio.move_on_after(_LEAVE_SECONDS):
        await process.wait()
        return
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


async def _read(stream: asyncio.StreamReader) -> bytes:
    data = bytearray()
    while piece := await stream.read(_PIECE):
        data += piece
        if len(data) > _MOST_BYTES:
            raise Unanswered(f"the answer has more than {_MOST_BYTES >> 20} MiB; ask for less")
    return bytes(data)


async def _tail(stream: asyncio.StreamReader) -> bytes:
    """The end of what is said: the complaint stands there."""
    data = bytearray()
    while piece := await stream.read(_PIECE):
        data += piece
        del data[:-_MOST_COMPLAINT_BYTES]
    return bytes(data)


def _lines(err: bytes) -> tuple[str, ...]:
    """The last lines of a complaint, without the usage that click repeats above it."""
    lines = (line.strip() for line in err.decode("utf-8", "replace").splitlines())
    kept = [line for line in lines if line and not line.startswith(("Usage: ", "Try 'tritonobs"))]
    bare = (line.removeprefix("Error: ").removeprefix("tritonobs: ") for line in kept[-_MOST_LINES:])
    return tuple(shown(line[:_LONGEST_LINE]) for line in bare)


def compact(value: object) -> str:
    """JSON without spaces, in any script."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """The servers of one moment; "" where no one names them. `named` are the options that name Prometheus.

    `scrape_seconds` is how often they are scraped, 0 where no fleet file says it.
    """

    fleet: Path | None
    prometheus: str
    cluster: str
    alertmanager: str
    receiver: str
    named: tuple[str, ...]
    scrape_seconds: float = 0.0

    @property
    def asked(self) -> tuple[str, ...]:
        """Options of a command that asks Prometheus alone."""
        return (f"--prometheus={self.prometheus}", *((f"--cluster={self.cluster}",) if self.cluster else ()))

    def window(self, least_seconds: float) -> str:
        """A window with enough scrapes for a rate, even where one is missed."""
        return format_duration(max(least_seconds, SCRAPES_PER_WINDOW * self.scrape_seconds))

    def file(self) -> str:
        """The fleet file.

        Raises:
            Unanswered: there is none.
        """
        if self.fleet is None:
            raise Unanswered("this needs a fleet file; start the server as: tritonobs mcp fleet.yaml")
        return str(self.fleet)


class Fleet:
    """The fleet file that was named, or that of the stack running here; it is read again when it changes."""

    def __init__(self, path: Path | None, *, prometheus: str = "", cluster: str = "") -> None:
        # Commands may run in another folder.
        self._path = path.absolute() if path else None
        self._prometheus, self._cluster = prometheus, cluster
        self._read: tuple[object, Plan] | None = None

    def plan(self) -> Plan | None:
        """What the file means now; None without one.

        Raises:
            WrongFile: it is not valid.
        """
        path = self.path()
        if path is None:
            return None
        status = path.stat()
        state = (path, status.st_ino, status.st_mtime_ns, status.st_size)
        if self._read is None or self._read[0] != state:
            self._read = (state, asked_plan(path))
        return self._read[1]

    def path(self) -> Path | None:
        """Where the file is. A Prometheus that was named is not that of the stack here."""
        if self._path or self._prometheus:
            return self._path
        running = running_fleet()
        return running.absolute() if running else None

    def where(self) -> Where:
        """Which servers to ask now.

        Raises:
            Unanswered: the fleet file is not valid, or cannot be read.
        """
        try:
            plan = self.plan()
        except OSError as error:
            raise Unanswered(f"the fleet file cannot be read: {error.strerror}") from None
        except WrongFile as error:
            raise Unanswered(f"the fleet file is not valid: {error.message}") from None
        default = running_url("prometheus", "http://127.0.0.1:9090")
        named = (
            *((f"--prometheus={self._prometheus}",) if self._prometheus else ()),
            *((f"--cluster={self._cluster}",) if self._cluster else ()),
        )
        return Where(
            fleet=self.path(),
            prometheus=self._prometheus or (plan.addresses.prometheus_url if plan else default),
            cluster=self._cluster or (plan_cluster(plan) if plan else ""),
            alertmanager=plan.addresses.alertmanager_url if plan else running_url("alertmanager", ""),
            receiver=plan.traces.receiver_url if plan else running_url("serve", "http://127.0.0.1:9900"),
            named=named,
            scrape_seconds=float(plan.prometheus.scrape_interval_seconds) if plan else 0.0,
        )
