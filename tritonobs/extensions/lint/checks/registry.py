"""What a check is: an id, a severity, a page, and a function from one expression to hits.

One table has them all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from tritonobs.extensions.lint.catalogue import Named, catalogue, release
from tritonobs.extensions.lint.expression import Expression
from tritonobs.extensions.lint.shapes import Shape, shapes_of
from tritonobs.extensions.lint.tree import Aggregate, Binary, Call, Matcher, Node, Selector, walk
from tritonobs.findings import Severity

CHECKS: Final[dict[str, Check]] = {}
"""Every check by its id, in the order of the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Characters `start` to `end` of the expression become `text`."""

    start: int
    end: int
    text: str


def edited(text: str, edits: Iterable[Edit]) -> str:
    """The text with the edits made; none of them may overlap."""
    for one in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = text[: one.start] + one.text + text[one.end :]
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """What is wrong at a place of the expression, what to write instead, and the edits if they are certain.

    `unit` are edits of the panel's unit instead of the expression.
    """

    start: int
    message: str
    hint: str = ""
    edits: tuple[Edit, ...] = ()
    unit: str = ""
    severity: Severity | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A check, and its page: `why` it is wrong, a `wrong` expression and a `right` one.

    `fixed` says that it has certain fixes.
    """

    id: str
    severity: Severity
    title: str
    why: str
    wrong: str
    right: str
    fixed: bool
    run: Callable[[Context], Iterator[Hit]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What is known of the user's servers: how often they are scraped, and their release or nothing."""

    scrape_seconds: float = 15.0
    triton_version: str = ""

    @property
    def reasons(self) -> bool:
        """Whether failures have a label `reason`."""
        return self.at_least("24.07")

    def at_least(self, version: str) -> bool:
        """Whether the release is at least `version`; true where it is not known."""
        return not self.triton_version or release(self.triton_version) >= release(version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What all files together hold: names of records and alerts, and whether an alert sees missing series.

    `shapes` are what records measure, where it is known.
    """

    records: frozenset[str] = frozenset()
    shapes: Mapping[str, Shape] = field(default_factory=dict)
    alerts: frozenset[str] = frozenset()
    watched: bool = False


@dataclass(frozen=True, kw_only=True)
class Context:
    """One expression with what checks ask about it."""

    expression: Expression
    settings: Settings = field(default_factory=Settings)
    known: Known = field(default_factory=Known)

    @cached_property
    def tree(self) -> Node:
        """The tree of the expression."""
        return self.expression.tree

    @cached_property
    def shapes(self) -> dict[int, Shape]:
        """The shapes of its parts, by their `id`."""
        return shapes_of(self.tree, reasons=self.settings.reasons, records=self.known.shapes)

    @cached_property
    def nodes(self) -> tuple[tuple[Node, tuple[Node, ...]], ...]:
        """Every part of the tree, with what stands above it."""
        return tuple(walk(self.tree))

    @cached_property
    def selectors(self) -> tuple[tuple[Selector, tuple[Node, ...]], ...]:
        """Every selector, with what stands above it."""
        return tuple((one, above) for one, above in self.nodes if isinstance(one, Selector))

    @cached_property
    def read(self) -> tuple[tuple[Selector, Named, tuple[Node, ...]], ...]:
        """Every selector of a known series, with that series and what stands above it."""
        return tuple((one, found, above) for one, above in self.selectors if (found := self.found(one)))

    def calls(self, *functions: str) -> Iterator[Call]:
        """Every call of these functions, with at least one argument."""
        return (one for one, _ in self.nodes if isinstance(one, Call) and one.func in functions and one.args)

    def aggregates(self, *operations: str) -> Iterator[Aggregate]:
        """Every aggregation by these operations."""
        return (one for one, _ in self.nodes if isinstance(one, Aggregate) and one.op in operations)

    def divisions(self) -> Iterator[tuple[Binary, Shape, Shape]]:
        """Every division, with the shapes of its sides."""
        for one, _ in self.nodes:
            if isinstance(one, Binary) and one.op == "/":
                yield one, self.shape(one.lhs), self.shape(one.rhs)

    def shape(self, node: Node) -> Shape:
        """The shape of a part."""
        return self.shapes[id(node)]

    def found(self, node: Node) -> Named | None:
        """The series that a part selects, or None for anything but a selector of a known one."""
        return catalogue().find(node.name) if isinstance(node, Selector) else None

    def fills_in(self, matcher: Matcher) -> bool:
        """Whether the condition has a variable of Grafana."""
        written = self.expression.text[matcher.start : matcher.end]
        return "$" in written or "[[" in written

    def says(self, pattern: str) -> bool:
        """Whether the name or the words beside the expression match, in any case of letters."""
        text = f"{self.expression.name}\n{self.expression.words}"
        return re.search(pattern, text, re.IGNORECASE) is not None


def check(
    name: str,
    severity: Severity,
    *,
    title: str,
    why: str,
    wrong: str,
    right: str,
    fixed: bool = False,
) -> Callable[[Callable[[Context], Iterator[Hit]]], Callable[[Context], Iterator[Hit]]]:
    """Enter a function into the table."""

    def enter(run: Callable[[Context], Iterator[Hit]]) -> Callable[[Context], Iterator[Hit]]:
        CHECKS[name] = Check(
            id=name,
            severity=severity,
            title=title,
            why=why,
            wrong=wrong,
            right=right,
            fixed=fixed,
            run=run,
        )
        return run

    return enter
