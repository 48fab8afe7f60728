"""What the recorded past says of an expression: how often an alert would have fired or a panel had a result.

An alert is replayed as `limits backtest` replays the limit's: its condition at every step, with the waiting
and keeping of the rule.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Final

from tritonobs.clients.prometheus import Rule, Series
from tritonobs.errors import BadAnswer, TimedOut
from tritonobs.extensions.lint.checks.registry import Hit
from tritonobs.extensions.lint.checks.units import compared
from tritonobs.extensions.lint.tree import Call, Node, Selector, walk
from tritonobs.timings.episodes import Episode, episodes_of, joined, step_seconds
from tritonobs.units import format_duration, parse_duration

if TYPE_CHECKING:
    from tritonobs.clients.prometheus import PrometheusClient
    from tritonobs.extensions.lint.expression import Expression
    from tritonobs.timings.promql import Span

ALWAYS_HERE: Final = "always-here"
NEVER_HERE: Final = "never-here"
FIRED_HERE: Final = "fired-here"
RARELY_HERE: Final = "rarely-here"
UNASKED_HERE: Final = "unasked-here"

MOST_SECONDS: Final = 60.0
"""For all questions about the past together: each reads thousands of moments."""
_DAY_SECONDS: Final = 86400.0
_ALWAYS: Final = 0.95
_RARELY: Final = 0.9
_MOST_SIDES: Final = 3
_MINUTE, _HOUR = 60, 3600
_REFUSED = re.compile(r".* refused: ")


class Past:
    """Asks about a span of the past. A finding says which history could not be read."""

    def __init__(
        self, prometheus: PrometheusClient, span: Span, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._prometheus, self._span, self._clock = prometheus, span, clock
        self._step = step_seconds(span)
        self._spent = 0.0

    def __call__(
        self, expression: Expression, tree: Node, series: Sequence[str]
    ) -> Iterator[tuple[str, Hit]]:
        """What the past says of one, each with the id of the finding; `series` selects what it reads.

        Raises:
            Unreachable: Prometheus is gone.
        """
        if self._spent >= MOST_SECONDS:
            message = f"its history was not read: the {MOST_SECONDS:g} s for that are over"
            yield UNASKED_HERE, Hit(start=0, message=message)
            return
        began = self._clock()
        try:
            said = (
                self._alert(expression, tree)
                if expression.use == "alert"
                else self._shown(tree, expression, series)
            )
        except (BadAnswer, TimedOut) as error:
            message = f"its history could not be read: {_REFUSED.sub('', str(error))}"
            said = (UNASKED_HERE, Hit(start=0, message=message))
        self._spent += self._clock() - began
        if said:
            yield said

    def _alert(self, expression: Expression, tree: Node) -> tuple[str, Hit] | None:
        """How often it would have fired, and how close it came if never."""
        rule = _rule(expression)
        found = self._asked(expression.plain)
        episodes = joined(
            one for each in found for one in episodes_of(each.points, rule, self._step, self._span.end)
        )
        sides = [self._side(expression, *one) for one in islice(compared(tree), _MOST_SIDES)]
        reached = next((words for words, _ in sides if words), "")
        seen = min(max((seconds for _, seconds in sides), default=math.inf), self._span.seconds)
        firing = sum(one.seconds for one in episodes)
        if firing >= _ALWAYS * seen >= _ALWAYS * _DAY_SECONDS:
            message = f"it would have fired for {firing / seen:.0%} of {_long(seen)}: does anyone act on it?"
            return ALWAYS_HERE, Hit(start=0, message=message)
        if episodes:
            message = f"it would have fired {_often(episodes)} in {_long(seen)}"
            return FIRED_HERE, Hit(start=0, message=message)
        if not seen:
            past = _long(self._span.seconds)
            message = f"it would not have fired in {past}: what it compares had no result in that time"
            return NEVER_HERE, Hit(start=0, message=message)
        why = f": its condition never held for {_long(rule.wait_seconds)}" if found else reached
        message = f"it would not have fired in the {_long(seen)} that are recorded{why}"
        return NEVER_HERE, Hit(start=0, message=message)

    def _side(
        self, expression: Expression, node: Node, op: str, number: float, _: object
    ) -> tuple[str, float]:
        """How close what is compared came to the number, and for how many seconds it had a result."""
        below = op in ("<", "<=")
        written = expression.plain[node.start : node.end]
        points = self._points(f"{'min' if below else 'max'}({written}\n)")
        finite = [value for _, value in points if math.isfinite(value)]
        if not finite:
            return "", len(points) * self._step
        reached = f"at least {min(finite):.4g}" if below else f"at most {max(finite):.4g}"
        return f": the value was {reached}, and it asks for {op} {number:g}", len(points) * self._step

    def _shown(self, tree: Node, expression: Expression, series: Sequence[str]) -> tuple[str, Hit] | None:
        """For which share of the time in which its series were there it had a result."""
        if _may_be_empty(tree):
            return None
        there = {at for at, _ in self._points(" * ".join(f"count({one})" for one in series))}
        had = {at for at, _ in self._points(f"count({expression.plain}\n)")} & there
        if not there or len(had) >= _RARELY * len(there):
            return None
        message = (
            f"it had a result for {len(had) / len(there):.0%} of the "
            f"{_long(len(there) * self._step)} in which all its series were there"
        )
        return RARELY_HERE, Hit(start=0, message=message)

    def _points(self, query: str) -> tuple[tuple[float, float], ...]:
        found = self._asked(query)
        return found[0].points if found else ()

    def _asked(self, query: str) -> tuple[Series, ...]:
        return self._prometheus.query_range(
            query, start=self._span.start, end=self._span.end, step_seconds=self._step
        )


def _rule(expression: Expression) -> Rule:
    """The alert as Prometheus would have loaded it."""
    waits = {"for": 0.0, "keep_firing_for": 0.0}
    for key in waits:
        with suppress(ValueError):
            waits[key] = float(parse_duration(expression.settings.get(key, "")))
    return Rule(
        group="",
        name=expression.name,
        kind="alerting",
        query=expression.plain,
        health="unknown",
        last_error="",
        state="",
        wait_seconds=waits["for"],
        keep_seconds=waits["keep_firing_for"],
    )


def _may_be_empty(tree: Node) -> bool:
    """Whether no result is an answer, or the series were read at another time."""
    nodes = [node for node, _ in walk(tree)]
    return (
        any(True for node in nodes for _ in compared(node))
        or any(getattr(node, "op", "") in ("and", "unless", "or") for node in nodes)
        or any(isinstance(node, Call) and node.func.startswith("absent") for node in nodes)
        or any(isinstance(node, Selector) and node.offset for node in nodes)
    )


def _often(episodes: Sequence[Episode]) -> str:
    total = _long(sum(one.seconds for one in episodes))
    return f"once, for {total}," if len(episodes) == 1 else f"{len(episodes):,} times, {total} in all,"


def _long(seconds: float) -> str:
    """A duration as people say it: no seconds of an hour, no minutes of a day."""
    unit = 1 if seconds < _HOUR else _MINUTE if seconds < _DAY_SECONDS else _HOUR
    return format_duration(max(round(seconds / unit), 1) * unit)
