"""PromQL as a tree: what an expression reads, and what of it mixes clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import promql_parser

from tritonobs import names

if TYPE_CHECKING:
    from collections.abc import Iterator

GLOBAL: Final = frozenset({"Watchdog"})
"""Alerts that fire always and say nothing about a cluster; Prometheus adds its label when it sends them."""
_GLOBALLY: Final = frozenset({"absent", "absent_over_time", "scalar", "vector"})
_PARTS = ("lhs", "rhs", "expr", "param", "vector_selector")


def nodes(expression: Any) -> Iterator[Any]:
    """The expression and everything below it."""
    yield expression
    parts = [getattr(expression, name, None) for name in _PARTS]
    for part in [*parts, *(getattr(expression, "args", None) or ())]:
        if isinstance(part, promql_parser.Expr) or hasattr(part, "prettify"):
            yield from nodes(part)


def selectors(expression: Any) -> Iterator[Any]:
    """Every selector of series in the expression."""
    return (node for node in nodes(expression) if isinstance(node, promql_parser.VectorSelector))


def series_of(selector: Any) -> tuple[str, ...]:
    """The names of the series that a selector reads: one, or the alternatives of `__name__=~"a|b"`."""
    if selector.name:
        return (str(selector.name),)
    return tuple(
        name
        for matcher in selector.matchers.matchers
        if matcher.name == "__name__"
        for name in str(matcher.value).split("|")
    )


def mixing(text: str) -> Iterator[str]:
    """The parts of an expression that lose the cluster, as PromQL."""
    for node in nodes(promql_parser.parse(text)):
        if isinstance(node, promql_parser.AggregateExpr):
            if node.modifier is None or not _keeps(node.modifier):
                yield node.prettify()
        elif isinstance(node, promql_parser.BinaryExpr):
            matching = node.modifier.matching if node.modifier else None
            if matching is not None and not _keeps(matching):
                yield node.prettify()
        elif isinstance(node, promql_parser.Call) and node.func.name in _GLOBALLY:
            yield node.prettify()


def _keeps(modifier: Any) -> bool:
    """Whether `by (…)`, `on (…)` and their opposites keep the cluster."""
    inclusive = modifier.type in (promql_parser.AggModifierType.By, promql_parser.LabelModifierType.Include)
    return bool((names.CLUSTER in modifier.labels) == inclusive)
