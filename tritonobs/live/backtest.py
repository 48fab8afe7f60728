"""What an alert would have done under another limit or objective: the rule that runs, replayed."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from tritonobs import names
from tritonobs.errors import BadAnswer
from tritonobs.live import promql
from tritonobs.units import format_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from decimal import Decimal

    from tritonobs.clients.prometheus import PrometheusClient, Rule, Series
    from tritonobs.live.snapshot import Span

Kind = Literal["limit", "objective"]
LIMIT_SERIES, BUDGET_SERIES = "subject:tritonobs_qps_limit:held", "slo:error_budget:ratio"
"""What the rules compare with; a replay puts a number in its place."""

_RATE_SERIES = "subject:triton_requests:rate5m"
_MOST_POINTS = 10_000
_SHORTEST_STEP_SECONDS = 15.0
_MATCHER = re.compile(r'(\w+)(!?=)"([^"]*)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A time during which an alert would have been firing; `peak` is the largest value of its condition."""

    alert: str
    start: float
    end: float
    peak: float

    @property
    def seconds(self) -> float:
        """How long."""
        return self.end - self.start


@dataclass(frozen=True, slots=True, kw_only=True)
class Backtest:
    """All episodes in a span, oldest first; `step_seconds` is how finely the past was looked at.

    `value` is the limit in requests a second, or the objective as a ratio. `seen_seconds` is how much of the
    span Prometheus holds.
    """

    subject: str
    kind: Kind
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

    Raises:
        ClientError: Prometheus did not answer, has not loaded the rules, or recorded nothing of the model.
    """
    chosen = promql.selector(
        f"{names.MODEL}={promql.quoted(model)}", f"{names.VERSION}={promql.quoted(version)}"
    )
    title = f"limit of {model}{f' version {version}' if version else ''}"
    change = _Change(LIMIT_SERIES, _RATE_SERIES + chosen, qps, {names.MODEL: model, names.VERSION: version})
    return _replay(prometheus, span, change, subject=title, kind="limit", value=qps)


def backtest_objective(
    prometheus: PrometheusClient, span: Span, *, model: str, slo: str, objective: Decimal
) -> Backtest:
    """How often the alerts on the error budget would have fired, had this been the objective (a ratio).

    Raises:
        ClientError: Prometheus did not answer, has not loaded the rules, or recorded no such objective.
    """
    chosen = promql.selector(f"{names.MODEL}={promql.quoted(model)}", f"{names.SLO}={promql.quoted(slo)}")
    change = _Change(
        BUDGET_SERIES, BUDGET_SERIES + chosen, 1 - objective, {names.MODEL: model, names.SLO: slo}
    )
    return _replay(prometheus, span, change, subject=f"{slo} of {model}", kind="objective", value=objective)


class _Change(NamedTuple):
    """A number in the place of a series, for the subject that has these labels, wherever it has a history."""

    series: str
    history: str
    number: Decimal
    subject: Mapping[str, str]

    def of(self, query: str) -> str:
        """The query after the change. Where it selects others than the subject, the series stays."""
        instead = f"({self.history} * 0 + {format_number(self.number)})"
        return self.pattern.sub(lambda found: instead if self._meant(found[1]) else found[0], query)

    @property
    def pattern(self) -> re.Pattern[str]:
        """Finds the series, and what stands in its braces."""
        return re.compile(rf"(?<![\w:]){re.escape(self.series)}(?![\w:])(?:\{{([^}}]*)\}})?")

    def _meant(self, selector: str | None) -> bool:
        return all(
            (self.subject.get(label, value) == value) is (operator == "=")
            for label, operator, value in _MATCHER.findall(selector or "")
        )


def _replay(
    prometheus: PrometheusClient, span: Span, change: _Change, *, subject: str, kind: Kind, value: Decimal
) -> Backtest:
    alerts = [rule for rule in prometheus.rules() if rule.kind == "alerting"]
    rules = [rule for rule in alerts if change.pattern.search(rule.query)]
    critical = [rule for rule in rules if rule.name == names.ALERT_QPS_ABOVE_LIMIT] or rules
    if not critical:
        raise BadAnswer(
            f"{prometheus.address} has loaded no alert on {change.series}; build and load the rules first"
        )
    step = max(span.seconds / _MOST_POINTS, _SHORTEST_STEP_SECONDS)
    ask = partial(prometheus.query_range, start=span.start, end=span.end, step_seconds=step)
    seen = {moment for series in ask(change.history) for moment, _ in series.points}
    if not seen:
        raise BadAnswer(f"{prometheus.address} holds nothing of {change.history} in that time")
    episodes: list[Episode] = []
    for rule in critical:
        series = ask(change.of(rule.query))
        episodes += (episode for each in series for episode in episodes_of(each, rule, step, span.end))
    episodes.sort(key=lambda episode: episode.start)
    return Backtest(
        subject=subject,
        kind=kind,
        value=float(value),
        span_seconds=span.seconds,
        seen_seconds=min(span.seconds, len(seen) * step),
        step_seconds=step,
        episodes=tuple(episodes),
    )


def episodes_of(
    series: Series, rule: Rule, step_seconds: float, until: float = math.inf
) -> tuple[Episode, ...]:
    """When a rule fires, from the moments at which its condition held: waits and keeps as Prometheus does.

    What goes on at `until` (Unix seconds) ends there: nobody knows more.
    """
    found: list[Episode] = []
    for run in _runs(series.points, step_seconds):
        began, ended = run[0][0] + rule.wait_seconds, run[-1][0] + step_seconds
        if began >= ended:
            continue
        peak = max(value for _, value in run)
        if found and began <= found[-1].end:
            last = found.pop()
            began, peak = last.start, max(peak, last.peak)
        end = min(ended + rule.keep_seconds, until)
        if began < end:
            found.append(Episode(alert=rule.name, start=began, end=end, peak=peak))
    return tuple(found)


def _runs(points: Sequence[tuple[float, float]], step_seconds: float) -> list[list[tuple[float, float]]]:
    """Points without a gap between them."""
    runs: list[list[tuple[float, float]]] = []
    for point in points:
        if runs and point[0] - runs[-1][-1][0] <= 1.5 * step_seconds:
            runs[-1].append(point)
        else:
            runs.append([point])
    return runs
