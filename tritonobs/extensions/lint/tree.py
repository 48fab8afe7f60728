"""An expression as a tree whose parts know where they stand: promql-parser's tree, aligned with the text.

The parser says nothing of places, but its tree has the order of the text. So one pass over the tree takes
word after word from the text. This module is the only one that knows the parser.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, TypeAlias

import promql_parser

MAX_CHARACTERS: Final = 50_000
MAX_TOKENS: Final = 5_000
"""The parser calls itself for each level, and a stack that overflows ends the process."""
MAX_DEPTH: Final = 100
_TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*)
      | (?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`)
      | (?P<number>0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?:ms|[smhdwy]\w*)?)
      | (?P<word>[A-Za-z_:][\w:]*)
      | (?P<sign>==|!=|=~|!~|>=|<=|[-+*/%^<>=(){}\[\],@])
    """,
    re.VERBOSE | re.DOTALL,
)
_Token: TypeAlias = re.Match[str]
_GROUPING: Final = frozenset(("by", "without"))
_MATCHING: Final = frozenset(
    ("on", "ignoring", "group_left", "group_right", "fill", "fill_left", "fill_right")
)


class Unparsed(Exception):
    """An expression that the parser refuses; `offset` is where, as far as it says."""

    def __init__(self, reason: str, offset: int = 0) -> None:
        self.offset = offset
        super().__init__(reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A part of an expression, from `start` to `end` of its text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Matcher:
    """One condition on a label; the value stands from `start` to `end`, quotes included."""

    name: str
    op: str
    value: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector(Node):
    """Series by name and labels; `seconds` is the range of `[5m]`, or None for an instant."""

    name: str
    matchers: tuple[Matcher, ...]
    seconds: float | None = None
    range_start: int = 0
    range_end: int = 0
    offset: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate(Node):
    """`sum by (a) (…)`; `labels` is None without `by` and `without`."""

    op: str
    inner: Node
    param: Node | None
    labels: tuple[str, ...] | None
    without: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Node):
    """A function with its arguments."""

    func: str
    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary(Node):
    """Two sides and an operator; `matching` is None without `on` and `ignoring`."""

    op: str
    op_start: int
    op_end: int
    lhs: Node
    rhs: Node
    matching: tuple[str, ...] | None
    on: bool
    group: str
    bool_: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Unary(Node):
    """`-x`."""

    inner: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Number(Node):
    """A number."""

    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Word(Node):
    """A text, as functions of labels take it."""

    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Subquery(Node):
    """`(…)[1h:5m]`."""

    inner: Node


@lru_cache(maxsize=4096)
def parse(text: str) -> Node:
    """The tree of an expression without Grafana's variables.

    Raises:
        Unparsed: the parser refuses it.
    """
    if len(text) > MAX_CHARACTERS:
        raise Unparsed(f"has more than {MAX_CHARACTERS:,} characters")
    tokens = [one for one in _TOKEN.finditer(text) if one.lastgroup != "comment"]
    if not tokens:
        raise Unparsed("no expression found")
    depth = deepest = 0
    for one in tokens:
        depth += (one[0] in "([{") - (one[0] in ")]}") if one.lastgroup == "sign" else 0
        deepest = max(deepest, depth)
    if len(tokens) > MAX_TOKENS or deepest > MAX_DEPTH:
        raise Unparsed(f"has more than {MAX_TOKENS} words or {MAX_DEPTH} levels of brackets")
    try:
        tree = promql_parser.parse(text)
    except ValueError as error:
        reason = str(error)
        raise Unparsed(reason, _where(reason, text, tokens)) from None
    try:
        return _Aligner(tokens).node(tree)
    except RecursionError:
        raise Unparsed("is nested too deeply") from None


def children(node: Node) -> tuple[Node, ...]:
    """What stands directly below, in the order of the text."""
    if isinstance(node, Binary):
        return (node.lhs, node.rhs)
    if isinstance(node, Call):
        return node.args
    if isinstance(node, Aggregate):
        return (node.param, node.inner) if node.param else (node.inner,)
    return (node.inner,) if isinstance(node, (Unary, Subquery)) else ()


def walk(node: Node, above: tuple[Node, ...] = ()) -> Iterator[tuple[Node, tuple[Node, ...]]]:
    """The node and everything below, each with what stands above it, the nearest last."""
    yield node, above
    for below in children(node):
        yield from walk(below, (*above, node))


def selectors(node: Node) -> Iterator[Selector]:
    """Every selector below."""
    return (one for one, _ in walk(node) if isinstance(one, Selector))


def is_scalar(node: Node) -> bool:
    """Whether the value is one number without labels, which matches everything."""
    if isinstance(node, Call):
        return node.func in ("scalar", "time", "pi")
    return isinstance(node, Number) or (
        isinstance(node, (Binary, Unary)) and all(is_scalar(one) for one in children(node))
    )


def _where(reason: str, text: str, tokens: list[_Token]) -> int:
    """Where the parser's sentence points: a function it names, a bracket that is open, or the beginning."""
    named = re.search(r"in call to '?(?:function )?'?(\w+)'", reason)
    if named:
        return next((one.start() for one in tokens if one[0] == named[1]), 0)
    if "unclosed" in reason:
        opened: list[int] = []
        for one in tokens:
            if one[0] in "([{":
                opened.append(one.start())
            elif one[0] in ")]}" and opened:
                opened.pop()
        return opened[-1] if opened else 0
    character = re.search(r"inside \w+: '(.)'", reason)
    inside = max(text.find("{" if "braces" in reason else "["), 0)
    return max(text.find(character[1], inside), 0) if character else tokens[0].start()


