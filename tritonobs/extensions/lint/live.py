"""What a running Prometheus says of an expression: whether its series exist, its result, and its past.

An alert is replayed on a span of the past as `limits backtest` replays the limit's: its condition at every
step, with the waiting and keeping of the rule.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from statistics import fmean
from typing import Final, TypeAlias

from tritonobs.clients.prometheus import PrometheusClient, Rule, Series
from tritonobs.errors import BadAnswer, TimedOut
from tritonobs.extensions.lint.checks.registry import Context, Edit, Hit, edited
from tritonobs.extensions.lint.checks.units import compared
from tritonobs.extensions.lint.expression import Expression, seconds_of
from tritonobs.extensions.lint.tree import Binary, Call, Matcher, Node, Selector, Unparsed, walk
from tritonobs.timings.episodes import Episode, episodes_of, joined, step_seconds
from tritonobs.timings.promql import Span, selector
from tritonobs.units import format_duration, literal

MOST_SECONDS: Final = 60.0
"""For all questions about the past together: each reads thousands of moments."""
_ALWAYS: Final = 0.95
_RARELY: Final = 0.9
_MOST_SIDES: Final = 3
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_LOOKS: Final = 24 * 60 / 5
"""Readings of a day, one every five minutes."""
_MOST_VALUES: Final = 5
_ALIKE: Final = 0.01
_VARIABLE = re.compile(r"\$\{?(\w+)|\[\[(\w+)")
_WINDOWS: Final = frozenset(("__rate_interval", "__interval", "__range"))
_REFUSED = re.compile(r".* refused: ")
_Labels: TypeAlias = frozenset[tuple[str, str]]
_Given: TypeAlias = "dict[_Labels, dict[float, float]]"
"""The values of each series by their moments."""
_USES: Final = frozenset(("alert", "record", "panel", "plain", "scaler"))


class Live:
    """Asks each question once; with a span, about that time, too.

    Expressions with Grafana variables other than windows are not asked.
    """

    def __init__(self, prometheus: PrometheusClient, span: Span | None = None) -> None:
        self._prometheus, self._span = prometheus, span
        self._past = Past(prometheus, span) if span else None
        self._there: dict[str, bool] = {}
        self._unsent: set[str] = set()

    @property
    def unsent(self) -> int:
        """How many expressions were not asked, because only Grafana could fill in their variables."""
        return len(self._unsent)

    def __call__(self, expression: Expression) -> Iterator[tuple[str, Hit]]:
        """What this Prometheus says of an expression, each with the id of the finding.

        Raises:
            ClientError: there is no answer.
        """
        if expression.use not in _USES:
            return
        if _variables(expression) - _WINDOWS:
            self._unsent.add(str(expression.text))
            return
        try:
            tree = expression.tree
        except Unparsed:
            return
        known = Context(expression=expression).read
        if not known:
            return
        there = [(one, above) for one, _, above in known if not _absent(above)]
        read = [one for one, _ in there]
        gone = [
            _silencing(hit, above) if expression.use == "alert" else hit
            for one, above in there
            if (hit := self._missing(one))
        ]
        yield from (("not-here", hit) for hit in gone)
        series = [_selector(one.name, one.matchers) for one in read]
        # What was there and is not now says nothing about sides that do not match.
        results = () if gone or not all(map(self._is_there, series)) else self._results(expression, tree)
        failed = False
        for name, hit in results:
            failed = failed or name == "fails-here"
            yield name, hit
        if expression.use == "alert" and (always := self._always(expression)):
            yield "always-here", always
        elif self._past and not gone and not failed and (past := self._past(expression, tree, series)):
            yield past

    def mended(self, expression: Expression, edits: Sequence[Edit]) -> str:
        """What the expression gives here, and what it gives when mended; nothing where they are alike.

        With a span, over the last hour of it.

        Raises:
            ClientError: there is no answer.
        """
        if _variables(expression) - _WINDOWS or any("$" in one.text for one in edits):
            return ""
        written = expression.plain
        try:
            before, after = self._given(written), self._given(edited(written, edits))
        except BadAnswer:
            return ""
        return _compared(before, after, "in the last hour" if self._span else "here")

    def _given(self, query: str) -> _Given:
        if not self._span:
            return {_labels(one.labels): {0.0: one.value} for one in self._prometheus.query(query)}
        found = self._prometheus.query_range(
            query,
            start=self._span.end - _HOUR,
            end=self._span.end,
            step_seconds=_MINUTE,
        )
        return {_labels(one.labels): dict(one.points) for one in found}

    def _always(self, expression: Expression) -> Hit | None:
        """An alert that has fired for a day."""
        firing = f'ALERTS{{alertname={literal(expression.name)},alertstate="firing"}}'
        found = self._prometheus.query(f"max(sum_over_time({firing}[1d:5m]))")
        if not found or found[0].value < _ALWAYS * _LOOKS:
            return None
        return Hit(start=0, message="it has fired here for a day without a pause: does anyone act on it?")

    def _missing(self, one: Selector) -> Hit | None:
        """Why a selector has no series, or None if it has some, or had some in the span."""
        if self._was_there(_selector(one.name, one.matchers)):
            return None
        if not self._was_there(one.name):
            return Hit(start=one.start, message=f"no server of this Prometheus has {one.name}")
        for matcher in one.matchers:
            if not self._was_there(_selector(one.name, (matcher,))):
                found = self._prometheus.query(f"group by ({matcher.name}) ({one.name})")
                values = sorted({reading.labels.get(matcher.name, "") for reading in found} - {""})
                few = ", ".join(values[:_MOST_VALUES]) + (", …" if len(values) > _MOST_VALUES else "")
                message = f"no {one.name} has {_condition(matcher)} here"
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
                yield "fails-here", Hit(start=node.start, message=_REFUSED.sub("", str(error)))
                continue
            if not there and not _absent(one for one, _ in walk(node)) and not _filters(node):
                message = "every series exists, and the result is empty: do the two sides not match?"
                yield "empty-here", Hit(start=node.start, message=message)

    def _was_there(self, selector: str) -> bool:
        if self._is_there(selector) or not self._span:
            return self._is_there(selector)
        span = self._span
        return bool(self._prometheus.label_values("__name__", selector, start=span.start, end=span.end))

    def _is_there(self, selector: str) -> bool:
        if selector not in self._there:
            self._there[selector] = bool(self._prometheus.query(f"count({selector})"))
        return self._there[selector]


def _variables(expression: Expression) -> set[str]:
    """The names of the variables of Grafana in an expression."""
    return {one[1] or one[2] for one in _VARIABLE.finditer(expression.text)} if expression.grafana else set()


def _labels(labels: Mapping[str, str]) -> _Labels:
    return frozenset(labels.items())


def _compared(before: _Given, after: _Given, when: str) -> str:
    """The result with the greatest difference, before and after: means over the moments that have both."""
    if not before or not after:
        counts = (f"{len(one):,} series" if one else "nothing" for one in (before, after))
        return f"{when} it gives {{}}, and {{}} when fixed".format(*counts) if before or after else ""
    pairs = [_means(before.get(labels, {}), points) for labels, points in after.items()]
    apart = [(abs(new - was) / max(abs(new), abs(was)), was, new) for was, new in pairs if was != new]
    finite = [one for one in apart if math.isfinite(one[0])]
    share, was, new = max(finite, default=(0.0, 0.0, 0.0))
    return f"{when} it gives {was:.4g}, and {new:.4g} when fixed" if share > _ALIKE else ""


def _means(before: Mapping[float, float], after: Mapping[float, float]) -> tuple[float, float]:
    both = [
        (before[at], value)
        for at, value in after.items()
        if at in before and math.isfinite(before[at]) and math.isfinite(value)
    ]
    if not both:
        return math.nan, math.nan
    return fmean(was for was, _ in both), fmean(new for _, new in both)


def _filters(node: Node) -> bool:
    """Whether the result may be empty because a condition is not met."""
    return any(True for below, _ in walk(node) for _ in compared(below)) or any(
        getattr(below, "op", "") in ("and", "unless") for below, _ in walk(node)
    )


def _silencing(hit: Hit, above: tuple[Node, ...]) -> Hit:
    """Of an alert: without this series it has no result, unless another part of it has one."""
    others = any(isinstance(one, Binary) and one.op in ("or", "unless") for one in above)
    return hit if others else replace(hit, message=f"{hit.message}, so the alert cannot fire")


def _absent(nodes: Iterable[Node]) -> bool:
    return any(isinstance(one, Call) and one.func.startswith("absent") for one in nodes)


def _selector(name: str, matchers: tuple[Matcher, ...]) -> str:
    return name + selector(*map(_condition, matchers))


def _condition(one: Matcher) -> str:
    return f"{one.name}{one.op}{literal(one.value)}"


class Past:
    """Asks about a span of the past. A finding says which history could not be read."""

    def __init__(self, prometheus: PrometheusClient, span: Span) -> None:
        self._prometheus, self._span = prometheus, span
        self._step = step_seconds(span)
        self._spent = 0.0

    def __call__(self, expression: Expression, tree: Node, series: Sequence[str]) -> tuple[str, Hit] | None:
        """What the past says of one, with the id of the finding; `series` selects what it reads.

        Raises:
            Unreachable: Prometheus is gone.
        """
        if self._spent >= MOST_SECONDS:
            message = f"its history was not read: the {MOST_SECONDS:g} s for that are over"
            return "unasked-here", Hit(start=0, message=message)
        began = time.monotonic()
        try:
            said = (
                self._alert(expression, tree)
                if expression.use == "alert"
                else self._shown(tree, expression, series)
            )
        except (BadAnswer, TimedOut) as error:
            message = f"its history could not be read: {_REFUSED.sub('', str(error))}"
            said = ("unasked-here", Hit(start=0, message=message))
        self._spent += time.monotonic() - began
        return said

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
        if firing >= _ALWAYS * seen >= _ALWAYS * _DAY:
            message = f"it would have fired for {firing / seen:.0%} of {_long(seen)}: does anyone act on it?"
            return "always-here", Hit(start=0, message=message)
        if episodes:
            message = f"it would have fired {_often(episodes)} in {_long(seen)}"
            return "fired-here", Hit(start=0, message=message)
        if not seen:
            past = _long(self._span.seconds)
            message = f"it would not have fired in {past}: what it compares had no result in that time"
            return "never-here", Hit(start=0, message=message)
        why = f": its condition never held for {_long(rule.wait_seconds)}" if found else reached
        message = f"it would not have fired in the {_long(seen)} that are recorded{why}"
        return "never-here", Hit(start=0, message=message)

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
        return "rarely-here", Hit(start=0, message=message)

    def _points(self, query: str) -> tuple[tuple[float, float], ...]:
        found = self._asked(query)
        return found[0].points if found else ()

    def _asked(self, query: str) -> tuple[Series, ...]:
        return self._prometheus.query_range(
            query, start=self._span.start, end=self._span.end, step_seconds=self._step
        )


def _rule(expression: Expression) -> Rule:
    """The alert as Prometheus would have loaded it."""
    return Rule(
        group="",
        name=expression.name,
        kind="alerting",
        query=expression.plain,
        wait_seconds=seconds_of(expression.settings.get("for", ""), 0.0),
        keep_seconds=seconds_of(expression.settings.get("keep_firing_for", ""), 0.0),
    )


def _may_be_empty(tree: Node) -> bool:
    """Whether no result is an answer, or the series were read at another time."""
    nodes = [node for node, _ in walk(tree)]
    return (
        _filters(tree)
        or _absent(nodes)
        or any(isinstance(node, Binary) and node.op == "or" for node in nodes)
        or any(isinstance(node, Selector) and node.offset for node in nodes)
    )


def _often(episodes: Sequence[Episode]) -> str:
    total = _long(sum(one.seconds for one in episodes))
    return f"once, for {total}," if len(episodes) == 1 else f"{len(episodes):,} times, {total} in all,"


def _long(seconds: float) -> str:
    """A duration as people say it: no seconds of an hour, no minutes of a day."""
    unit = 1 if seconds < _HOUR else _MINUTE if seconds < _DAY else _HOUR
    return format_duration(max(round(seconds / unit), 1) * unit)
