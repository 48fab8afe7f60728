"""What an alert would have done under another limit or objective: the rule that runs, replayed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from tritonobs import names
from tritonobs.errors import BadAnswer
from tritonobs.live import promql
from tritonobs.units import format_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from decimal import Decimal

    from tritonobs.clients.prometheus import PrometheusClient, Rule, Series
    from tritonobs.live.snapshot import Span

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
    """All episodes in a span, oldest first; `step_seconds` is how finely the past was looked at."""

    subject: str
    value: float
    span_seconds: float
    step_seconds: float
    episodes: tuple[Episode, ...]

    @property
    def firing_seconds(self) -> float:
        """How long any of the alerts would have been firing, added up."""
        return sum(episode.seconds for episode in self.episodes)


def backtest_limit(
    prometheus: PrometheusClient, span: Span, *, model: str, version: str, qps: Decimal
) -> Backtest:
    """How often the limit's alert would have fired, had the limit been `qps`.

    Raises:
        ClientError: Prometheus did not answer, or has not loaded the rules.
    """
    chosen = promql.selector(
        f"{names.MODEL}={promql.quoted(model)}", f"{names.VERSION}={promql.quoted(version)}"
    )
    instead = f"({_RATE_SERIES}{chosen} * 0 + {format_number(qps)})"
    title = f"limit of {model}{f' version {version}' if version else ''}"
    change = _Change(LIMIT_SERIES, instead, {names.MODEL: model, names.VERSION: version})
    return _replay(prometheus, span, change, subject=title, value=float(qps))


def backtest_objective(
    prometheus: PrometheusClient, span: Span, *, model: str, slo: str, objective: Decimal
) -> Backtest:
    """How often the alerts on the error budget would have fired, had this been the objective (a ratio).

    Raises:
        ClientError: Prometheus did not answer, or has not loaded the rules.
    """
    chosen = promql.selector(f"{names.MODEL}={promql.quoted(model)}", f"{names.SLO}={promql.quoted(slo)}")
    instead = f"({BUDGET_SERIES}{chosen} * 0 + {format_number(1 - objective)})"
    change = _Change(BUDGET_SERIES, instead, {names.MODEL: model, names.SLO: slo})
    return _replay(prometheus, span, change, subject=f"{slo} of {model}", value=float(objective))


class _Change(NamedTuple):
    """An expression in the place of a series, for the subject that has these labels."""

    series: str
    instead: str
    subject: Mapping[str, str]

    def of(self, query: str) -> str:
        """The query after the change. Where it selects others than the subject, the series stays."""
        return self.pattern.sub(lambda found: self.instead if self._meant(found[1]) else found[0], query)

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
    prometheus: PrometheusClient, span: Span, change: _Change, *, subject: str, value: float
) -> Backtest:
    alerts = [rule for rule in prometheus.rules() if rule.kind == "alerting"]
    rules = [rule for rule in alerts if change.pattern.search(rule.query)]
    critical = [rule for rule in rules if rule.name == names.ALERT_QPS_ABOVE_LIMIT] or rules
    if not critical:
        raise BadAnswer(
            f"{prometheus.address} has loaded no alert on {change.series}; build and load the rules first"
        )
    step = max(span.seconds / _MOST_POINTS, _SHORTEST_STEP_SECONDS)
    episodes: list[Episode] = []
    for rule in critical:
        series = prometheus.query_range(
            change.of(rule.query), start=span.start, end=span.end, step_seconds=step
        )
        episodes += (episode for each in series for episode in episodes_of(each, rule, step))
    episodes.sort(key=lambda episode: episode.start)
    return Backtest(
        subject=subject,
        value=value,
        span_seconds=span.seconds,
        step_seconds=step,
        episodes=tuple(episodes),
    )


def episodes_of(series: Series, rule: Rule, step_seconds: float) -> tuple[Episode, ...]:
    """When a rule fires, from the moments at which its condition held: waits and keeps as Prometheus does."""
    found: list[Episode] = []
    for run in _runs(series.points, step_seconds):
        began, ended = run[0][0] + rule.wait_seconds, run[-1][0] + step_seconds
        if began >= ended:
            continue
        peak = max(value for _, value in run)
        if found and began <= found[-1].end:
            last = found.pop()
            began, peak = last.start, max(peak, last.peak)
        found.append(Episode(alert=rule.name, start=began, end=ended + rule.keep_seconds, peak=peak))
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
