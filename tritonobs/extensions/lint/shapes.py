"""What each part of an expression measures: of which series, in which unit, with which labels.

A shape is known or it is not: where anything else than known series comes in, the dimension is empty, and
checks that need it say nothing.
"""

from __future__ import annotations

import math
import operator
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from tritonobs.extensions.lint.catalogue import Named, catalogue
from tritonobs.extensions.lint.expression import Expression, is_variable
from tritonobs.extensions.lint.tree import (
    Aggregate,
    Binary,
    Call,
    Node,
    Number,
    Selector,
    Subquery,
    Unary,
    Unparsed,
    children,
    selectors,
)

FLOWS: Final = frozenset(("rate", "irate", "increase"))
ARITHMETIC: Final = frozenset(["+", "-", "*", "/", "%", "^", "atan2"])
COMPARISONS: Final = frozenset(["==", "!=", ">", "<", ">=", "<="])
SETS: Final = frozenset(("and", "or", "unless"))
_UNITS: Final = {
    "us": ("time", 1e-6),
    "ms": ("time", 1e-3),
    "s": ("time", 1.0),
    "bytes": ("bytes", 1.0),
    "mib": ("bytes", 1048576.0),
    "ratio": ("ratio", 1.0),
    "percent": ("ratio", 0.01),
    "watt": ("watt", 1.0),
    "joule": ("joule", 1.0),
    "millijoule": ("joule", 1e-3),
    "mixed": ("", 1.0),
}
_KEPT: Final = frozenset(
    (
        *("abs", "ceil", "floor", "round", "clamp", "clamp_min", "clamp_max", "sort", "sort_desc"),
        *("max_over_time", "min_over_time", "avg_over_time", "last_over_time", "quantile_over_time"),
    )
)
_AGGREGATED: Final = frozenset(["sum", "avg", "max", "min", "topk", "bottomk", "quantile"])
_LEVELS: Final = 8
"""Records of records that are followed."""
_MOST_SERIES: Final = 50
_OPERATIONS: Final[dict[str, Callable[[float, float], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "^": operator.pow,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """Which labels a result has: exactly `names`, or (`exact` is false) all of its series but for `lost`.

    `own` are the labels of the series themselves that are left, without those that every scrape adds; `fixed`
    are labels that have the same value on every series. They are not `known` where a function writes labels.
    """

    exact: bool
    names: frozenset[str] = frozenset()
    lost: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()
    fixed: frozenset[tuple[str, str]] = frozenset()
    known: bool = True

    def lacks(self, label: str) -> bool:
        """Whether the result surely has no such label."""
        return label not in self.names if self.exact else label in self.lost

    def without(self, given: frozenset[str]) -> Labels:
        """What is left when these labels are taken away."""
        fixed = frozenset(one for one in self.fixed if one[0] not in given)
        return replace(
            self, names=self.names - given, lost=self.lost | given, own=self.own - given, fixed=fixed
        )

    def only(self, given: frozenset[str], *, known: bool) -> Labels:
        """What is left when no others are kept."""
        fixed = frozenset(one for one in self.fixed if one[0] in given)
        return Labels(exact=True, names=given, own=self.own & given, fixed=fixed, known=known)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a part of an expression measures.

    `dimension` is time, bytes, ratio, watt, joule, or what is counted, with `/s` behind a rate; one of the
    value is `factor` of the base unit (a second, a byte, 1). `kind` is number, counter, gauge, rate,
    increase, mean, share, quantile or nothing. `series` are the known series below; `foreign` says that there
    are others. A number `converts` units unless it is a sum, as 1 less an objective is.
    """

    kind: str = ""
    dimension: str = ""
    factor: float = 1.0
    series: tuple[Named, ...] = ()
    foreign: bool = False
    number: float | None = None
    converts: bool = True
    labels: Labels = Labels(exact=False)

    @property
    def names(self) -> frozenset[str]:
        """The names of the families below."""
        return frozenset(one.series.name for one in self.series)

    @property
    def triton(self) -> bool:
        """Whether only known series are below, and at least one."""
        return bool(self.series) and not self.foreign

    @property
    def counted(self) -> bool:
        """Whether only known counters are below, and at least one."""
        return self.triton and all(one.counter for one in self.series)


def shapes_of(
    tree: Node, *, reasons: bool, records: Mapping[str, Shape] = MappingProxyType({})
) -> dict[int, Shape]:
    """The shapes of all parts of a tree by their `id`.

    `reasons`: failures have a label of that name. `records` are the shapes of recording rules by their names.
    """
    held: dict[int, Shape] = {}

    def fill(node: Node) -> Shape:
        below = [fill(one) for one in children(node)]
        if isinstance(node, Selector) and (recorded := records.get(node.name)):
            held[id(node)] = recorded
        else:
            held[id(node)] = _made(node, below, reasons=reasons)
        return held[id(node)]

    fill(tree)
    return held


def shapes_of_records(expressions: Iterable[Expression], *, reasons: bool) -> Mapping[str, Shape]:
    """What recording rules measure, by their names, where it is Triton's series alone.

    A record that is written twice in different ways is left out, and so is one of too many records.
    """
    rules = defaultdict[str, list[Expression]](list)
    for one in expressions:
        if one.use == "record" and not catalogue().find(one.name):
            rules[one.name].append(one)
    reading = {name: _reads(each).intersection(rules) for name, each in rules.items()}
    held: dict[str, Shape] = {}
    changed = set(rules)
    for _ in range(_LEVELS):
        before = dict(held)
        for name in changed:
            shape = _same([_recorded(one, before, reasons=reasons) for one in rules[name]])
            held[name] = shape if shape.triton else Shape(foreign=True)
        other = {name for name in changed if held[name] != before.get(name)}
        changed = {name for name, read in reading.items() if read & other}
    return {name: shape for name, shape in held.items() if shape.triton and name not in changed}


def _reads(rules: Iterable[Expression]) -> set[str]:
    names = set[str]()
    for rule in rules:
        with suppress(Unparsed):
            names |= {one.name for one in selectors(rule.tree)}
    return names


def _recorded(rule: Expression, held: Mapping[str, Shape], *, reasons: bool) -> Shape:
    try:
        shape = shapes_of(rule.tree, reasons=reasons, records=held)[id(rule.tree)]
    except Unparsed:
        return Shape(foreign=True)
    added = frozenset(rule.settings.get("labels", "").split())
    labels = replace(shape.labels, names=shape.labels.names | added, lost=shape.labels.lost - added)
    return replace(shape, labels=labels) if len(shape.series) <= _MOST_SERIES else Shape(foreign=True)


def _same(shapes: list[Shape]) -> Shape:
    first, *others = shapes
    bare = replace(first, labels=Labels(exact=False))
    if any(replace(one, labels=bare.labels) != bare for one in others):
        return Shape(foreign=True)
    if any(one.labels != first.labels for one in others):
        return replace(first, labels=replace(first.labels, known=False))
    return first


def _made(node: Node, below: list[Shape], *, reasons: bool) -> Shape:
    made = Shape()
    if isinstance(node, Number):
        made = Shape(kind="number", number=node.value)
    elif isinstance(node, Selector):
        made = _selected(node, reasons=reasons)
    elif isinstance(node, Binary):
        made = _joined(node, *below)
    elif isinstance(node, Aggregate):
        made = _aggregated(node, below[-1])
    elif isinstance(node, Call):
        made = _called(node, below)
    elif isinstance(node, (Unary, Subquery)):
        made = replace(below[0], number=None)
    return made


def _selected(node: Selector, *, reasons: bool) -> Shape:
    found = catalogue().find(node.name)
    if not found:
        return Shape(foreign=True)
    dimension, factor = _UNITS.get(found.series.unit, (found.series.unit, 1.0))
    if found.part in ("_bucket", "_count"):
        dimension, factor = "observations", 1.0
    own = set(found.labels)
    if "reason" in found.series.optional and reasons:
        own.add("reason")
    kind = "counter" if found.counter else "gauge"
    if found.series.type == "summary" and not found.part:
        kind = "quantile"
    chosen = ((one.name, one.value) for one in node.matchers if one.op == "=" and one.name in own)
    labels = Labels(exact=False, own=frozenset(own), fixed=frozenset(chosen))
    return Shape(kind=kind, dimension=dimension, factor=factor, series=(found,), labels=labels)


def _called(node: Call, below: list[Shape]) -> Shape:
    # Vectors stand at different places: histogram_quantile(0.9, x), round(x, 1).
    main = next((one for one in below if one.series or one.foreign), None)
    if main is None:
        first = below[0] if below and node.func in ("vector", "scalar") else Shape()
        return replace(first, labels=Labels(exact=True))
    made = replace(main, kind="", dimension="")
    if node.func in ("delta", "idelta", "deriv") and main.kind == "counter":
        # Of counters these give what increase and rate do, until a server restarts.
        made = _flowing(main, "rate" if node.func == "deriv" else "increase")
    elif node.func in FLOWS:
        made = _flowing(main, node.func)
    elif node.func == "histogram_quantile":
        made = _quantile(main)
    elif node.func in ("absent", "absent_over_time"):
        made = Shape(kind="presence", series=main.series, foreign=main.foreign)
    elif node.func in ("scalar", "vector"):
        made = replace(main, labels=Labels(exact=True))
    elif node.func.startswith("label_"):
        made = replace(main, labels=replace(main.labels, known=False))
    elif node.func in _KEPT:
        made = main
    return made


def _flowing(main: Shape, func: str) -> Shape:
    per = "" if func == "increase" else "/s"
    dimension = f"{main.dimension}{per}" if main.dimension else ""
    if dimension == "joule/s":
        dimension = "watt"
    return replace(main, kind="increase" if func == "increase" else "rate", dimension=dimension)


def _quantile(main: Shape) -> Shape:
    family = next((one.series for one in main.series if one.part == "_bucket"), None)
    dimension, factor = _UNITS.get(family.unit, (family.unit, 1.0)) if family else ("", 1.0)
    labels = replace(main.labels, names=main.labels.names - {"le"}, own=main.labels.own - {"le"})
    return replace(main, kind="quantile", dimension=dimension, factor=factor, labels=labels)


def _aggregated(node: Aggregate, inner: Shape) -> Shape:
    if node.op in ("topk", "bottomk", "limitk", "limit_ratio"):
        return inner
    given = frozenset(node.labels or ())
    if node.without:
        labels = inner.labels.without(given)
    else:
        # It writes a label that is named in a text.
        labels = inner.labels.only(given, known=node.op != "count_values")
    if any(map(is_variable, given)):
        labels = Labels(exact=False, known=False)
    if node.op in _AGGREGATED:
        return replace(inner, labels=labels)
    kind = "presence" if node.op in ("count", "group") else ""
    return replace(inner, kind=kind, dimension="", labels=labels)


def _joined(node: Binary, lhs: Shape, rhs: Shape) -> Shape:
    series = lhs.series + rhs.series
    labels = _matched(node, lhs, rhs)
    made = Shape(series=series, foreign=lhs.foreign or rhs.foreign, labels=labels)
    if node.op in COMPARISONS or node.op in SETS:
        main = lhs if lhs.series or lhs.foreign else rhs
        kept = replace(main, series=series if node.op == "or" else main.series, labels=labels)
        return replace(made, kind="presence") if node.bool_ else kept
    if lhs.number is not None and rhs.number is not None:
        number = _computed(node.op, lhs.number, rhs.number)
        made = replace(made, kind="number", number=number, converts=node.op in ("*", "/", "^"))
    elif rhs.number is not None or lhs.number is not None:
        made = _scaled(node, lhs, rhs, made)
    elif node.op in ("+", "-"):
        if lhs.dimension == rhs.dimension and math.isclose(lhs.factor, rhs.factor):
            kind = lhs.kind if lhs.kind == rhs.kind else ""
            made = replace(made, kind=kind, dimension=lhs.dimension, factor=lhs.factor)
    elif node.op == "/" and lhs.dimension and rhs.dimension:
        made = _divided(lhs, rhs, made)
    return made


def _divided(lhs: Shape, rhs: Shape, base: Shape) -> Shape:
    if lhs.dimension == rhs.dimension:
        # A mean over another mean compares them; it is not a part of a whole.
        kind = "" if {lhs.kind, rhs.kind} & {"mean", "quantile", "share"} else "share"
        return replace(base, kind=kind, dimension="ratio", factor=lhs.factor / rhs.factor)
    if lhs.dimension.endswith("/s") == rhs.dimension.endswith("/s"):
        dimension = lhs.dimension.removesuffix("/s")
        over = rhs.dimension.removesuffix("/s")
        # Of what is counted over something else that is counted, only that it is a mean is of interest.
        plain = dimension if over not in ("time", "bytes", "ratio") else ""
        return replace(base, kind="mean", dimension=plain, factor=lhs.factor / rhs.factor)
    return base


def _scaled(node: Binary, lhs: Shape, rhs: Shape, base: Shape) -> Shape:
    (scale, main) = (rhs, lhs) if rhs.number is not None else (lhs, rhs)
    number = scale.number
    if number is None:
        return base
    kept = replace(base, kind=main.kind, dimension=main.dimension, factor=main.factor)
    if node.op in ("+", "-"):
        return kept
    factor = 0.0
    if node.op == "*" and number > 0:
        factor = main.factor / number
    elif node.op == "/" and rhs.number is not None:
        factor = main.factor * number
    if not 0 < factor < math.inf:
        return base
    if scale.converts and _converts(node.op, number, main.dimension):
        return replace(kept, factor=factor)
    return replace(kept, dimension="")


def _converts(op: str, number: float, dimension: str) -> bool:
    """Whether the factor leads from one unit to another; any other makes something else of a value.

    A share divided by a hundredth is a share of an error budget, and no percentage.
    """
    if dimension == "ratio":
        return number in (1, 100) or (op == "*" and number == 0.01)  # noqa: PLR2004 (percent)
    base = 1024.0 if dimension.startswith("bytes") else 10.0
    whole = max(number, 1 / number)
    return any(_is_power(whole / one, of) for of in {10.0, base} for one in (1, 60, 3600, 86400))


def _is_power(value: float, base: float) -> bool:
    power = round(math.log(value, base))
    return power >= 0 and math.isclose(value, base**power)


def _computed(op: str, left: float, right: float) -> float | None:
    try:
        made = _OPERATIONS[op](left, right)
    except (KeyError, ArithmeticError):
        return None
    # A power of a negative number may be a complex one.
    return made if isinstance(made, float) else None


def _matched(node: Binary, lhs: Shape, rhs: Shape) -> Labels:
    if lhs.kind == "number":
        return rhs.labels
    if node.op == "or" and lhs.labels != rhs.labels:
        return replace(lhs.labels, known=False)
    if rhs.kind == "number" or node.op in SETS:
        return lhs.labels
    if node.group:
        # The other side may bring labels.
        return replace(lhs.labels if node.group == "left" else rhs.labels, known=False)
    given = frozenset(node.matching or ())
    if any(map(is_variable, given)):
        return Labels(exact=False, known=False)
    on = node.matching is not None and node.on
    return Labels(exact=True, names=given) if on else lhs.labels.without(given)
