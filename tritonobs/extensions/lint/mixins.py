"""Jsonnet: which files are evaluated by themselves, what they evaluate to, and where that is written.

A value has no place. An expression that is written out in one place of the files stands there; one that is
put together stands where its alert, record or panel is named; else only the file is known.
"""

from __future__ import annotations

import itertools
import os
import re
import resource
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Final

from tritonobs.errors import FileUnusable
from tritonobs.extensions.lint.expression import Expression
from tritonobs.extensions.lint.located import Located, Source
from tritonobs.files import read_text
from tritonobs.render import jsonnet
from tritonobs.render.jsonnet import NOTHING, Evaluated, External, Refused

SUFFIXES: Final = frozenset((".jsonnet", ".libsonnet"))
MOST_SECONDS: Final = 60.0
"""Of computing, for all files of a run together."""
_VENDOR: Final = "vendor"
_IMPORT = re.compile(r"\bimport(?:str)?\s*@?(['\"])(?P<path>[^'\"\n\0]+)\1")
_REMARK = re.compile(r"^\s*(?://|#).*$", re.MULTILINE)
_NAMED: Final = {use: re.compile(rf"\b{use}['\"]?\s*:+\s*$") for use in ("alert", "record")}
_TITLED: Final = re.compile(r"(?:\btitle['\"]?\s*[:=]+\s*|\bnew\s*\(\s*)$")
_NEAR: Final = 60
"""Characters before a text in which it says what it is."""
_TEXT = re.compile(
    # What has no end goes to the end of the file, so that no character is read twice.
    r"//[^\n]*|#[^\n]*|/\*.*?(?:\*/|\Z)"
    r"|(?P<block>\|\|\|(?P<cut>-?)[ \t]*\n(?P<body>.*?)(?:\n[ \t]*\|\|\||\Z))"
    r"|@(?P<verbatim>'(?:[^']|'')*(?:'|\Z)|\"(?:[^\"]|\"\")*(?:\"|\Z))"
    r"|(?P<quoted>'(?:[^'\\]|\\.)*(?:'|\Z)|\"(?:[^\"\\]|\\.)*(?:\"|\Z))",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


@dataclass(frozen=True, kw_only=True)
class Value:
    """A file and what it evaluates to, or why it does not; `origins` are the files it was made of."""

    source: Source
    named: bool
    outcome: Evaluated | Refused
    origins: tuple[Source, ...] = ()

    @property
    def text(self) -> Located:
        """The value as JSON, whose characters stand nowhere in the file."""
        held = self.outcome.text if isinstance(self.outcome, Evaluated) else ""
        return Located.of(held, self.source, 0, 0, "spliced", (-1,))

    def placed(self, expression: Expression) -> Expression:
        """The expression where it is written, as far as that is certain."""
        written = self._written.get(str(expression.text), [])
        text = written[0] if len(written) == 1 else self._beside_name(expression)
        if text is None:
            return expression
        return replace(expression, text=text, unit_text=None)

    def _beside_name(self, expression: Expression) -> Located | None:
        """All of the expression where its name is."""
        says = _NAMED.get(expression.use, _TITLED)
        places = [(one.source, one.offset(0)) for one in self._written.get(expression.name, [])]
        named = [
            (source, at) for source, at in places if says.search(source.text[max(0, at - 1 - _NEAR) : at - 1])
        ]
        if not expression.name or len(named) != 1:
            return None
        source, at = named[0]
        return Located.of(expression.text, source, at, at, "spliced", (at,))

    @cached_property
    def _written(self) -> dict[str, list[Located]]:
        """Every text that the files have, by what it is read as."""
        found: dict[str, list[Located]] = defaultdict(list)
        for source in self.origins:
            for one in filter(None, map(partial(_text, source), _TEXT.finditer(source.text))):
                found[str(one)].append(one)
        return found


class Mixins:
    """The jsonnet files of a run: gathered first, because a file that another imports is a part of it."""

    def __init__(
        self,
        roots: Sequence[Path],
        libraries: Sequence[Path],
        mentions: re.Pattern[str],
        external: External = NOTHING,
    ) -> None:
        self._roots, self._libraries, self._mentions = tuple(roots), tuple(libraries), mentions
        self._external = external
        self._files: dict[str, tuple[str, bool]] = {}
        self._texts: dict[str, str] = {}
        self._imported: dict[str, list[str]] = {}
        self._until = 0.0

    def add(self, file: str, text: str, *, named: bool) -> None:
        """A file that was named, or found in a folder; what lies in a `vendor` folder is no one's own."""
        if named or _VENDOR not in Path(_key(file)).relative_to(self._root(file)).parts:
            self._files[file] = text, named
            self._texts[_key(file)] = text

    def values(self) -> Iterator[Value]:
        """The value of each file that is evaluated by itself; where it has none, of those that it imports."""
        self._until = _computed() + MOST_SECONDS
        seen, parts = set[str](), set[str]()
        for file in self._entries():
            value = self._value(file)
            yield value
            read = value.outcome.read if isinstance(value.outcome, Evaluated) else (file,)
            seen |= set(map(_key, read))
            parts |= set(self._reached(file) if isinstance(value.outcome, Refused) else ())
        for file in self._files:
            if _key(file) in parts - seen and isinstance((value := self._value(file)).outcome, Evaluated):
                # Most parts have no value of their own, which is not a fault.
                yield value

    def _value(self, file: str) -> Value:
        text, named = self._files[file]
        source = Source(file, text, made=True)
        left = self._until - _computed()
        if left <= 0:
            reason = f"was not evaluated: the {MOST_SECONDS:g} s of computing for all jsonnet are over"
            return Value(source=source, named=True, outcome=Refused(reason=reason, file=file))
        outcome = jsonnet.evaluate_apart(
            file,
            text,
            within=self._roots or (Path(file).parent,),
            libraries=self._found_libraries(file),
            external=self._external,
            seconds=min(jsonnet.SECONDS, left),
        )
        if isinstance(outcome, Refused):
            return Value(source=source, named=named, outcome=outcome)
        others = [Source(one, self._text(one), made=True) for one in outcome.read if one != file]
        return Value(source=source, named=named, outcome=outcome, origins=(source, *others))

    def _entries(self) -> list[str]:
        """Files that were named or that no other imports, if they or what they import mention Triton."""
        imported = {one for file in self._files for one in self._imports(file) if one != _key(file)}
        first = [file for file, (_, named) in self._files.items() if named or _key(file) not in imported]
        reached = {one for file in first for one in self._reached(file)}
        # Files that import each other in a circle.
        first += [file for file in self._files if _key(file) not in reached]
        return [
            file
            for file in first
            if self._files[file][1]
            or any(self._mentions.search(self._text(one)) for one in self._reached(file))
        ]

    def _reached(self, file: str) -> dict[str, None]:
        reached: dict[str, None] = {}
        waiting = [_key(file)]
        while waiting:
            one = waiting.pop()
            if one not in reached:
                reached[one] = None
                waiting += self._imports(one)
        return reached

    def _imports(self, file: str) -> list[str]:
        """The files that one imports, without their being evaluated."""
        key = _key(file)
        if key not in self._imported:
            folders = (Path(key).parent, *self._found_libraries(file))
            within = [_key(str(one)) for one in (*(self._roots or folders[:1]), *folders[1:])]
            found = self._imported.setdefault(key, [])
            for match in _IMPORT.finditer(_REMARK.sub("", self._text(file))):
                tried = (_key(str(folder / match["path"])) for folder in folders)
                there = (one for one in tried if os.path.isfile(one))  # noqa: PTH113 (False for any name)
                allowed = (one for one in there if any(map(Path(one).is_relative_to, within)))
                found += itertools.islice(allowed, 1)
        return self._imported[key]

    def _text(self, file: str) -> str:
        key = _key(file)
        if key not in self._texts:
            try:
                self._texts[key] = read_text(Path(file), most=jsonnet.MOST_BYTES)
            except FileUnusable:
                self._texts[key] = ""
        return self._texts[key]

    def _found_libraries(self, file: str) -> tuple[Path, ...]:
        """`--jpath`, then each `vendor` beside the file or above it in the given paths, or where we run."""
        here, root = Path(_key(file)).parent, self._root(file)
        above = [one for one in (here, *here.parents) if one.is_relative_to(root)]
        vendors = dict.fromkeys(one / _VENDOR for one in (*above, Path.cwd()))
        return (*self._libraries, *(_shown(one) for one in vendors if one.is_dir()))

    def _root(self, file: str) -> Path:
        """The given folder in which a file lies."""
        path = Path(_key(file))
        roots = (Path(_key(str(one))) for one in self._roots)
        return next((one for one in roots if path.is_relative_to(one)), path.parent)


def _computed() -> float:
    """Seconds of computing of the processes that this one has started and that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _key(file: str) -> str:
    return os.path.realpath(file)


def _shown(path: Path) -> Path:
    """As people name it: from the folder where they are."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _text(source: Source, found: re.Match[str]) -> Located | None:
    """A text of jsonnet as it is read, with the place of each character; None for a remark."""
    if found["block"] is not None:
        lines = found["body"].split("\n")
        indent = re.match(r"[ \t]*", next(filter(str.strip, lines), ""))
        cut = indent[0] if indent else ""
        text = "\n".join(line.removeprefix(cut) for line in lines) + ("" if found["cut"] else "\n")
        return Located.of(text, source, found.start(), found.end(), "|")
    if (held := found["verbatim"]) is not None:
        text = held[1:-1].replace(held[0] * 2, held[0])
        return Located.of(text, source, found.start("verbatim"), found.end(), "'")
    if (held := found["quoted"]) is None:
        return None
    if "\\" not in held:
        return Located.of(held[1:-1], source, found.start() + 1, found.end() - 1, "whole")
    text = _ESCAPE.sub(
        lambda one: chr(int(one[1], 16)) if one[1] else _ESCAPED.get(one[2], one[2]), held[1:-1]
    )
    return Located.of(text, source, found.start(), found.end(), '"')
