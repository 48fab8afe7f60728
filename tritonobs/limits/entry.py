"""One entry of the log of limits: its content, its text, and the hash that links it to the one before."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from typing import Final

from tritonobs.plan.fleet import Limit, QpsLimit

FIRST: Final = "0" * 64
FILE, COMMAND, ANNOTATION, REPAIR = "file", "command", "annotation", "repair"
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
    """A limit as the log tells it: `8`, `unlimited`, `20 from 2026-11-11T00:00:00+08:00 until …`."""
    per_second = limit.qps if isinstance(limit, QpsLimit) else limit.per_second
    text = f"{per_second.normalize():f}" if per_second.is_finite() else "unlimited"
    if not isinstance(limit, QpsLimit):
        return text
    since = f" from {limit.valid_from.isoformat()}" if limit.valid_from else ""
    return text + since + (f" until {limit.valid_until.isoformat()}" if limit.valid_until else "")


def parse_line(line: bytes) -> Entry | None:
    """The entry of one line, or None when it is none; never raises."""
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
    """How an entry is written: readable, and what no terminal should see as escapes."""
    text = json.dumps(asdict(entry), ensure_ascii=False)
    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text).encode()


def _as_before(entry: Entry) -> bytes:
    """How tritonobs wrote an entry until 0.5."""
    return json.dumps(asdict(entry), ensure_ascii=False).encode("utf-8", "surrogatepass")


def sealed(entry: Entry) -> Entry:
    """The entry with its hash."""
    return replace(entry, hash=entry.digest())


def problem(line: bytes, entry: Entry | None, before: Entry | None) -> str:
    """What is wrong with a line, or nothing."""
    if entry is None:
        return "is not an entry of this log: torn by a crash, or not written by tritonobs"
    if entry.hash != entry.digest():
        return f"entry {entry.number} was changed after it was written"
    # The hash is of the values: a space, or a name written twice, does not change it.
    if line not in (as_line(entry), _as_before(entry)):
        return f"entry {entry.number} is not as tritonobs writes it: spaces, order or names were changed"
    if entry.previous != (before.hash if before else FIRST):
        after = f"entry {before.number}" if before else "the beginning"
        return f"entry {entry.number} does not follow from {after}: lines were taken out, put in or moved"
    return ""
