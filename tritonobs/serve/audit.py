"""Who changed which limit, when, from what to what, and why: an append-only log whose lines hold each other.

Every line carries the hash of the line before it, so a line that is changed, taken out or put in later shows.
A log that was cut at its end shows in that the limits in force are not those it ends with, and whoever noted
the last hash elsewhere can ask for it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from tritonobs.errors import SpecInvalid
from tritonobs.findings import Finding, Place
from tritonobs.plan.fleet import QpsLimit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime
    from pathlib import Path

    from tritonobs.plan.fleet import Limit

FIRST: Final = "0" * 64
FILE, COMMAND, ANNOTATION = "file", "command", "annotation"
# What the command writes it writes into the file.
_SCOPES: Final = {FILE: (FILE, COMMAND), COMMAND: (FILE, COMMAND), ANNOTATION: (ANNOTATION,)}
_TEXTS = ("at", "who", "source", "field", "model", "version", "old", "new", "reason", "previous", "hash")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One change; `old` is empty for a new limit, `new` for one that is gone; `hash` covers all the rest."""

    number: int
    at: str
    who: str
    source: str
    field: str
    model: str
    version: str
    old: str
    new: str
    reason: str
    previous: str
    hash: str = ""

    def digest(self) -> str:
        """What `hash` has to be."""
        value = {name: one for name, one in asdict(self).items() if name != "hash"}
        return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Whose change it is: a person or program, how it came, and the reason given."""

    who: str
    source: str
    reason: str = ""


class LimitsLog:
    """The log at one path. Writers take turns; a reader needs no turn, lines are written whole."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> tuple[tuple[Entry, ...], tuple[Finding, ...]]:
        """Every readable entry, and a finding for each line that is none or does not follow from the last."""
        entries: list[Entry] = []
        findings = []
        for line, text in enumerate(self._text().splitlines(), start=1):
            entry = _parse(text)
            problem = _problem(entry, entries[-1] if entries else None)
            if problem:
                place = Place(file=str(self.path), line=line, column=1)
                findings.append(Finding(place=place, path="", message=problem))
            if entry:
                entries.append(entry)
        return tuple(entries), tuple(findings)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Keep other writers of this log (and of what it tells about) out.

        Raises:
            SpecInvalid: the log cannot be opened for writing.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            message = f"the log of limits cannot be written: {error.strerror}"
            raise SpecInvalid(
                [Finding(place=Place(file=str(self.path)), path="", message=message)]
            ) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)

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
            added.append(Entry(**{**asdict(entry), "hash": entry.digest()}))
        self._append(added)
        return tuple(added)

    def _append(self, entries: list[Entry]) -> None:
        if not entries:
            return
        text = "".join(json.dumps(asdict(entry), ensure_ascii=False) + "\n" for entry in entries)
        before = self._text()
        # A line torn by a crash stays a line of its own; what comes later follows from the last whole one.
        torn = "\n" if before and not before.endswith("\n") else ""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(torn + text)
            file.flush()
            os.fsync(file.fileno())

    def _text(self) -> str:
        try:
            return self.path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return ""


def state(entries: tuple[Entry, ...], source: str) -> dict[str, Entry]:
    """The last entry of every limit that a source still holds at the end of the log."""
    last = {entry.field: entry for entry in entries if entry.source in _SCOPES[source]}
    return {field: entry for field, entry in last.items() if entry.new}


def describe(limit: Limit) -> str:
    """A limit as the log tells it: `8`, `unlimited`, `20 from 2026-11-11T00:00:00+08:00 until …`."""
    per_second = limit.qps if isinstance(limit, QpsLimit) else limit.per_second
    text = f"{per_second.normalize():f}" if per_second.is_finite() else "unlimited"
    if not isinstance(limit, QpsLimit):
        return text
    since = f" from {limit.valid_from.isoformat()}" if limit.valid_from else ""
    return text + since + (f" until {limit.valid_until.isoformat()}" if limit.valid_until else "")


def _parse(text: str) -> Entry | None:
    try:
        value = json.loads(text)
        if not isinstance(value["number"], int) or not all(isinstance(value[name], str) for name in _TEXTS):
            return None
        return Entry(**value)
    except (ValueError, KeyError, TypeError):
        return None


def _problem(entry: Entry | None, before: Entry | None) -> str:
    """What is wrong with a line, or nothing."""
    if entry is None:
        return "is no entry of this log: torn by a crash, or not written by tritonobs"
    if entry.hash != entry.digest():
        return f"entry {entry.number} was changed after it was written"
    if entry.previous != (before.hash if before else FIRST):
        after = f"entry {before.number}" if before else "the beginning"
        return f"entry {entry.number} does not follow from {after}: lines were taken out, put in or moved"
    return ""
