"""A document with places: plain values, and where each key and value stands in which file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from tritonobs.findings import Finding, Place, Severity
from tritonobs.spec.words import dotted

if TYPE_CHECKING:
    from collections.abc import Sequence

Step: TypeAlias = str | int
"""A key of a mapping, or a position in a list."""


@dataclass(slots=True)
class Node:
    """A value, where it stands, and what is below it; `size` counts values with every alias written out."""

    line: int
    column: int
    value: Any = None
    children: dict[Step, Node] = field(default_factory=dict)
    key_places: dict[Step, tuple[int, int]] = field(default_factory=dict)
    size: int = 1


@dataclass(slots=True)
class Source:
    """One document of one file: what it says, where, and what is wrong with it as YAML."""

    file: str
    root: Node
    findings: list[Finding] = field(default_factory=list)

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