class _Aligner:
    """Takes word after word from the text while it goes through the parser's tree."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens, self._at = tokens, 0

    def node(self, tree: Any) -> Node:
        """The node with everything below it."""
        make = getattr(self, f"_{type(tree).__name__.lower()}")
        made: Node = make(tree)
        return made

    def _parenexpr(self, tree: Any) -> Node:
        self._take("(")
        inner = self.node(tree.expr)
        self._take(")")
        return inner

    def _vectorselector(self, tree: Any) -> Selector:
        name = tree.name or next(
            (one.value for one in tree.matchers.matchers if one.name == "__name__" and _op(one) == "="), ""
        )
        first = self._take(tree.name or "{")
        self._at -= not tree.name
        matchers = self._matchers(tree) if self._peek() == "{" else ()
        return Selector(
            start=first.start(), end=self._end(), name=name, matchers=matchers, offset=tree.offset is not None
        )

    def _matrixselector(self, tree: Any) -> Selector:
        inner = self._vectorselector(tree.vector_selector)
        begin = self._take("[")
        end = self._take("]")
        return replace(
            inner,
            end=end.end(),
            seconds=tree.range.total_seconds(),
            range_start=begin.end(),
            range_end=end.start(),
        )

    def _matchers(self, tree: Any) -> tuple[Matcher, ...]:
        self._take("{")
        places: list[_Token] = []
        while self._at < len(self._tokens) and self._peek() != "}":
            if self._tokens[self._at].lastgroup == "string":
                places.append(self._tokens[self._at])
            self._at += 1
        self._take("}")
        held = [one for one in tree.matchers.matchers if not (one.name == "__name__" and tree.name)]
        return tuple(
            Matcher(name=one.name, op=_op(one), value=one.value, start=place.start(), end=place.end())
            for one, place in zip(held, places, strict=False)
        )

    def _subqueryexpr(self, tree: Any) -> Subquery:
        begin = self._begin()
        inner = self.node(tree.expr)
        self._take("[")
        end = self._take("]")
        return Subquery(start=begin, end=end.end(), inner=inner)

    def _aggregateexpr(self, tree: Any) -> Aggregate:
        first = self._take(str(tree.op))
        self._skip_labels(_GROUPING)
        self._take("(")
        param = self.node(tree.param) if tree.param is not None else None
        inner = self.node(tree.expr)
        self._take(")")
        self._skip_labels(_GROUPING)
        modifier = tree.modifier
        return Aggregate(
            start=first.start(),
            end=self._end(),
            op=str(tree.op),
            inner=inner,
            param=param,
            labels=tuple(modifier.labels) if modifier else None,
            without=bool(modifier and modifier.type == promql_parser.AggModifierType.Without),
        )

    def _call(self, tree: Any) -> Call:
        first = self._take(tree.func.name)
        self._take("(")
        args = tuple(self.node(one) for one in tree.args)
        self._take(")")
        return Call(start=first.start(), end=self._end(), func=tree.func.name, args=args)

    def _binaryexpr(self, tree: Any) -> Binary:
        begin = self._begin()
        lhs = self.node(tree.lhs)
        op = self._take(str(tree.op))
        if self._peek() == "bool":
            self._at += 1
        self._skip_labels(_MATCHING)
        rhs = self.node(tree.rhs)
        modifier = tree.modifier
        matching = modifier.matching if modifier else None
        card = str(modifier.card) if modifier else ""
        return Binary(
            # With the brackets around a side.
            start=begin,
            end=self._end(),
            op=str(tree.op),
            op_start=op.start(),
            op_end=op.end(),
            lhs=lhs,
            rhs=rhs,
            matching=tuple(matching.labels) if matching else None,
            on=bool(matching and matching.type == promql_parser.LabelModifierType.Include),
            group="left" if "ManyToOne" in card else "right" if "OneToMany" in card else "",
            bool_=bool(modifier and modifier.return_bool),
        )

    def _unaryexpr(self, tree: Any) -> Unary:
        first = self._take("-")
        inner = self.node(tree.expr)
        return Unary(start=first.start(), end=self._end(), inner=inner)

    def _numberliteral(self, tree: Any) -> Number:
        before = ""
        while self._at < len(self._tokens):
            one = self._tokens[self._at]
            self._at += 1
            if one.lastgroup in ("number", "word"):
                break
            before = one[0]
        begin = self._tokens[max(self._at - (2 if before == "-" else 1), 0)].start()
        return Number(start=begin, end=self._end(), value=float(tree.val))

    def _stringliteral(self, tree: Any) -> Word:
        one = self._tokens[min(self._at, len(self._tokens) - 1)]
        self._at += 1
        return Word(start=one.start(), end=one.end(), value=tree.val)

    def _take(self, text: str) -> _Token:
        """The next token with this text; what stands between is of no interest."""
        for at in range(self._at, len(self._tokens)):
            if self._tokens[at][0].lower() == text.lower():
                self._at = at + 1
                return self._tokens[at]
        # Not found only where the parser reads a text in another way: the place is then a near one.
        return self._tokens[min(self._at, len(self._tokens) - 1)]

    def _peek(self) -> str:
        return self._tokens[self._at][0].lower() if self._at < len(self._tokens) else ""

    def _begin(self) -> int:
        return self._tokens[min(self._at, len(self._tokens) - 1)].start()

    def _end(self) -> int:
        return self._tokens[max(self._at - 1, 0)].end()

    def _skip_labels(self, words: frozenset[str]) -> None:
        while self._peek() in words:
            self._at += 1
            if self._peek() == "(":
                self._take(")")


def _op(matcher: Any) -> str:
    return {"Equal": "=", "NotEqual": "!=", "Re": "=~", "NotRe": "!~"}[str(matcher.op).rpartition(".")[2]]
