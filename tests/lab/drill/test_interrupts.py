"""A drill that is interrupted, whenever, leaves the stack as it was."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import psutil
import pytest

from support.interrupts import LONGEST_SECONDS, MOMENTS, NUMBERS, ended, forked
from tritonobs import cli
from tritonobs.extensions.lab import commands
from tritonobs.extensions.lab.drill import run
from tritonobs.extensions.lab.drill.drill import Alert
from tritonobs.extensions.lab.drill.rig import Rig
from tritonobs.extensions.lab.drill.run import Session
from tritonobs.extensions.lab.stack import native

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import World

    from tritonobs.extensions.lab.drill.drill import Drill

pytestmark = pytest.mark.usefixtures("_quick")
IMPORTED = (commands, Session)  # here, so that no child has to
FROZEN = run.DRILLS["server-frozen"]


def _silent(world: World) -> Drill:
    """Its alert never fires, so it goes on until it is ended."""
    world.heard = False

    @contextmanager
    def cause(rig: Rig) -> Iterator[None]:
        with (
            rig.faults({"nms": {}}),
            rig.edited(rig.folders.root / "config.pbtxt", lambda text: f"{text}#"),
            FROZEN.cause(rig),
        ):
            yield

    (world.folders.root / "config.pbtxt").write_text("as it was")
    return replace(
        FROZEN,
        cause=cause,
        usual=(),
        traffic=(),
        alerts=(Alert(name="TritonobsServeDown"),),
    )


def _frozen(world: World) -> bool:
    (process,) = {part.process() for part in native.known(world.folders)}
    assert process is not None
    return process.status() == psutil.STATUS_STOPPED


def _as_it_was(world: World) -> bool:
    config = (world.folders.root / "config.pbtxt").read_text()
    return not world.folders.faults_file.exists() and config == "as it was" and not _frozen(world)


def test_a_drill_interrupted_at_any_moment_leaves_nothing_broken(started: World, tmp_path: Path) -> None:
    """Ctrl-C, `kill` and a closed terminal before, within and after the fault, and once more meanwhile."""
    moments = random.Random(15)  # noqa: S311 (moments, no secret)
    one, log, caught = _silent(started), tmp_path / "log", 0

    def work() -> None:
        run.DRILLS = {one.name: one}  # type: ignore[misc] # in this process only
        sys.argv = ["tritonobs", "drill", one.name, "--state", str(started.folders.root)]
        cli.run()

    for turn in range(MOMENTS):
        child = forked(work, log)
        if turn % 2:
            deadline = time.monotonic() + LONGEST_SECONDS
            while not started.folders.faults_file.exists() and time.monotonic() < deadline:
                time.sleep(0.001)
            time.sleep(moments.uniform(0, 0.02))
        else:
            time.sleep(moments.uniform(0, 0.6))
        caught += started.folders.faults_file.exists()
        for _ in range(moments.choice((1, 2))):
            with suppress(ProcessLookupError):
                os.kill(child, moments.choice(NUMBERS))
            time.sleep(moments.uniform(0, 0.02))

        status = ended(child)

        said = log.read_text()
        assert "Traceback" not in said, said
        assert status in {130, 143, 129, -signal.SIGTERM, -signal.SIGHUP}, said
        assert _as_it_was(started), f"in turn {turn}: {said}"
    assert caught > MOMENTS / 4


@pytest.mark.usefixtures("in_front")
def test_a_signal_in_the_middle_of_a_cause_undoes_it(started: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server was stopped, and nobody had noted that yet."""
    suspend = psutil.Process.suspend

    def suspended(process: psutil.Process) -> None:
        suspend(process)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(psutil.Process, "suspend", suspended)
    rig = Rig(started.folders, "here")

    with pytest.raises(KeyboardInterrupt), Session(rig, lambda *_: None) as session:
        list(session.rehearse([_silent(started)]))

    assert _as_it_was(started)
