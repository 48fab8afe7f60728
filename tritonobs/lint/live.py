"""What a running Prometheus says of expressions: whether series are there, and whether there is a result."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from tritonobs.errors import BadAnswer
from tritonobs.lint.catalogue import Catalogue, catalogue
from tritonobs.lint.checks.registry import Hit
from tritonobs.lint.checks.units import compared
from tritonobs.lint.tree import Call, Matcher, Node, Selector, Unparsed, walk

if TYPE_CHECKING:
    from tritonobs.clients.prometheus import PrometheusClient
    from tritonobs.lint.expression import Expression

NOT_HERE: Final = "not-here"
EMPTY_HERE: Final = "empty-here"
FAILS_HERE: Final = "fails-here"
_MOST_VALUES: Final = 5
_VARIABLE = re.compile(r"\$\{?(\w+)|\[\[(\w+)")
_WINDOWS: Final = frozenset(("__rate_interval", "__interval", "__range"))
_REFUSED = re.compile(r".* refused: ")
_USES: Final = frozenset(("alert", "record", "panel", "plain", "scaler"))


class Live:
    """Asks each question once. What has variables of Grafana, but for windows, is not asked about."""

    def __init__(self, prometheus: PrometheusClient) -> None:
        self._prometheus = prometheus
        self._held: Catalogue = catalogue()
        self._there: dict[str, bool] = {}

    def __call__(self, expression: Expression) -> Iterator[tuple[str, Hit]]:
        """What this Prometheus says of an expression, each with the id of the finding.

        Raises:
            ClientError: there is no answer.
        """
        variables = {one[1] or one[2] for one in _VARIABLE.finditer(expression.text)}
        if expression.use not in _USES or (expression.grafana and not variables <= _WINDOWS):
            return
        try:
            tree = expression.tree
        except Unparsed:
            return
        known = [
            (one, above)
            for one, above in walk(tree)
            if isinstance(one, Selector) and self._held.find(one.name)
        ]
        gone = [hit for one, above in known if not _absent(above) and (hit := self._missing(one))]
        yield from ((NOT_HERE, hit) for hit in gone)
        if known and not gone:
            yield from self._results(expression, tree)

    def _missing(self, one: Selector) -> Hit | None:
        """Why a selector has no series, or None if it has some."""
        if self._is_there(_selector(one.name, one.matchers)):
            return None
        if not self._is_there(one.name):
            return Hit(start=one.start, message=f"no server of this Prometheus has {one.name}")
        for matcher in one.matchers:
            if not self._is_there(_selector(one.name, (matcher,))):
                found = self._prometheus.query(f"group by ({matcher.name}) ({one.name})")
                values = sorted({reading.labels.get(matcher.name, "") for reading in found} - {""})
                few = ", ".join(values[:_MOST_VALUES]) + (", …" if len(values) > _MOST_VALUES else "")
                message = f"no {one.name} has {matcher.name}{matcher.op}{_quoted(matcher.value)} here"
                return Hit(start=matcher.start, message=message, hint=f"there are: {few or 'none'}")
        return Hit(start=one.start, message=f"no {one.name} has all of these labels here")

    def _results(self, expression: Expression, tree: Node) -> Iterator[tuple[str, Hit]]:
        # An alert that does not fire has no result: what it compares has to have one.
        parts = [node for node, _, _, _ in compared(tree)] if expression.use == "alert" else [tree]
        for node in parts:
            text = expression.plain[node.start : node.end]
            try:
                there = bool(self._prometheus.query(text))
            except BadAnswer as error:
                yield FAILS_HERE, Hit(start=node.start, message=_REFUSED.sub("", str(error)))
                continue
            quiet = any(isinstance(one, Call) and one.func.startswith("absent") for one, _ in walk(node))
            if not there and not quiet and not _filters(node):
                message = "every series is there, and the result is empty: two sides that do not match?"
                yield EMPTY_HERE, Hit(start=node.start, message=message)

    def _is_there(self, selector: str) -> bool:
        if selector not in self._there:
            self._there[selector] = bool(self._prometheus.query(f"count({selector})"))
        return self._there[selector]


def _filters(node: Node) -> bool:
    """Whether the result may be empty because a condition is not met."""
    return any(True for below, _ in walk(node) for _ in compared(below)) or any(
        getattr(below, "op", "") in ("and", "unless") for below, _ in walk(node)
    )


def _absent(above: tuple[Node, ...]) -> bool:
    return any(isinstance(one, Call) and one.func.startswith("absent") for one in above)


def _selector(name: str, matchers: tuple[Matcher, ...]) -> str:
    conditions = ",".join(f"{one.name}{one.op}{_quoted(one.value)}" for one in matchers)
    return f"{name}{{{conditions}}}" if conditions else name


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
