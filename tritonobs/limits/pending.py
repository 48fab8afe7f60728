"""A change of the fleet file and its lines in the log are one transaction, also when the process is killed.

While a change is under way, a note beside the log says how long the log was and what the file is to become.
The next writer finds it: a file that has become that keeps its lines, any other loses them.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from tritonobs.errors import FileUnusable
from tritonobs.files import read_bytes, refused, replace, sweep

_MOST_NOTE_BYTES: Final = 65_536
_MOST_FILE_BYTES: Final = 64 * 1024 * 1024


def note_of(log: Path) -> Path:
    """Where the note about a change under way stands."""
    return log.with_name(f".{log.name}.pending")


@contextmanager
def together(log: Path, file: Path, data: bytes) -> Iterator[None]:
    """Put `data` into `file` after the block, which appends to `log`: both happen or neither.

    Raises:
        FileUnusable: something could not be written; then neither happened.
    """
    said = {"log_bytes": log.stat().st_size, "file": str(file), "after": hashlib.sha256(data).hexdigest()}
    # Before any line: from here on the next writer knows how long the log was.
    replace(note_of(log), json.dumps(said).encode())
    try:
        yield
        replace(file, data)
    finally:
        settle(log)


def settle(log: Path) -> None:
    """Finish or take back a change that was cut short; nothing happens when none was.

    Raises:
        FileUnusable: the note is damaged, or the log cannot be written.
    """
    note = note_of(log)
    sweep(note)
    if not note.exists():
        return
    try:
        said = json.loads(read_bytes(note, most=_MOST_NOTE_BYTES))
        file, length, after = Path(said["file"]), int(said["log_bytes"]), str(said["after"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FileUnusable(note, "is damaged; remove it, then look with: tritonobs limits verify") from error
    with refused(log, "written"):
        sweep(file)
        if _digest(file) != after and log.stat().st_size > length:
            with log.open("r+b") as lines:
                lines.truncate(length)
                os.fsync(lines.fileno())
        # Last: a process that is killed before it leaves the same work to the next writer.
        note.unlink()


def _digest(file: Path) -> str:
    with suppress(FileUnusable):
        return hashlib.sha256(read_bytes(file, most=_MOST_FILE_BYTES)).hexdigest()
    return ""
