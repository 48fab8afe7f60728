"""Who changed which limit, when and why: an append-only log, each line linked to the one before.

Every line carries the hash of the line before it, so a line that is changed, taken out or put in later shows.
A log that was cut at its end is noticed: the limits in force are not those it ends with, and who noted
the last hash elsewhere can ask for it.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Final

from tritonobs.errors import FileUnusable, SpecInvalid
from tritonobs.files import locked, read_bytes, refused
from tritonobs.findings import Finding, Place
from tritonobs.limits.entry import (
    FIRST,
    REPAIR,
    Author,
    Entry,
    as_line,
    describe,
    lines,
    parse_line,
    problem,
    sealed,
    state,
)
from tritonobs.limits.pending import note_of, settle, together
from tritonobs.plan.fleet import Limit, QpsLimit

MOST_BYTES: Final = 64 * 1024 * 1024
"""A hundred thousand changes; a log that is full is moved away by hand, and the next one starts empty."""
_POLL_SECONDS = 0.02


class LimitsLog:
    """The log at one path. Writers take turns; a reader needs no turn, lines are written whole."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> tuple[tuple[Entry, ...], tuple[Finding, ...]]:
        """Every readable entry, and a finding for each line that is none or does not follow from the last.

        Raises:
            SpecInvalid: the log is not a regular file, too large, or cannot be read.
        """
        entries: list[Entry] = []
        findings = []
        for number, line in enumerate(lines(self._data()), start=1):
            entry = parse_line(line)
            message = problem(line, entry, entries[-1] if entries else None)
            if message:
                place = Place(file=str(self.path), line=number, column=1)
                findings.append(Finding(place=place, path="", message=message))
            if entry:
                entries.append(entry)
        return tuple(entries), tuple(findings)

    @contextmanager
    def turn(self, *, patience_seconds: float = 10.0) -> Iterator[None]:
        """Keep other writers of this log (and of what it tells about) out; heal what a crash left behind.

        Raises:
            SpecInvalid: the log cannot be opened for writing, or another program keeps its turn for too long.
        """
        with self._sentences("written"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(self.path, flags, 0o644)
        try:
            with self._sentences("written"):
                _lock(self.path, descriptor, patience_seconds)
                # A change that was cut short first: taking it back may remove the torn line with the others.
                settle(self.path)
                self._heal()
            yield
        finally:
            # This gives the lock back; when the process is killed, the system does.
            os.close(descriptor)

    def needs_healing(self) -> bool:
        """Whether a crash left something that the next turn puts right."""
        return note_of(self.path).exists() or self._data()[-1:] not in {b"", b"\n"}

    @contextmanager
    def with_file(self, file: Path, data: bytes) -> Iterator[None]:
        """What the block records, and `data` in `file` after it: both or neither. Call it in a `turn`.

        Raises:
            SpecInvalid: something cannot be written.
        """
        try:
            with together(self.path, file, data):
                yield
        except FileUnusable as error:
            raise _finding(error) from error

    def record(
        self,
        limits: Mapping[str, Limit],
        author: Author,
        now: datetime,
        writers: Mapping[str, str] | None = None,
    ) -> tuple[Entry, ...]:
        """Append how `limits`, all that the author's source holds now (by field), differ from the log's end.

        `writers` names who wrote single fields, where that is known better. Call it in a `turn`.
        """
        entries, _ = self.read()
        known = state(entries, author.source)
        changes: dict[str, tuple[Entry | None, Limit | None]]
        changes = {field: (known.get(field), limit) for field, limit in limits.items()}
        changes |= {field: (last, None) for field, last in known.items() if field not in limits}
        added: list[Entry] = []
        for field, (last, limit) in changes.items():
            old, new = last.new if last else "", describe(limit) if limit else ""
            if old == new:
                continue
            previous = added[-1] if added else entries[-1] if entries else None
            entry = Entry(
                number=previous.number + 1 if previous else 1,
                at=now.isoformat(timespec="milliseconds"),
                who=(writers or {}).get(field) or author.who,
                source=author.source,
                field=field,
                model=limit.model if limit else last.model if last else "",
                version=limit.version if limit else last.version if last else "",
                old=old,
                new=new,
                reason=author.reason or (limit.reason if isinstance(limit, QpsLimit) else ""),
                previous=previous.hash if previous else FIRST,
            )
            added.append(sealed(entry))
        self._append(added)
        return tuple(added)

    def _append(self, entries: list[Entry]) -> None:
        if not entries:
            return
        data = b"".join(as_line(entry) + b"\n" for entry in entries)
        with self._sentences("written"), self.path.open("ab") as file:
            size = file.tell()
            try:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            except OSError:
                # A part of a line, on a disk that is full.
                os.truncate(self.path, size)
                raise

    def _heal(self) -> None:
        """Take out a line torn by a crash, and say so in an entry of its own."""
        data = self._data()
        torn = data[data.rfind(b"\n") + 1 :]
        if not torn:
            return
        if parse_line(torn):
            with self.path.open("ab") as file:
                file.write(b"\n")
            return
        os.truncate(self.path, len(data) - len(torn))
        entries, _ = self.read()
        last = entries[-1] if entries else None
        self._append(
            [
                sealed(
                    Entry(
                        number=last.number + 1 if last else 1,
                        at=datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
                        who="tritonobs",
                        source=REPAIR,
                        field="",
                        model="",
                        version="",
                        old="",
                        new="",
                        reason=f"took out a line of {len(torn)} bytes that a crash had torn",
                        previous=last.hash if last else FIRST,
                    )
                )
            ]
        )

    def _data(self) -> bytes:
        if not self.path.exists():
            return b""
        try:
            return read_bytes(self.path, most=MOST_BYTES)
        except FileUnusable as error:
            raise _finding(error) from error

    @contextmanager
    def _sentences(self, what: str) -> Iterator[None]:
        try:
            with refused(self.path, what):
                yield
        except FileUnusable as error:
            raise _finding(error) from error


def _lock(path: Path, descriptor: int, patience_seconds: float) -> None:
    """Wait for the turn, within bounds: a program that was stopped in its turn must not stop others."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise FileUnusable(path, "is not a regular file")
    deadline = time.monotonic() + patience_seconds
    while not locked(descriptor):
        if time.monotonic() > deadline:
            busy = f"is being changed by another program for {patience_seconds:.0f} s already"
            raise FileUnusable(path, f"{busy}; this shows which one: fuser {path}")
        time.sleep(_POLL_SECONDS)


def _finding(error: FileUnusable) -> SpecInvalid:
    message = f"the log of limits {error.reason}"
    return SpecInvalid([Finding(place=Place(file=str(error.path)), path="", message=message)])
