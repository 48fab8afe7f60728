"""Drills on a running stack for rehearsals: alerts and verdicts as promised, and the stack as before."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tritonobs.clients.triton import TritonClient
from tritonobs.extensions.lab.drill import run
from tritonobs.extensions.lab.drill.rig import Rig
from tritonobs.extensions.lab.drill.run import DRILLS, Session
from tritonobs.extensions.lab.load.images import parse_mix
from tritonobs.extensions.lab.load.run import LoadPlan, run_load
from tritonobs.extensions.lab.load.schedule import Segment
from tritonobs.extensions.lab.stack import local, native
from tritonobs.extensions.lab.stack.processes import Folders

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tritonobs.extensions.lab.stack.local import Running

pytestmark = pytest.mark.e2e

CHOSEN = ("robot-muted", "more-boxes")
"""An alert, a part that is started again, and a fault inside a model; neither takes a minute."""
CALM_SECONDS = 15.0


@pytest.fixture(name="rehearsed", scope="module")
def _rehearsed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A stack whose models take faults, with rules five times as fast."""
    folders = Folders(root=tmp_path_factory.mktemp("drills"))
    running = local.start(None, folders, lambda _: None, move_ports=True, drills_speed=5.0)
    yield running
    native.down(folders)


def _files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_drills_keep_their_promises_and_leave_nothing_behind(
    rehearsed: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each alert fires and resolves, triage names each cause first; files and parts are as before."""
    monkeypatch.setattr(run, "CALM_SECONDS", CALM_SECONDS)
    folders = rehearsed.folders
    before = _files(folders.models) | _files(folders.built)
    rig = Rig(folders, "here")

    with Session(rig, lambda *_: None) as session:
        outcomes = list(session.rehearse([DRILLS[name] for name in CHOSEN]))

    assert {outcome.drill: outcome.broken for outcome in outcomes} == dict.fromkeys(CHOSEN, ())
    assert _files(folders.models) | _files(folders.built) == before
    assert not folders.faults_file.exists()
    assert [row.state for row in local.health(folders)] == ["ready"] * len(
        json.loads(folders.state_file.read_text())
    )
    assert all(entry.ready for entry in TritonClient(rig.replica.http_url).repository_index())


def test_a_language_model_comes_and_goes(rehearsed: Running) -> None:
    """It answers prompts while a drill is prepared; then the server and the files are as before."""
    folders, rig = rehearsed.folders, Rig(rehearsed.folders, "here")
    before, fleet = _files(folders.models), rig.fleet_file.read_bytes()
    known = rig.triton.repository_index()
    prompts = LoadPlan(
        segments=(Segment(qps=5, seconds=2),),
        urls=(rig.replica.http_url,),
        model="llm",
        mix=parse_mix("prompt:60x4"),
    )
    prepare = DRILLS["kv-cache-full"].prepare
    assert prepare is not None

    with prepare(rig):
        answered = run_load(prompts)

    assert (answered.sent, answered.ok) == (10, 10)
    assert (_files(folders.models), rig.fleet_file.read_bytes()) == (before, fleet)
    assert rig.triton.repository_index() == known
