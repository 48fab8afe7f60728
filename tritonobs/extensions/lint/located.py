"""Texts that know where in their file each of their characters stands, read from YAML and JSON.

A text may stand in a text: a board as JSON in a ConfigMap. Each is aligned with what is written around it
when a place in it is asked for.
"""

from __future__ import annotations

import bisect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from json import scanner
from typing import Any, Final, TypeAlias

import yaml

Value: TypeAlias = Any
"""A mapping, a list, a `Located` text, or a number, a truth or nothing from JSON."""

MAX_VALUES: Final = 500_000
MAX_DEPTH: Final = 100
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}|\r?\n[ \t]*|.)", re.DOTALL)
_HALVES: Final = re.compile(r"\\u[dD][89abAB]")
"""The first half of a character that JSON writes as two escapes."""
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Unreadable(Exception):
    """A text that is not what it should be; `offset` is where, or -1."""

    def __init__(self, reason: str, offset: int = -1) -> None:
        self.offset = offset
        super().__init__(reason)


class Source:
    """The text of a file; `made` says that what is read in it was made of it, so that it cannot be mended."""

    def __init__(self, file: str, text: str, *, made: bool = False) -> None:
        self.file, self.text, self.made = file, text, made
        self._lines = [0, *(found.end() for found in re.finditer("\n", text))]

    def offset(self, position: int) -> int:
        """Where in the file the character at `position` stands: here, at the same place."""
        return position

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of a place in the file, counted from 1; 0 for what stands nowhere in it (-1)."""
        if offset < 0:
            return 0, 0
        line = bisect.bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def offset_of(self, line: int) -> int:
        """Where a line, counted from 1, begins; the end of the file if it has fewer."""
        return self._lines[line - 1] if line <= len(self._lines) else len(self.text)

    def line(self, number: int) -> str:
        """The text of a line, or nothing beyond the end."""
        if number < 1:
            return ""
        return self.text[self.offset_of(number) : self.offset_of(number + 1)].rstrip("\r\n")


class Located(str):
    """A text with the place of each character. `style` is YAML's: `'`, `"`, `|`, `>` or nothing for plain."""

    __slots__ = ("_map", "end", "parent", "start", "style")

    parent: Source | Located
    start: int
    end: int
    style: str
    _map: Sequence[int] | None

    @classmethod
    def of(  # noqa: PLR0917 (a text, and where it is written)
        cls,
        text: str,
        parent: Source | Located,
        start: int,
        end: int,
        style: str,
        places: Sequence[int] | None = None,
    ) -> Located:
        """The text that stands from `start` to `end` in `parent`; `places` says where each character does."""
        made = cls(text)
        made.parent, made.start, made.end, made.style, made._map = parent, start, end, style, places
        return made

    @property
    def text(self) -> str:
        """The text itself, as a `Source` has it."""
        return self

    @property
    def source(self) -> Source:
        """The file."""
        return self.parent if isinstance(self.parent, Source) else self.parent.source

    def offset(self, position: int) -> int:
        """Where in the file the character at `position` stands."""
        return self.parent.offset(self._inner(position))

    def written(self, start: int, end: int) -> tuple[int, int] | None:
        """Where in the file the characters from `start` to `end` stand, if they are written as they are read.

        Breaks of lines may be other ones, as in a folded text.
        """
        if self.source.made:
            return None
        first = self.offset(start)
        last = self.offset(end - 1) + 1 if end > start else first
        alike = self.source.text[first:last].split() == self[start:end].split()
        return (first, last) if alike else None

    def place(self, position: int = 0) -> tuple[int, int]:
        """Line and column in the file, counted from 1."""
        return self.source.place(self.offset(position))

    def _inner(self, position: int) -> int:
        if self._map is None and position == 0:
            # Where a text begins is asked of every one, and what is behind it of few.
            return _aligned(self[:1], self.parent.text, self.start, self.end, self.style)[0]
        if self._map is None:
            self._map = _aligned(self, self.parent.text, self.start, self.end, self.style)
        return self._map[min(max(position, 0), len(self._map) - 1)]


def whole(source: Source) -> Located:
    """The file as one text."""
    return Located.of(source.text, source, 0, len(source.text), "whole")


def part(of: Located, start: int, end: int) -> Located:
    """The piece of a text from `start` to `end`."""
    return Located.of(of[start:end], of, start, end, "whole")


def spliced(pieces: Sequence[tuple[str, Located | None]], of: Located) -> Located:
    """A text made of pieces of `of` and of others (None), which stand where the last piece ended."""
    places: list[int] = []
    at = of.offset(0)
    for text, piece in pieces:
        if piece is None:
            places += [at] * len(text)
        else:
            places += [piece.offset(position) for position in range(len(text))]
            at = piece.offset(len(text))
    return Located.of("".join(text for text, _ in pieces), of.source, 0, 0, "spliced", (*places, at))


