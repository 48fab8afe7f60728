"""A stack to rehearse on: what it must be started with, and how to know one.

Rehearsals change model files, the fleet file and Prometheus' configuration: copies in the state folder.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from tritonobs import faults
from tritonobs.errors import StackError
from tritonobs.stack import native

if TYPE_CHECKING:
    from tritonobs.stack.services import Folders


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """What a stack for rehearsals was started with; its rules run `speed` times as fast as the fleet's."""

    fleet_file: Path
    speed: float


class NoRehearsal(StackError):  # noqa: N818 (reads as an event)
    """No stack runs here, or one that faults must not be given to."""


def prepare(folders: Folders, models: Path, fleet_file: Path, *, speed: float) -> Path:
    """Make copies of what rehearsals change, and note what the stack is; returns the model repository."""
    shutil.rmtree(folders.models, ignore_errors=True)
    shutil.copytree(models, folders.models, ignore=shutil.ignore_patterns("__pycache__"))
    noted = {"fleet_file": str(fleet_file), "speed": speed}
    folders.drills_file.write_text(json.dumps(noted), encoding="utf-8")
    return folders.models


def forget(folders: Folders) -> None:
    """What is started next is no stack for rehearsals, and has no faults of one before."""
    for file in (folders.drills_file, folders.faults_file):
        file.unlink(missing_ok=True)


def running(folders: Folders, name: str) -> Rehearsal:
    """The stack for rehearsals that runs in this state folder, which the user calls `name`.

    Raises:
        NoRehearsal: none does; the text holds the command that starts one.
    """
    parts = [part for part in native.known(folders) if part.process()]
    if not parts:
        raise NoRehearsal(
            f"no stack runs in {name}; start one to rehearse on with: tritonobs up --drills --detach"
        )
    if not folders.drills_file.exists() or not _takes_faults(folders):
        raise NoRehearsal(
            f"the stack in {name} was started without --drills and gets no faults; "
            "start another with: tritonobs down && tritonobs up --drills --detach"
        )
    noted = json.loads(folders.drills_file.read_text(encoding="utf-8"))
    return Rehearsal(fleet_file=Path(noted["fleet_file"]), speed=noted["speed"])


def _takes_faults(folders: Folders) -> bool:
    """Whether its Triton was really given the file, and not only a note written about it."""
    for part in native.known(folders):
        process = part.process() if part.name == "triton" else None
        if process:
            try:
                return process.environ().get(faults.VARIABLE) == str(folders.faults_file)
            except psutil.Error:
                return False
    return False
