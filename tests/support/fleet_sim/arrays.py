"""Expressions of rules over one subject as arrays: what the real engine takes hours for, in seconds.

Of PromQL it knows what rules about limits are made of. Every series has one subject, so that joins are by
time alone. A sample that is not there is NaN.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache, reduce
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from support.fleet_sim.series import Array
from tritonobs.units import parse_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Node: TypeAlias = tuple[Any, ...]
_TOKEN: Final = re.compile(
    r"\s*(?:(?P<window>\[[^\]]*\])|(?P<matchers>\{[^}]*\})|(?P<label>\"[^\"]*\")"
    r"|(?P<number>\d+(?:\.\d+)?(?:[a-z][\da-z]*)?)|(?P<name>[A-Za-z_][\w:]*)|(?P<sign><=|>=|==|!=|[-+*/^(),<>]))"
)
_BINDS: Final = ({"or"}, {"and", "unless"}, {"<", ">", "<=", ">=", "==", "!="}, {"+", "-"}, {"*", "/"}, {"^"})
_MATCHING: Final = ("on", "ignoring", "group_left", "group_right")
_KEEPS: Final[dict[str, Any]] = {
    "<": np.less,
    ">": np.greater,
    "<=": np.less_equal,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}
_COMPUTES: Final[dict[str, Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "^": np.power,
}
_ROWS: Final = 1000
_NAMES: Final = re.compile(r'\{__name__=~"([\w:|]+)"\}')


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A series with a value every `every` steps, the first at the start."""

    values: Array
    every: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrays:
    """The series of one subject, every `step_seconds`; what is not among them is absent."""

    steps: int
    step_seconds: float
    series: dict[str, Kept] = field(default_factory=dict)

    def compute(self, expr: str, every: int = 1) -> Array:
        """An expression at every so many steps; NaN where it has no sample."""
        at = np.arange(0, self.steps, every)
        found = self._value(parse(expr), at)
        return np.broadcast_to(np.asarray(found, dtype=float), at.shape).copy()

    def _value(self, node: Node, at: Array) -> Any:
        if node[0] == "number":
            return node[1]
        if node[0] != "binary":
            return self._instant(node, at) if node[0] == "read" else self._call(node, at)
        _, sign, left, right = node
        a, b = self._value(left, at), self._value(right, at)
        if sign in _COMPUTES:
            return _COMPUTES[sign](a, b)
        if sign in _KEEPS:
            return np.where(_KEEPS[sign](a, b), a, np.nan)
        if sign == "or":
            return np.where(np.isnan(a), b, a)
        return np.where(np.isnan(b) == (sign == "unless"), a, np.nan)

    def _instant(self, node: Node, at: Array) -> Array:
        _, name, _, offset = node
        if name not in self.series:
            return np.full(len(at), np.nan)
        kept = self.series[name]
        places = (at - self._count(offset)) // kept.every
        return np.where(places >= 0, kept.values[np.maximum(places, 0)], np.nan)

    def _call(self, node: Node, at: Array) -> Any:
        _, name, arguments = node
        if name == "sqrt":
            return np.sqrt(self._value(arguments[0], at))
        if name in ("label_replace", "sum"):
            return self._value(arguments[0], at)
        if name == "max":
            return reduce(np.fmax, [self._value(one, at) for one in _rows_of(arguments[0])])
        if name == "timestamp":
            return self._times(arguments[0], at)
        if name in ("clamp_min", "clamp_max"):
            value, bound = (self._value(one, at) for one in arguments)
            return (np.maximum if name == "clamp_min" else np.minimum)(value, bound)
        return self._over(name, arguments, at)

    def _over(self, name: str, arguments: tuple[Node, ...], at: Array) -> Array:
        _, series, window, offset = arguments[-1]
        if series not in self.series:
            return np.full(len(at), np.nan)
        kept = self.series[series]
        count = self._count(window) // kept.every + 1  # Prometheus 2: with the sample at either end
        places = (at - self._count(offset)) // kept.every
        if name == "quantile_over_time":
            found = _quantiles(kept.values, count, arguments[0][1], np.maximum(places, 0))
        else:
            found = _OVER[name](kept.values, count)[np.maximum(places, 0)]
        return np.where(places >= 0, found, np.nan)

    def _times(self, node: Node, at: Array) -> Array:
        """When its samples are from: those of a series are as old as they are."""
        every = self.series[node[1]].every if node[0] == "read" and node[1] in self.series else 1
        times = self.step_seconds * (at // every * every)
        return np.where(np.isnan(self._value(node, at)), np.nan, times)

    def _count(self, seconds: float) -> int:
        return round(seconds / self.step_seconds)


def _rows_of(node: Node) -> list[Node]:
    """What `or` puts together: rows that a label tells apart are all there."""
    if node[:2] != ("binary", "or"):
        return [node]
    return [*_rows_of(node[2]), *_rows_of(node[3])]


@cache
def parse(expr: str) -> Node:
    """An expression as nested tuples; comments are not known.

    Raises:
        ValueError: it holds something that no rule about limits is made of.
    """
    tokens = _Tokens(expr)
    found = _binary(tokens, 0)
    if tokens.kind:
        raise ValueError(f"{tokens.text!r} is left of {expr}")
    return found


class _Tokens:
    """What is read next."""

    def __init__(self, expr: str) -> None:
        self._rest = self._read(expr.strip())
        self.kind, self.text = "", ""
        self.next()

    def next(self) -> str:
        """The text that was next, and go on."""
        was = self.text
        self.kind, self.text = next(self._rest, ("", ""))
        return was

    def skip(self, text: str) -> None:
        """Go on behind this text."""
        if self.next() != text:
            raise ValueError(f"{text!r} is missing before {self.text!r}")

    def _read(self, expr: str) -> Iterator[tuple[str, str]]:
        place = 0
        while place < len(expr):
            found = _TOKEN.match(expr, place)
            if found is None or found.lastgroup is None:
                raise ValueError(f"not known: {expr[place : place + 40]!r}")
            yield found.lastgroup, found[found.lastgroup]
            place = found.end()


def _binary(tokens: _Tokens, level: int) -> Node:
    if level == len(_BINDS):
        return _single(tokens)
    left = _binary(tokens, level + 1)
    while tokens.kind and tokens.text in _BINDS[level]:
        sign = tokens.next()
        while tokens.text in _MATCHING:
            tokens.next()
            _skip_labels(tokens)
        left = ("binary", sign, left, _binary(tokens, level + 1))
    return left


def _skip_labels(tokens: _Tokens) -> None:
    tokens.skip("(")
    while tokens.next() != ")":
        pass


def _single(tokens: _Tokens) -> Node:
    if tokens.kind == "number":
        return ("number", float(tokens.next()))
    if tokens.kind == "label":
        return ("label", tokens.next())
    if tokens.text == "-":
        tokens.next()
        return ("binary", "-", ("number", 0.0), _single(tokens))
    if tokens.text == "(":
        tokens.next()
        inner = _binary(tokens, 0)
        tokens.skip(")")
        return inner
    if names := _NAMES.fullmatch(tokens.text):
        tokens.next()
        reads: list[Node] = [("read", name, 0.0, 0.0) for name in names[1].split("|")]
        return reduce(lambda one, other: ("binary", "or", one, other), reads)
    if tokens.kind != "name":
        raise ValueError(f"not known: {tokens.text!r}")
    return _named(tokens)


def _named(tokens: _Tokens) -> Node:
    name = tokens.next()
    if tokens.text == "by":
        tokens.next()
        _skip_labels(tokens)
    if tokens.text == "(":
        tokens.next()
        arguments = [_binary(tokens, 0)]
        while tokens.text == ",":
            tokens.next()
            arguments.append(_binary(tokens, 0))
        tokens.skip(")")
        return ("call", name, tuple(arguments))
    window = offset = 0.0
    if tokens.kind == "matchers":
        tokens.next()
    if tokens.kind == "window":
        window = _seconds(tokens.next().strip("[]"))
    if tokens.text == "offset":
        tokens.next()
        offset = _seconds(tokens.next())
    return ("read", name, window, offset)


def _seconds(text: str) -> float:
    return float(parse_duration(text))


def _mean(values: Array, count: int) -> Array:
    there = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(_sum(np.where(there, values, 0.0), count) / _sum(there.astype(float), count))


def _sum(values: Array, count: int) -> Array:
    sums = np.concatenate([[0.0], np.cumsum(values)])
    last = np.arange(1, len(values) + 1)
    return np.asarray(sums[last] - sums[np.maximum(last - count, 0)])


def _extreme(best: Callable[[Array, Array], Array], none: float) -> Callable[[Array, int], Array]:
    def over(values: Array, count: int) -> Array:
        found, width = np.where(np.isnan(values), none, values), 1
        while width < count:
            more = min(width, count - width)
            found = best(found, np.concatenate([np.full(more, none), found[:-more]]))
            width += more
        return np.where(found == none, np.nan, found)

    return over


def _last(values: Array, count: int) -> Array:
    places = np.arange(len(values))
    last = np.maximum.accumulate(np.where(np.isnan(values), -1, places))
    return np.where((last >= 0) & (places - last < count), values[np.maximum(last, 0)], np.nan)


def _seen(values: Array, count: int) -> Array:
    seen = _sum((~np.isnan(values)).astype(float), count)
    return np.where(seen > 0, seen, np.nan)


def _quantiles(values: Array, count: int, share: float, places: Array) -> Array:
    padded = np.concatenate([np.full(count - 1, np.nan), values])
    windows = np.lib.stride_tricks.sliding_window_view(padded, count)
    found = np.empty(len(places))
    for first in range(0, len(places), _ROWS):
        rows = np.sort(windows[places[first : first + _ROWS]], axis=1)  # NaN comes last
        counts = np.count_nonzero(~np.isnan(rows), axis=1)
        rank = share * np.maximum(counts - 1, 0)
        low = np.floor(rank).astype(int)
        high = np.minimum(low + 1, np.maximum(counts - 1, 0))
        row = np.arange(len(rows))
        found[first : first + _ROWS] = (1 - (rank - low)) * rows[row, low] + (rank - low) * rows[row, high]
    return found


_OVER: Final = {
    "avg_over_time": _mean,
    "min_over_time": _extreme(np.minimum, np.inf),
    "max_over_time": _extreme(np.maximum, -np.inf),
    "last_over_time": _last,
    "count_over_time": _seen,
}
