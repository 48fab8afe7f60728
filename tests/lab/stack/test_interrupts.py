"""Signals at random moments: whatever was started is gone afterwards, or `down` knows it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import psutil
import pytest

from support.interrupts import LONGEST_SECONDS, MOMENTS, NUMBERS, ended, forked
from tritonobs import cli
from tritonobs.cli import live
from tritonobs.errors import StackError
from tritonobs.extensions.lab import commands
from tritonobs.extensions.lab.stack import local, native, processes
from tritonobs.extensions.lab.stack.processes import Folders, Service

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

IMPORTED = (commands, live)  # here, so that no child has to

KILLS = int(os.environ.get("TRITONOBS_KILLS", "6"))
"""How often `up` is killed; 100 in the nightly run."""


def _sleeper(name: str) -> Service:
    return Service(name=name, argv=("/bin/sleep", "60"), url="", ready_url="http://127.0.0.1:9")


def _wait(look: Callable[[], object]) -> None:
    deadline = time.monotonic() + LONGEST_SECONDS
    while not look() and time.monotonic() < deadline:
        time.sleep(0.001)


def _let_it_start(folders: Folders, turn: int) -> None:
    """Every other turn: until a process runs, which a busy machine starts late."""
    if turn % 2:
        _wait(lambda: processes.owned(folders.owner))


def _command(*arguments: str, folders: Folders | None = None) -> Callable[[], None]:
    """The command line; with `folders` a stack of small processes that are never ready."""

    def work() -> None:
        if folders:
            parts = tuple(_sleeper(f"part{number}") for number in range(8))
            local.stack_services = lambda *_, **__: parts
            local.robot_service = lambda _: _sleeper("robot")
            local.render_fleet = lambda _: ()
        sys.argv = ["tritonobs", *arguments]
        cli.run()

    return work


@pytest.mark.parametrize("command", ["up", "demo"])
def test_an_interrupted_start_leaves_nothing(command: str, tmp_path: Path) -> None:
    """Ctrl-C, `kill` and a closed terminal while processes are started, and a second one while they end."""
    moments = random.Random(15)  # noqa: S311 (moments, no secret)
    caught = 0
    for turn in range(MOMENTS):
        folders = Folders(root=tmp_path / f"state{turn}")
        log = tmp_path / "log"
        child = forked(_command(command, "--state", str(folders.root), folders=folders), log)
        _wait(folders.lock_file.exists)
        _let_it_start(folders, turn)
        time.sleep(moments.uniform(0, 0.4))
        caught += bool(processes.owned(folders.owner))
        for _ in range(moments.choice((1, 2))):
            with suppress(ProcessLookupError):
                os.kill(child, moments.choice(NUMBERS))
            time.sleep(moments.uniform(0, 0.05))

        status = ended(child)

        assert processes.owned(folders.owner) == [], f"left behind in turn {turn}"
        assert not folders.state_file.exists()
        said = log.read_text()
        assert "Traceback" not in said, said
        assert status in {130, 143, 129, -signal.SIGTERM, -signal.SIGHUP}, said
    assert caught > MOMENTS / 4


def test_after_a_kill_down_finds_all_that_runs(tmp_path: Path) -> None:
    """SIGKILL leaves no time to clean up: nothing else starts there, and `down` ends everything."""
    moments = random.Random(15)  # noqa: S311 (moments, no secret)
    found = 0
    for turn in range(KILLS):
        folders = Folders(root=tmp_path / f"state{turn}")
        child = forked(_command("up", "--state", str(folders.root), folders=folders), tmp_path / "log")
        _let_it_start(folders, turn)
        time.sleep(moments.uniform(0, 0.6))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)

        left = processes.owned(folders.owner)
        if left:
            found += 1
            with pytest.raises(StackError, match="a stack is running in"):
                native.require_down(folders)
        native.down(folders)

        assert processes.owned(folders.owner) == []
        assert not folders.state_file.exists()
    assert found


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("load", "--url", "http://127.0.0.1:9", "--duration", "60s"), id="load"),
        pytest.param(("top", "--metrics", "http://127.0.0.1:9/metrics", "--once"), id="top"),
        pytest.param(("triage", "--prometheus", "http://127.0.0.1:9"), id="triage"),
    ],
)
def test_an_interrupted_command_ends_without_a_traceback(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """Whatever it did just then; no process of its own outlives it."""
    moments = random.Random(15)  # noqa: S311 (moments, no secret)
    for _ in range(MOMENTS):
        child = forked(_command(*arguments), tmp_path / "log")
        time.sleep(moments.uniform(0, 1.0))
        with suppress(ProcessLookupError):
            os.kill(child, moments.choice(NUMBERS))

        status = ended(child)

        said = (tmp_path / "log").read_text()
        assert "Traceback" not in said, said
        assert status in {0, 1, 3, 130, 143, 129, -signal.SIGTERM, -signal.SIGHUP}, said
        with pytest.raises(ProcessLookupError):
            os.killpg(child, 0)


def _files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_second_start_in_one_folder_touches_nothing(tmp_path: Path) -> None:
    """While the first is starting the second is refused, and every file is as it was."""
    folders = Folders(root=tmp_path / "state")
    first = forked(_command("up", "--state", str(folders.root), folders=folders), tmp_path / "first")
    deadline = time.monotonic() + LONGEST_SECONDS
    while len(processes.owned(folders.owner)) < 9 and time.monotonic() < deadline:
        time.sleep(0.01)
    before: dict[Path, bytes] = {}
    # The last process runs before it is noted.
    while before != (before := _files(folders.root)):
        time.sleep(0.2)

    second = forked(_command("up", "--state", str(folders.root), folders=folders), tmp_path / "second")

    assert ended(second) == 3
    assert "another program is starting a stack in" in (tmp_path / "second").read_text()
    assert _files(folders.root) == before
    os.kill(first, signal.SIGINT)
    assert ended(first) == 130
    assert processes.owned(folders.owner) == []


def test_a_process_that_is_being_loaded_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel shows no environment for a moment; `down` may come just then."""
    environ, looks = psutil.Process.environ, []

    def late(process: psutil.Process) -> dict[str, str]:
        if process.pid != sleeper.pid:
            return environ(process)
        looks.append(process)
        return environ(process) if len(looks) > 2 else {}

    with subprocess.Popen(["/bin/sleep", "60"], env={processes.OWNER: str(tmp_path)}) as sleeper:
        monkeypatch.setattr(psutil.Process, "environ", late)
        found = processes.owned(tmp_path)
        sleeper.kill()
    assert [process.pid for process in found] == [sleeper.pid]
