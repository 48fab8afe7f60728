"""A document with places: plain values, and the place of each key and value in its file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tritonobs.findings import MOST_FINDINGS, Finding, Place, Severity, dotted, nearest

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

    def guess(self, word: str, allowed: Iterable[str]) -> str:
        """A hint at the nearest of the allowed words, or nothing."""
        self.guesses -= 1
        return nearest(word, allowed) if self.guesses >= 0 else ""

    def place(self, path: Sequence[Step], *, key: bool = False) -> Place:
        """Where the value at `path` stands, or the nearest thing above it that exists.

        With `key`, where its key stands; an empty value is found at its key too.
        """
        node, at = self.root, (self.root.line, self.root.column)
        for step in path:
            below = node.children.get(step)
            if below is None:
                break
            own = (below.line, below.column)
            at = node.key_places.get(step, own) if key or below.value is None else own
            node = below
        return Place(file=self.file, line=at[0], column=at[1])

    def written(self, path: Sequence[Step]) -> tuple[Step, ...]:
        """As much of `path` as the author wrote."""
        node = self.root
        for depth, step in enumerate(path):
            if step not in node.children:
                return tuple(path[:depth])
            node = node.children[step]
        return tuple(path)

    def has(self, path: Sequence[Step]) -> bool:
        """Whether the author wrote a value at `path`, be it right or wrong; `{}` is none."""
        return len(self.written(path)) == len(path) and self.value(path) != {}

    def value(self, path: Sequence[Step] = ()) -> object:
        """What stands at `path`, or at the nearest thing above it that exists."""
        node = self.root
        for step in self.written(path):
            node = node.children[step]
        return node.value

    def finding(
        self,
        path: Sequence[Step],
        message: str,
        *,
        hint: str = "",
        key: bool = False,
        severity: Severity = Severity.ERROR,
    ) -> Finding:
        """A finding about what stands at `path`."""
        place = self.place(path, key=key)
        return Finding(place=place, path=dotted(path), message=message, hint=hint, severity=severity)
