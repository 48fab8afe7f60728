"""A finding: its place, what is wrong, how bad it is, and what to write or do instead.

Below are its words: how findings quote a value, and suggest the nearest valid word. Last is a document with
places: plain values, and the place of each key and value in its file.
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final, TypeAlias

NOTHING: Final = object()
"""A value that was forgotten; None means a field that was left out."""
MOST_FINDINGS: Final = 100
"""More cannot be read at once; a file of megabytes could have millions."""


class Severity(enum.IntEnum):
    """How bad a finding is; later means worse."""

    INFO = 0
    WARNING = 1
    ERROR = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where in which file; lines and columns count from 1, 0 means the file as a whole."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        """`fleet.yaml:12:5`, the form editors and terminals can follow."""
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing wrong.

    `path` is the field (`models.inspect.qps_limit`), `message` says what was found and what is allowed, and
    `hint` what to write instead, or nothing. `stands_for` counts the findings that this one summarises.
    """

    place: Place
    path: str
    message: str
    hint: str = ""
    severity: Severity = Severity.ERROR
    stands_for: int = 1

    def __str__(self) -> str:
        """One line: place, field, message, hint."""
        field = f"{self.path}: " if self.path else ""
        return f"{self.place}: {field}{self.message}" + (f" ({self.hint})" if self.hint else "")