def read_json(text: Source | Located) -> Value:
    """The value; every text in it is `Located`.

    Raises:
        Unreadable: it is not JSON, or nested too deeply.
    """
    held = text.text
    decoder: Any = json.JSONDecoder()

    def string(whole_text: str, begin: int, strict: bool = True) -> tuple[Located, int]:  # noqa: FBT001, FBT002 (json's own signature)
        read, end = json.decoder.scanstring(whole_text, begin, strict)  # type: ignore[attr-defined] # typeshed has it not
        return Located.of(read, text, begin - 1, end, '"'), end

    decoder.parse_string = string
    # The scanner in C has no hook for texts; the one in Python is part of the library for such cases.
    decoder.scan_once = scanner.py_make_scanner(decoder)  # type: ignore[attr-defined] # typeshed has it not
    try:
        return decoder.decode(held)
    except RecursionError:
        raise Unreadable("is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise Unreadable(f"not JSON: {error.msg}", error.pos) from None


def read_yaml(text: Source | Located) -> Iterator[Value]:
    """Each document; every scalar in it is `Located`, also numbers, which stay as they are written.

    Raises:
        Unreadable: it is not YAML, has too many values, or is nested too deeply.
    """
    loader = None
    try:
        # libyaml takes no subclass of str.
        loader = _Loader(str(text.text))
        while loader.check_node():
            yield _Values(text).value(loader.get_node(), 0)
    except RecursionError:
        raise Unreadable("is nested too deeply") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
        at = mark.index if mark else getattr(error, "position", -1)
        raise Unreadable(f"not YAML: {reason}", at) from None
    finally:
        if loader is not None:
            loader.dispose()


class _Values:
    """One document's nodes as values; an alias is written out, a circle of them is refused."""

    def __init__(self, text: Source | Located) -> None:
        self._text, self._count = text, 0

    def value(self, node: yaml.Node, depth: int) -> Value:
        self._count += 1
        if self._count > MAX_VALUES:
            raise Unreadable(f"more than {MAX_VALUES:,} values with every alias written out")
        if depth > MAX_DEPTH:
            # Also a circle of aliases.
            raise Unreadable(f"more than {MAX_DEPTH} levels of nesting", node.start_mark.index)
        if isinstance(node, yaml.ScalarNode):
            return self._located(node)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(one, depth + 1) for one in node.value]
        made: dict[str, Value] = {}
        merged: list[Value] = []
        for key, below in node.value:
            name = self._located(key) if isinstance(key, yaml.ScalarNode) else ""
            value = self.value(below, depth + 1)
            if name == "<<":
                merged += value if isinstance(value, list) else [value]
            else:
                made.setdefault(name, value)
        for other in merged:
            for name, value in other.items() if isinstance(other, dict) else ():
                made.setdefault(name, value)
        return made

    def _located(self, node: yaml.ScalarNode) -> Located:
        start, end = node.start_mark.index, node.end_mark.index
        return Located.of(str(node.value), self._text, start, end, node.style or "")


def mapping(value: Value) -> Mapping[str, Value]:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def entries(value: Value) -> list[Value]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text_of(value: Value) -> str:
    """The value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def _aligned(text: str, around: str, start: int, end: int, style: str) -> list[int]:
    """For each character of `text`, and for its end, where in `around` it is written."""
    if style == "whole":
        return list(range(start, start + len(text) + 1))
    if style == '"':
        return _unescaped(text, around, start + 1, end - 1)
    places: list[int] = []
    at = start + 1 if style in ("'", "|", ">") else start
    if style in ("|", ">"):
        # Behind the header, which may hold an indentation and a comment.
        at = max(around.find("\n", at, end), at - 1) + 1
    for character in text:
        if character.isspace():
            places.append(min(at, end))
            # A space is written as one, a line break of a folded text as something else.
            at += at < end and around[at] == character
            continue
        while at < end and around[at] != character:
            at += 1
        places.append(min(at, end))
        # A quote within quotes is written twice.
        at += 2 if style == "'" and character == "'" else 1
    # An escape is written in more characters, so the end is not one behind the last one.
    places.append(min(at, end))
    return places


def _unescaped(text: str, around: str, start: int, end: int) -> list[int]:
    places: list[int] = []
    at = start
    while at < end and len(places) < len(text):
        wanted = text[len(places)]
        escape = _ESCAPE.match(around, at, end) if around[at] == "\\" else None
        if escape and escape[0][1] in "\r\n":
            at = escape.end()
        elif escape:
            places.append(at)
            at = escape.end()
            if _HALVES.match(escape[0]) and (second := _ESCAPE.match(around, at, end)):
                at = second.end()
        elif around[at] == wanted or not around[at].isspace():
            places.append(at)
            at += 1
        elif wanted.isspace():
            # YAML folds line breaks within quotes.
            places.append(at)
            while at < end and around[at].isspace():
                at += 1
        else:
            at += 1
    places += [min(at, end)] * (len(text) + 1 - len(places))
    return places
