"""A stack to rehearse on: what it must be started with, and how to know one.

Rehearsals change model files, the fleet file and Prometheus' configuration: copies in the state folder.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import psutil

from tritonobs import files
from tritonobs.errors import StackError
from tritonobs.extensions.lab import faults
from tritonobs.extensions.lab.stack import native
from tritonobs.extensions.lab.stack.processes import Folders

_PRACTICE_MODEL = '''"""The model in sample.py, with the faults of a rehearsal."""

import sample

from tritonobs.extensions.lab.faults import with_faults

TritonPythonModel = with_faults(sample)
'''


_MOST_BYTES = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """What a stack for rehearsals was started with; its rules run `speed` times as fast as the fleet's."""

    fleet_file: Path
    speed: float


class NoRehearsal(StackError):
    """No stack runs here, or one that must not get faults."""


def prepare(folders: Folders, models: Path, fleet_file: Path, *, speed: float) -> Path:
    """Make copies of what rehearsals change, and note what the stack is; returns the model repository.

    Its models with stages take faults: `model.py` is a wrapper, the user's own is `sample.py` beside it.
    """
    shutil.rmtree(folders.models, ignore_errors=True)
    shutil.copytree(models, folders.models, ignore=shutil.ignore_patterns("__pycache__"))
    for code in folders.models.glob("*/*/model.py"):
        if "tritonobs.stage" in code.read_text(encoding="utf-8"):
            code.rename(code.with_name("sample.py"))
            code.write_text(_PRACTICE_MODEL, encoding="utf-8")
    noted = {"fleet_file": str(fleet_file), "speed": speed}
    folders.drills_file.write_text(json.dumps(noted), encoding="utf-8")
    return folders.models


def forget(folders: Folders) -> None:
    """The next stack is not for rehearsals, and has no faults of an earlier one."""
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
    try:
        noted = json.loads(files.read_text(folders.drills_file, most=_MOST_BYTES))
        return Rehearsal(fleet_file=Path(noted["fleet_file"]), speed=float(noted["speed"]))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise NoRehearsal(f"{folders.drills_file} is damaged; start the stack again") from error


def _takes_faults(folders: Folders) -> bool:
    """Whether its Triton really got the file, and not only a note was written."""
    for part in native.known(folders):
        process = part.process() if part.name == "triton" else None
        if process:
            try:
                return process.environ().get(faults.VARIABLE) == str(folders.faults_file)
            except psutil.Error:
                return False
    return False
