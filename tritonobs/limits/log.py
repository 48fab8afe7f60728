"""Who changed which limit, when and why: an append-only log, each line linked to the one before.

Every line carries the hash of the line before it, so a changed, removed or inserted line is detected. A log
that was cut at its end is detected, too: the limits in force are not its last ones, and a last hash that was
noted elsewhere is missing.

A change of the fleet file and its lines in the log are one transaction, also when the process is killed.
While a change is under way, a note beside the log says how long the log was and what the file is to become.
The next writer finds it: a file that has become that keeps its lines, any other loses them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Final

from tritonobs.errors import FileUnusable
from tritonobs.files import locked, read_bytes, refused, replace, sweep
from tritonobs.findings import Finding, Place
from tritonobs.plan.fleet import Limit, QpsLimit

MOST_BYTES: Final = 64 * 1024 * 1024
"""A hundred thousand changes; a log that is full is moved away by hand, and the next one starts empty."""
_POLL_SECONDS = 0.02

FIRST: Final = "0" * 64
FILE, COMMAND, ANNOTATION, REPAIR = "file", "command", "annotation", "repair"
# What the command writes it writes into the file.
_SCOPES: Final = {FILE: (FILE, COMMAND), COMMAND: (FILE, COMMAND), ANNOTATION: (ANNOTATION,)}
_TEXTS = ("at", "who", "source", "field", "model", "version", "old", "new", "reason", "previous", "hash")

_NAMED: Final = "the log of limits "
_MOST_NOTE_BYTES: Final = 65_536
_MOST_FILE_BYTES: Final = 64 * 1024 * 1024


class LimitsLog:
    """The log at one path. Writers take turns; a reader needs no turn, lines are written whole."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> tuple[tuple[Entry, ...], tuple[Finding, ...]]:
        """Every readable entry, and a finding for each line that is not, or does not follow.

        Raises:
            FileUnusable: the log is not a regular file, too large, or cannot be read.
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
        """Lock out other writers of this log (and of its fleet file); repair what a crash left behind.

        Raises:
            FileUnusable: the log cannot be opened for writing, or another program keeps its turn too long.
        """
        with _reported(), refused(self.path, "written"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(self.path, flags, 0o644)
        try:
            with _reported(), refused(self.path, "written"):
                _lock(self.path, descriptor, patience_seconds)
                self._require_log()
                # A change that was cut short first: taking it back may remove the torn line with the others.
                settle(self.path)
                self._heal()
            yield
        finally:
            # This gives the lock back; when the process is killed, the system does.
            os.close(descriptor)

    def needs_healing(self) -> bool:
        """Whether a crash left something that the next turn repairs."""
        return note_of(self.path).exists() or self._data()[-1:] not in {b"", b"\n"}

    @contextmanager
    def with_file(self, file: Path, data: bytes) -> Iterator[None]:
        """What the block records, and `data` in `file` after it: both or neither. Call it in a `turn`.

        Raises:
            FileUnusable: something cannot be written; then neither happened.
        """
        length, after = self.path.stat().st_size, hashlib.sha256(data).hexdigest()
        said = {"log_bytes": length, "file": str(file), "after": after}
        with _reported():
            # Before any line: from here on the next writer knows how long the log was.
            replace(note_of(self.path), json.dumps(said).encode())
        try:
            yield
            replace(file, data)
        finally:
            with _reported():
                settle(self.path)

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
            subject = limit or last
            entry = _following(
                previous,
                now,
                who=(writers or {}).get(field) or author.who,
                source=author.source,
                field=field,
                model=subject.model if subject else "",
                version=subject.version if subject else "",
                old=old,
                new=new,
                reason=author.reason or (limit.reason if isinstance(limit, QpsLimit) else ""),
            )
            added.append(entry)
        self._append(added)
        return tuple(added)

    def _append(self, entries: list[Entry]) -> None:
        if not entries:
            return
        data = b"".join(as_line(entry) + b"\n" for entry in entries)
        with _reported(), refused(self.path, "written"):
            size = self.path.stat().st_size
            try:
                with self.path.open("ab") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
            except OSError:
                # A part of a line, on a disk that is full. After the file was closed, which writes the rest.
                os.truncate(self.path, size)
                raise

    def _require_log(self) -> None:
        """Refuse a file that is something else: its last line would be taken for a cut one."""
        *whole, torn = written = self._data().split(b"\n")
        begun = not whole and torn.startswith(b'{"')
        if any(written) and not begun and not any(map(parse_line, written)):
            raise FileUnusable(self.path, "is another file, without a line of such a log; name a new one")

    def _heal(self) -> None:
        """Remove a line cut by a crash, and log that in an entry of its own."""
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
        reason = f"removed a line of {len(torn)} bytes that a crash had cut"
        now = datetime.now(timezone.utc)
        self._append([_following(last, now, who="tritonobs", source=REPAIR, reason=reason)])

    def _data(self) -> bytes:
        if not self.path.exists():
            return b""
        with _reported():
            return read_bytes(self.path, most=MOST_BYTES)


def _lock(path: Path, descriptor: int, patience_seconds: float) -> None:
    """Wait for the lock, within bounds: a program that was stopped with the lock must not stop others."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise FileUnusable(path, "is not a regular file")
    deadline = time.monotonic() + patience_seconds
    while not locked(descriptor):
        if time.monotonic() > deadline:
            busy = f"is being changed by another program for {patience_seconds:.0f} s already"
            raise FileUnusable(path, f"{busy}; this shows which one: fuser {path}")
        time.sleep(_POLL_SECONDS)


