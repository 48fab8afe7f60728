"""The state folder of a stack: its owner, who may start in it, and which processes run."""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import Final

from tritonobs import files
from tritonobs.errors import FileUnusable, StackError
from tritonobs.lab.stack.processes import Part
from tritonobs.lab.stack.services import Folders

_MOST_BYTES: Final = 1024 * 1024
_POLL_SECONDS: Final = 0.02
_MOST_PID: Final = 2**31
_NUMBERS: Final = {"pid": int, "started": float}


@contextmanager
def starting(folders: Folders, *, patience_seconds: float = 0.0) -> Iterator[None]:
    """Keep every other start out of this folder while the block runs, and let a second one touch nothing.

    A process that was forked and has not become its program yet holds the turn of who forked it, too: in a
    turn of one's own every process of the folder can be seen.

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
        rows = json.loads(files.read_text(folders.state_file, most=_MOST_BYTES))
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
