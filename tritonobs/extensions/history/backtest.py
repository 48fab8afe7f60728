"""The alerts that another limit would have caused: the loaded rule, replayed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Literal, NamedTuple

from tritonobs import names
from tritonobs.clients.prometheus import PrometheusClient, Rule
from tritonobs.errors import BadAnswer
from tritonobs.timings import promql
from tritonobs.timings.episodes import Episode, episodes_of, step_seconds
from tritonobs.timings.promql import Span
from tritonobs.units import format_number

LIMIT_SERIES = "subject:tritonobs_qps_limit:held"
"""What the rule compares with; a replay puts a number in its place."""
_KEPT_SERIES = ("subject:tritonobs_limit_kept:info", "subject:tritonobs_limit_again:info")
"""Series that keep the alert firing, behind a full queue or when it recurs; they belong to the old limit."""
_EXCEEDED_SERIES = "subject:tritonobs_limit_exceeded:rate"
"""What the rule reads of the comparison; a replay puts the comparison itself in its place."""
_NEAR_SERIES = "subject:tritonobs_qps_limit:near"
"""The limits of traffic that is near them: which those were under another limit was not recorded."""
_RATES_SERIES = "subject:triton_requests_offered:near_limit"
"""What is compared with those limits, a row for each rate."""
_RATE = re.compile(rf'label_replace\((.+?) and on \([^)]*\) {_NEAR_SERIES}, "rate", "(\w+)", "", ""\)')
_RATE_SERIES = "subject:triton_requests:rate5m"
_MATCHER = re.compile(r'(\w+)(!?=)"([^"]*)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Backtest:
    """All episodes in a span, oldest first; `step_seconds` is how finely the past was read.

    `value` is the limit in requests a second, or the objective as a ratio. `seen_seconds` is how much of the
    span Prometheus holds.
    """

    subject: str
    kind: Literal["limit", "objective"]
    value: float
    span_seconds: float
    seen_seconds: float
    step_seconds: float
    episodes: tuple[Episode, ...]

    @property
    def firing_seconds(self) -> float:
        """How long at least one of the alerts would have been firing."""
        total, until = 0.0, -math.inf
        for episode in self.episodes:
            total += max(0.0, episode.end - max(episode.start, until))
            until = max(until, episode.end)
        return total


def backtest_limit(
    prometheus: PrometheusClient, span: Span, *, model: str, version: str, qps: Decimal
) -> Backtest:
    """How often the limit's alert would have fired, had the limit been `qps`.

    An alert that a full queue keeps firing, or that recurs, may last longer than what is found.

    Raises:
        ClientError: Prometheus did not answer, has not loaded the rules, or recorded nothing of the model.
    """
    chosen = promql.Scope.asked(prometheus, (model,)).of(f"{names.VERSION}={promql.quoted(version)}")
    change = _Change(_RATE_SERIES + chosen, qps, {names.MODEL: model, names.VERSION: version})
    rules = prometheus.rules()
    rule = _found(prometheus, rules, names.ALERT_QPS_ABOVE_LIMIT, "alert")
    step = step_seconds(span)
    seen = seen_seconds(prometheus, span, change.history)
    query = rule.query
    if _EXCEEDED_SERIES in query:
        compared = _found(prometheus, rules, _EXCEEDED_SERIES, "record").query
        if _RATES_SERIES in compared:
            rates = _found(prometheus, rules, _RATES_SERIES, "record").query
            for rate, name in _RATE.findall(rates):
                compared = compared.replace(f'{_RATES_SERIES}{{rate="{name}"}}', f"({rate})")
        query = query.replace(_EXCEEDED_SERIES, f"({compared})").replace(_NEAR_SERIES, LIMIT_SERIES)
    found = prometheus.query_range(change.of(query), start=span.start, end=span.end, step_seconds=step)
    episodes = (episode for each in found for episode in episodes_of(each.points, rule, step, span.end))
    return Backtest(
        subject=f"limit of {model}{f' version {version}' if version else ''}",
        kind="limit",
        value=float(qps),
        span_seconds=span.seconds,
        seen_seconds=seen,
        step_seconds=step,
        episodes=by_start(episodes),
    )


def loaded(prometheus: PrometheusClient, alert: str) -> Rule:
    """The alerting rule of that name.

    Raises:
        ClientError: Prometheus did not answer, or has not loaded it.
    """
    return _found(prometheus, prometheus.rules(), alert, "alert")


def _found(
    prometheus: PrometheusClient, rules: Iterable[Rule], name: str, kind: Literal["alert", "record"]
) -> Rule:
    for rule in rules:
        if rule.kind == f"{kind}ing" and rule.name == name:
            return rule
    raise BadAnswer(f"{prometheus.address} has loaded no {kind} {name}; build and load the rules first")


def seen_seconds(prometheus: PrometheusClient, span: Span, series: str) -> float:
    """How much of the span Prometheus holds of these series.

    Raises:
        ClientError: Prometheus did not answer, or holds nothing.
    """
    step = step_seconds(span)
    ask = partial(prometheus.query_range, start=span.start, end=span.end, step_seconds=step)
    seen = {moment for found in ask(series) for moment, _ in found.points}
    if not seen:
        raise BadAnswer(f"{prometheus.address} holds nothing of {series} in that time")
    return min(span.seconds, len(seen) * step)


def by_start(episodes: Iterable[Episode]) -> tuple[Episode, ...]:
    """Oldest first."""
    return tuple(sorted(episodes, key=lambda episode: episode.start))


class _Change(NamedTuple):
    """A number instead of the limit, for the subject that has these labels, wherever it has a history."""

    history: str
    number: Decimal
    subject: Mapping[str, str]

    def of(self, query: str) -> str:
        """The query after the change. Where it selects others than the subject, the series stays."""
        # The history lends its labels: a bare number has none by which the rule could join it.
        instead = f"({self.history} * 0 + {format_number(self.number)})"
        # Without a letter or colon beside it: a longer name is another series.
        series = rf"(?<![\w:]){re.escape(LIMIT_SERIES)}(?![\w:])(?:\{{([^}}]*)\}})?"
        replayed = re.sub(series, lambda found: instead if self._meant(found[1]) else found[0], query)
        for kept in _KEPT_SERIES:
            replayed = replayed.replace(kept, "(vector(0) > 0)")
        return replayed

    def _meant(self, selector: str | None) -> bool:
        return all(
            (self.subject.get(label, value) == value) is (operator == "=")
            for label, operator, value in _MATCHER.findall(selector or "")
        )