@contextmanager
def _reported() -> Iterator[None]:
    """A file that cannot be used is named as the log of limits."""
    try:
        yield
    except FileUnusable as error:
        # What writes a log reads it, too, and either may have said so already.
        named = "" if error.reason.startswith(_NAMED) else _NAMED
        raise FileUnusable(error.path, f"{named}{error.reason}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One change; `old` is empty for a new limit, `new` for one that is gone; `hash` covers all the rest."""

    number: int
    at: str
    who: str
    source: str
    field: str = ""
    model: str = ""
    version: str = ""
    old: str = ""
    new: str = ""
    reason: str
    previous: str
    hash: str = ""

    def digest(self) -> str:
        """The right value of `hash`."""
        # JSON as ASCII: a reason may hold bytes that are no text, which UTF-8 refuses.
        value = {name: one for name, one in asdict(self).items() if name != "hash"}
        return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Whose change it is: a person or program, how it came, and the reason given."""

    who: str
    source: str
    reason: str = ""


def state(entries: tuple[Entry, ...], source: str) -> dict[str, Entry]:
    """The last entry of every limit that a source still holds at the end of the log."""
    last = {entry.field: entry for entry in entries if entry.source in _SCOPES[source]}
    return {field: entry for field, entry in last.items() if entry.new}


def describe(limit: Limit) -> str:
    """A limit as the log has it: `8`, `unlimited`, `20 from 2026-11-11T00:00:00+08:00 until …`."""
    per_second = limit.qps if isinstance(limit, QpsLimit) else limit.per_second
    text = f"{per_second.normalize():f}" if per_second.is_finite() else "unlimited"
    if not isinstance(limit, QpsLimit):
        return text
    since = f" from {limit.valid_from.isoformat()}" if limit.valid_from else ""
    return text + since + (f" until {limit.valid_until.isoformat()}" if limit.valid_until else "")


def parse_line(line: bytes) -> Entry | None:
    """The entry of one line, or None when the line is not an entry; never raises."""
    try:
        value = json.loads(line)
        if type(value["number"]) is not int or not all(isinstance(value[name], str) for name in _TEXTS):
            return None
        return Entry(**value)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def lines(data: bytes) -> list[bytes]:
    """Lines end with a newline alone: a reason may hold what Unicode calls the end of a line."""
    found = data.split(b"\n")
    return found if found[-1] else found[:-1]


def as_line(entry: Entry) -> bytes:
    """How an entry is written: readable, with control characters as escapes."""
    text = json.dumps(asdict(entry), ensure_ascii=False)
    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text).encode()


def _as_before(entry: Entry) -> bytes:
    """How tritonobs wrote an entry until 0.5."""
    return json.dumps(asdict(entry), ensure_ascii=False).encode("utf-8", "surrogatepass")


def _following(last: Entry | None, now: datetime, **what: str) -> Entry:
    """The entry after the last one, with its hash."""
    entry = Entry(
        number=last.number + 1 if last else 1,
        at=now.isoformat(timespec="milliseconds"),
        previous=last.hash if last else FIRST,
        **what,
    )
    return dataclasses.replace(entry, hash=entry.digest())


def problem(line: bytes, entry: Entry | None, before: Entry | None) -> str:
    """What is wrong with a line, or nothing."""
    if entry is None:
        return "is not an entry of this log: cut by a crash, or not written by tritonobs"
    if entry.hash != entry.digest():
        return f"entry {entry.number} was changed after it was written"
    # The hash is of the values: a space, or a name written twice, does not change it.
    if line not in (as_line(entry), _as_before(entry)):
        return f"entry {entry.number} is not as tritonobs writes it: spaces, order or names were changed"
    if entry.previous != (before.hash if before else FIRST):
        after = f"entry {before.number}" if before else "the beginning"
        return f"entry {entry.number} does not follow from {after}: lines were removed, inserted or moved"
    return ""


def note_of(log: Path) -> Path:
    """Where the note about a change under way stands."""
    return log.with_name(f".{log.name}.pending")


def settle(log: Path) -> None:
    """Finish or undo an interrupted change; nothing happens when there is none.

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
        raise FileUnusable(note, "is damaged; remove it, then check with: tritonobs limits verify") from error
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
