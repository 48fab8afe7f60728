"""Change a limit in the fleet file: wrong values refused, comments kept, changes logged."""

from __future__ import annotations

import codecs
import math
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Final

import yaml

from tritonobs.errors import FileUnusable, SpecInvalid
from tritonobs.files import read_bytes
from tritonobs.findings import Finding, Place, Severity, listed, nearest, quoted
from tritonobs.limits.log import COMMAND, FILE, FIRST, Author, Entry, LimitsLog, describe, state
from tritonobs.plan.build import check
from tritonobs.plan.fleet import Limit
from tritonobs.plan.limits import TOKENS_FIELD, written_limits, written_token_limits
from tritonobs.spec.load import MAX_BYTES, load_fleet, read_text
from tritonobs.spec.reading import append_entry, set_field
from tritonobs.spec.schema import Spec
from tritonobs.units import format_number

LIMITS_LOG_VARIABLE: Final = "TRITONOBS_LIMITS_LOG"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A limit to be set: of a model, of one of its versions, or with neither of the fleet, or as the default.

    Limits requests, or with a `kind` the tokens of that kind, which the fleet has no limit of.
    With a time it becomes a scheduled limit, of requests; with an end only, one that begins now.
    `per_second` may be infinite, for `unlimited`.
    """

    per_second: Decimal
    kind: str = ""
    model: str = ""
    version: str = ""
    default: bool = False
    valid_from: datetime | None = None
    valid_until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """The result of a change: the new entries of the log, and warnings about the current file."""

    entries: tuple[Entry, ...]
    warnings: tuple[Finding, ...]


def set_limit(path: Path, change: Change, *, who: str, reason: str) -> Changed:
    """Write a limit into the fleet file at `path`, and into its log.

    Raises:
        ValueError: there is no such model or version, the limit would have ended before now, or the file's
            layout does not let one field be changed.
        SpecInvalid: the file was wrong before or would be afterwards.
        FileUnusable: the file or its log cannot be read or written; then neither was changed.
    """
    real = path.resolve()
    log = log_of(path)
    with log.turn():
        # Read in turn: another writer may just have changed the file.
        before = load_fleet(path)
        data = read_bytes(real, most=MAX_BYTES)
        mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
        edited = _edited(data.decode("utf-8-sig"), before, change, reason)
        after, warnings = _judged(edited, str(path))
        # What was changed by hand gets entries of its own, or it would be logged as this author's.
        log.record(_written(before), _whoever(real), _now())
        author = Author(who=who, source=COMMAND, reason=reason)
        with log.with_file(real, mark + edited.encode()):
            entries = log.record(_written(after), author, _now())
        return Changed(entries=entries, warnings=warnings)


def log_path(spec: Spec, path: Path) -> Path:
    """The log of this fleet's limit changes: beside the fleet file unless configured otherwise.

    The environment takes precedence: a container reads the same file as its host, and writes to another
    place. All names of the fleet file have one log; one that a link's name was given is kept.

    Raises:
        SpecInvalid: it is the fleet file itself.
    """
    real = path.resolve()
    usual, linked = (real.parent / f"{stem}.limits.jsonl" for stem in (real.stem, path.stem))
    forced = os.environ.get(LIMITS_LOG_VARIABLE)
    named = forced or spec.limits_log
    if not named:
        return linked if linked.exists() and not usual.exists() else usual
    log = real.parent / named
    if log.resolve() == real:
        message = f"{named!r} is the fleet file itself; name another file"
        if forced:
            message = f"{LIMITS_LOG_VARIABLE}={message}"
        raise SpecInvalid([spec.source.finding(() if forced else ("limits_log",), message)])
    return log


def _written(spec: Spec) -> dict[str, Limit]:
    """Every limit of the file, by the field that holds it."""
    return {**written_limits(spec), **written_token_limits(spec)}


def _edited(text: str, spec: Spec, change: Change, reason: str) -> str:
    number = format_number(change.per_second) if change.per_second.is_finite() else "unlimited"
    section = _section(spec, change)
    if change.valid_from is not None or change.valid_until is not None:
        entry = ", ".join((f"qps_limit: {number}", *_times(change), *_reason(reason)))
        return append_entry(text, section, "scheduled_limits", f"{{{entry}}}")
    if change.kind:
        return set_field(text, (*section, TOKENS_FIELD), change.kind, number)
    return set_field(text, section, "qps_limit", number)


def _times(change: Change) -> Iterator[str]:
    # An entry without a beginning would change what was in force in the past.
    begins, ends = change.valid_from or _now().replace(microsecond=0), change.valid_until
    if ends and not change.valid_from and ends <= begins:
        raise ValueError(f"the limit would end at {ends.isoformat()}; it is {begins.isoformat()} now")
    yield f'valid_from: "{begins.isoformat()}"'
    if ends:
        yield f'valid_until: "{ends.isoformat()}"'


def _reason(reason: str) -> Iterator[str]:
    if reason:
        # An argument of a command may hold bytes that are not UTF-8; YAML has no escape for them.
        text = reason.encode(errors="replace").decode()
        quoted = yaml.safe_dump(text, default_style='"', allow_unicode=True, width=math.inf)
        yield f"reason: {quoted.strip()}"


def _section(spec: Spec, change: Change) -> tuple[str, ...]:
    """The path of the mapping that holds the limit."""
    if change.default:
        return ("defaults",)
    if not change.model:
        return ()
    model = spec.models.get(change.model)
    if model is None:
        raise ValueError(_unknown("model", change.model, list(spec.models)))
    if change.version and change.version not in model.versions:
        raise ValueError(_unknown(f"version of {change.model}", change.version, list(model.versions)))
    return ("models", change.model, *(("versions", change.version) if change.version else ()))


def _unknown(kind: str, name: str, known: list[str]) -> str:
    hint = nearest(name, known)
    return f"{quoted(name)} is not a {kind}; there are {listed(known)}" + (f" ({hint})" if hint else "")


def _judged(text: str, file: str) -> tuple[Spec, tuple[Finding, ...]]:
    """The spec of the new text, and warnings about it."""
    reading = read_text(text, file)
    findings = (*reading.findings, *(check(reading.spec) if reading.spec else ()))
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    if errors or reading.spec is None:
        raise SpecInvalid(errors)
    return reading.spec, findings


def _now() -> datetime:
    return datetime.now(timezone.utc)


def log_of(path: Path) -> LimitsLog:
    """The log of the fleet file at `path`.

    Raises:
        SpecInvalid: the fleet file is wrong.
    """
    return LimitsLog(log_path(load_fleet(path), path))


def verify_log(path: Path, expected: str = "") -> tuple[tuple[Finding, ...], str]:
    """What is wrong with the log of a fleet file, and the hash it ends with.

    Raises:
        SpecInvalid: the fleet file is wrong.
        FileUnusable: its log cannot be read.
    """
    log = log_of(path)
    entries, findings = log.read()
    more = _differences(log, entries, path)
    if (more and log.path.exists()) or log.needs_healing():
        # Again, with the lock: a change that was under way may have ended.
        # A user who may only read sees the log as it is.
        with suppress(FileUnusable), log.turn():
            entries, findings = log.read()
            more = _differences(log, entries, path)
    # Any entry may have it: the log may have grown since its hash was noted.
    if expected and expected not in {entry.hash for entry in entries}:
        message = f"no entry has the hash {expected}: the log was cut or rewritten"
        more = (*more, Finding(place=Place(file=str(log.path)), path="", message=message))
    return (*findings, *more), entries[-1].hash if entries else FIRST


def _differences(log: LimitsLog, entries: tuple[Entry, ...], path: Path) -> tuple[Finding, ...]:
    """Fields whose last limit in the log is not that of the fleet file."""
    known = {field: entry.new for field, entry in state(entries, FILE).items()}
    written = {field: describe(limit) for field, limit in _written(load_fleet(path)).items()}
    return tuple(
        Finding(
            place=Place(file=str(log.path)),
            path=field,
            message=f"the log ends with {known.get(field, 'nothing')}, "
            f"the fleet file says {written.get(field, 'nothing')}",
            hint="changed without the log, or the log was cut",
        )
        for field in sorted(known.keys() | written.keys())
        if known.get(field) != written.get(field)
    )


def note_file(path: Path) -> tuple[Entry, ...]:
    """Write down what was changed in the fleet file by other means than `set_limit`.

    Raises:
        SpecInvalid: the fleet file is wrong.
        FileUnusable: the log cannot be written.
    """
    log = log_of(path)
    with log.turn():
        # Read with the lock: an earlier reading might be older than the log.
        return log.record(_written(load_fleet(path)), _whoever(path), _now())


def _whoever(path: Path) -> Author:
    try:
        owner = f"unknown, file of {path.owner()}"
    except (KeyError, OSError):
        owner = "unknown"
    return Author(who=owner, source=FILE, reason="found in the fleet file")
