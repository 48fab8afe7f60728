"""Faults go to a stack for rehearsals, and to nothing else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tritonobs.extensions.lab.stack import rehearsal
from tritonobs.extensions.lab.stack.rehearsal import NoRehearsal

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from conftest import World

    from tritonobs.extensions.lab.stack.processes import Folders

    Sleeper = Callable[[Folders, dict[str, str]], subprocess.Popen[bytes]]


def test_without_a_stack_the_command_that_starts_one_is_told(world: World) -> None:
    """Exactly."""
    with pytest.raises(NoRehearsal) as refused:
        rehearsal.running(world.folders, ".tritonobs")

    assert str(refused.value) == (
        "no stack runs in .tritonobs; start one to rehearse on with: tritonobs up --drills --detach"
    )


@pytest.mark.parametrize("noted", [False, True], ids=["no note", "a note that was left behind"])
def test_an_ordinary_stack_gets_no_faults(world: World, sleeper: Sleeper, *, noted: bool) -> None:
    """Only the server's own environment says that it takes faults."""
    process = sleeper(world.folders, {})
    if noted:
        world.folders.drills_file.write_text(json.dumps({"fleet_file": "fleet.yaml", "speed": 1.0}))

    with pytest.raises(NoRehearsal) as refused:
        rehearsal.running(world.folders, ".tritonobs")
    process.kill()
    process.communicate()

    assert str(refused.value) == (
        "the stack in .tritonobs was started without --drills and gets no faults; "
        "start another with: tritonobs down && tritonobs up --drills --detach"
    )


def test_a_stack_for_rehearsals_is_known(started: World) -> None:
    """With the speed of its rules."""
    assert rehearsal.running(started.folders, ".tritonobs").speed == 5.0


def test_what_is_started_next_is_no_stack_for_rehearsals(started: World) -> None:
    """Note and faults of the last one are gone."""
    started.folders.faults_file.write_text("{}")

    rehearsal.forget(started.folders)

    assert not started.folders.drills_file.exists()
    assert not started.folders.faults_file.exists()