def abridged(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The first `MOST_FINDINGS`, and one finding for all others: how many there are, as bad as the worst."""
    kept: list[Finding] = []
    more, first, worst = 0, None, Severity.INFO
    for finding in findings:
        if len(kept) < MOST_FINDINGS:
            kept.append(finding)
        else:
            first = first or finding
            more, worst = more + finding.stands_for, max(worst, finding.severity)
    if first:
        kept.append(more_findings(first.place, more, worst))
    return tuple(kept)


def more_findings(place: Place, count: int, severity: Severity = Severity.ERROR) -> Finding:
    """One finding for `count` findings that are not shown, the first of them at `place`."""
    message = f"and {count:,} more from here on; fix these first"
    return Finding(place=place, path="", message=message, severity=severity, stands_for=count)


_PLAIN_WORD = re.compile(r"[\w-]+")
_LONGEST = 60
_LONGEST_NAME: Final = 255
# One or two letters are part of nearly every name.
_SHORTEST_PART = 3
_MOST_LISTED = 16
_MOST_COMPARED = 2_000


def quoted(text: str, longest: int = _LONGEST) -> str:
    """The text on one line, in double quotes, cut where it gets longer than that."""
    return json.dumps(text if len(text) <= longest else text[: longest - 1] + "…", ensure_ascii=False)


def found(value: object) -> str:
    """What stands there, as a reader would say it: `"abc"`, `a list`, `nothing`."""
    if value is None or value is NOTHING:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return "a list"
    return quoted(str(value))


def listed(words: Collection[str]) -> str:
    """`a`, `a and b`, `a, b and c`, `a, b, … and 97 more`; names that are no plain word in quotes."""
    room = _MOST_LISTED if len(words) <= _MOST_LISTED else _MOST_LISTED - 1
    shown = [_word(word) for word in islice(words, room)]
    if len(words) > room:
        shown.append(f"{len(words) - room} more")
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1]))) if shown else "none"


def nearest(word: str, allowed: Iterable[str]) -> str:
    """`did you mean qps_limit?` when one of the allowed words is close, or nothing.

    Compares the first `_MOST_COMPARED` of them, and at words of up to `_LONGEST` letters: comparing two words
    costs the square of their length.
    """
    if len(word) > _LONGEST:
        return ""
    import difflib  # noqa: PLC0415 (only a wrong word needs it)

    words = [other for other in islice(allowed, _MOST_COMPARED) if len(other) <= _LONGEST]
    close = difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    if not close and len(word) >= _SHORTEST_PART:
        close = [other for other in words if word in other][:1]
    return f"did you mean {listed(close)}?" if close else ""


def _word(text: str) -> str:
    return text if len(text) <= _LONGEST and _PLAIN_WORD.fullmatch(text) else quoted(text)


def dotted(path: Sequence[str | int]) -> str:
    """`models.inspect.replicas[0]`; a name that is not a plain word is quoted, its newlines escaped.

    Fields are distinguished by it, so a name is only cut where it is longer than any that is allowed.
    """
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            plain = len(step) <= _LONGEST_NAME and _PLAIN_WORD.fullmatch(step)
            text += ("." if text else "") + (step if plain else quoted(step, _LONGEST_NAME))
    return text


Step: TypeAlias = str | int
"""A key of a mapping, or a position in a list."""


@dataclass(slots=True)
class Node:
    """A value, where it stands, and what is below it; `size` counts values with every alias written out."""

    line: int
    column: int
    value: Any = None
    children: dict[Step, Node] = field(default_factory=lambda: _NONE)
    key_places: dict[Step, tuple[int, int]] = field(default_factory=lambda: _NO_PLACES)
    size: int = 1


# Most values have nothing below them, and a large file has a great many of them.
_NONE: dict[Step, Node] = {}
_NO_PLACES: dict[Step, tuple[int, int]] = {}


@dataclass(slots=True)
class Source:
    """One document of one file: what it says, where, and what is wrong with it as YAML."""

    file: str
    root: Node
    findings: list[Finding] = field(default_factory=list)
    guesses: int = MOST_FINDINGS
    """How many more findings get a guess at what was meant: guessing costs more than anything else here."""
    moved: Mapping[tuple[Step, ...], Sequence[int]] = field(default_factory=dict)
    """Lists whose refused entries were taken out: where each entry that is left stands in the file's list."""

    def original(self, path: Sequence[Step]) -> tuple[Step, ...]:
        """The path as the file has it, from one whose positions count only the entries that are left."""
        there: tuple[Step, ...] = ()
        for step in path:
            left = self.moved.get(there, ())
            there = (*there, left[step] if isinstance(step, int) and step < len(left) else step)
        return there

    def guess(self, word: str, allowed: Iterable[str]) -> str:
        """A hint at the nearest of the allowed words, or nothing."""
        self.guesses -= 1
        return nearest(word, allowed) if self.guesses >= 0 else ""

    def place(self, path: Sequence[Step], *, key: bool = False) -> Place:
        """Where the value at `path` stands, or the nearest thing above it that exists.

        With `key`, where its key stands; an empty value is found at its key too.
        """
        node, at = self.root, (self.root.line, self.root.column)
        for step in self.original(path):
            below = node.children.get(step)
            if below is None:
                break
            own = (below.line, below.column)
            at = node.key_places.get(step, own) if key or below.value is None else own
            node = below
        return Place(file=self.file, line=at[0], column=at[1])

    def written(self, path: Sequence[Step]) -> tuple[Step, ...]:
        """As much of `path` as the author wrote."""
        node, there = self.root, self.original(path)
        for depth, step in enumerate(there):
            if step not in node.children:
                return there[:depth]
            node = node.children[step]
        return there

    def has(self, path: Sequence[Step]) -> bool:
        """Whether the author wrote a value at `path`, be it right or wrong; `{}` is none."""
        return len(self.written(path)) == len(path) and self.value(path) != {}

    def value(self, path: Sequence[Step] = ()) -> object:
        """What stands at `path`, or at the nearest thing above it that exists."""
        node = self.root
        for step in self.written(path):
            node = node.children[step]
        return node.value

    def finding(self, path: Sequence[Step], message: str, *, hint: str = "", key: bool = False) -> Finding:
        """An error in what stands at `path`."""
        place = self.place(path, key=key)
        field = dotted(self.original(path))
        return Finding(place=place, path=field, message=message, hint=hint)

    def warning(self, path: Sequence[Step], message: str, *, hint: str = "", key: bool = False) -> Finding:
        """The same about what is allowed, and looks wrong."""
        return replace(self.finding(path, message, hint=hint, key=key), severity=Severity.WARNING)
