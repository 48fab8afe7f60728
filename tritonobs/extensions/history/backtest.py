"""The alerts that another limit, or another objective, would have caused.

A limit: the loaded rule is replayed. An objective: Prometheus recorded the burns against the objective of
that day, so they cannot be replayed. The error ratios do not depend on an objective: the conditions of
`rules/records/slo_burns.libsonnet` are applied to them, with what one tier has reported left out of the next.
Bad requests that a pipeline's member explains are kept: a backtest is about one model.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import accumulate
from typing import Any, Final, Literal, TypeAlias

from tritonobs import names
from tritonobs.clients.prometheus import PrometheusClient, Rule
from tritonobs.errors import BadAnswer
from tritonobs.render.rules import mixin_knobs
from tritonobs.report.console import Column, Line, Table
from tritonobs.report.formats import share
from tritonobs.timings import promql
from tritonobs.timings.episodes import Episode, episodes_of, joined, runs, step_seconds
from tritonobs.timings.promql import Span
from tritonobs.units import format_duration, format_moment, format_number, literal, parse_duration

LIMIT_SERIES = "subject:tritonobs_qps_limit:held"
"""What the rule compares with; a replay puts a number in its place."""
_KEPT_SERIES = ("subject:tritonobs_limit_kept:info", "subject:tritonobs_limit_again:info")
"""Series that keep the alert firing, behind a full queue or when it recurs; they belong to the old limit."""
_NEAR_SERIES = "subject:tritonobs_qps_limit:near"
"""The limits of traffic that is near them: which those were under another limit was not recorded."""
_RATES_SERIES = "subject:triton_requests_offered:near_limit"
"""What is compared with those limits, a row for each rate."""
_RATE = re.compile(rf'label_replace\((.+?) and on \([^)]*\) {_NEAR_SERIES}, "rate", "(\w+)", "", ""\)')
_RATE_SERIES = "subject:triton_requests:rate5m"
_MOST_EPISODES = 30
_MOST_OF = 0.98
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
    chosen = promql.Scope.asked(prometheus, (model,)).of(f"{names.VERSION}={literal(version)}")
    history, subject = _RATE_SERIES + chosen, {names.MODEL: model, names.VERSION: version}
    rules = prometheus.rules()
    rule = _found(prometheus, rules, names.ALERT_QPS_ABOVE_LIMIT, "alert")
    step = step_seconds(span)
    seen = seen_seconds(prometheus, span, history)
    query = rule.query
    if names.LIMIT_EXCEEDED in query:
        compared = _found(prometheus, rules, names.LIMIT_EXCEEDED, "record").query
        if _RATES_SERIES in compared:
            rates = _found(prometheus, rules, _RATES_SERIES, "record").query
            for rate, name in _RATE.findall(rates):
                compared = compared.replace(f'{_RATES_SERIES}{{rate="{name}"}}', f"({rate})")
        query = query.replace(names.LIMIT_EXCEEDED, f"({compared})").replace(_NEAR_SERIES, LIMIT_SERIES)
    # The history lends its labels: a bare number has none by which the rule could join it.
    query = _replayed(query, subject, f"({history} * 0 + {format_number(qps)})")
    found = prometheus.query_range(query, start=span.start, end=span.end, step_seconds=step)
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
    found = prometheus.query_range(series, start=span.start, end=span.end, step_seconds=step)
    seen = {moment for each in found for moment, _ in each.points}
    if not seen:
        raise BadAnswer(f"{prometheus.address} holds nothing of {series} in that time")
    return min(span.seconds, len(seen) * step)


def by_start(episodes: Iterable[Episode]) -> tuple[Episode, ...]:
    """Oldest first."""
    return tuple(sorted(episodes, key=lambda episode: episode.start))


def _replayed(query: str, subject: Mapping[str, str], instead: str) -> str:
    """The query with another limit of the subject that has these labels; limits of others stay."""

    def limit(found: re.Match[str]) -> str:
        meant = all(
            (subject.get(label, value) == value) is (operator == "=")
            for label, operator, value in _MATCHER.findall(found[1] or "")
        )
        return instead if meant else found[0]

    # Without a letter or colon beside it: a longer name is another series.
    series = rf"(?<![\w:]){re.escape(LIMIT_SERIES)}(?![\w:])(?:\{{([^}}]*)\}})?"
    replayed = re.sub(series, limit, query)
    for kept in _KEPT_SERIES:
        replayed = replayed.replace(kept, "(vector(0) > 0)")
    return replayed


def backtest_table(backtest: Backtest) -> Table:
    """When the alert would have fired, and how much of the time."""
    shown = backtest.episodes[-_MOST_EPISODES:]
    earlier = len(backtest.episodes) - len(shown)
    span, number = format_duration(round(backtest.span_seconds)), len(backtest.episodes)
    value = f"{backtest.value * 100:g}%" if backtest.kind == "objective" else f"{backtest.value:g} requests/s"
    alerts = f"{number or 'no'} alert{'' if number == 1 else 's'}"
    return Table(
        title=f"{backtest.subject} at {value}, over {span}: {alerts}",
        columns=(
            Column(title="from"),
            Column(title="for", right=True),
            Column(title="peak", right=True),
            Column(title="alert", wrap=True),
        ),
        lines=tuple(
            Line(
                cells=(
                    format_moment(episode.start),
                    format_duration(max(1, round(episode.seconds))),
                    f"{episode.peak:.3g}",
                    episode.alert,
                )
            )
            for episode in shown
        ),
        notes=(
            *((f"{earlier} earlier ones are left out.",) if earlier else ()),
            _share_of_time(backtest),
        ),
    )


def _share_of_time(backtest: Backtest) -> str:
    step = format_duration(round(backtest.step_seconds))
    ratio = share(backtest.firing_seconds / backtest.seen_seconds)
    seen = format_duration(round(backtest.seen_seconds))
    short = backtest.seen_seconds < _MOST_OF * backtest.span_seconds
    history = f"the {seen} that Prometheus holds" if short else "the time"
    return f"Firing {ratio} of {history}, read every {step}."


_RATIO, _BAD = "slo:sli_error:ratio_rate", "slo:sli_bad_requests"
_BUDGET = "slo:error_budget:ratio"
_PERIOD = re.compile(rf"{_RATIO}(\d+)d")
# Two intervals of the first tier's rules, and of the others'.
_FRESH_SECONDS, _SLOW_FRESH_SECONDS = 60.0, 240.0
# Longer windows are summed of rarer samples, as the rules do.
_SAMPLED_SECONDS: Final = 3600
_Subject: TypeAlias = tuple[str, str]
"""The cluster, and the version or "" for the model over all of them."""
_Values: TypeAlias = Mapping[float, float]
"""By their moment, in Unix seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BurnTier:
    """A pair of windows of the rules: an alert begins where both burn faster than `factor`.

    The SLO is at least `age_seconds` old then: a burn that faster tiers leave to this one needs that time.
    One that began twice in `lately_seconds` lasts until the window `again_seconds` is calm, too.
    """

    name: str
    severity: str
    factor: float
    long_seconds: int
    short_seconds: int
    again_seconds: int
    lately_seconds: int
    age_seconds: int


def burn_tiers(knobs: Mapping[str, Any]) -> list[BurnTier]:
    """The tiers of the rules, the fastest first, from the knobs of the mixin."""
    tiers = []
    for tier in knobs["burnTiers"]:
        windows = ("long", "short", "again", "lately", "age")
        seconds = {name: int(parse_duration(tier[name])) if tier[name] else 0 for name in windows}
        # 14.4 for 2 % of 30 days in an hour, and never below 1: at that rate the SLO is met.
        factor = max(1.0, round(tier["share"] * knobs["sloPeriodSeconds"] / seconds["long"], 4))
        own = {f"{name}_seconds": value for name, value in seconds.items()}
        tiers.append(BurnTier(name=tier["name"], severity=tier["severity"], factor=factor, **own))
    return tiers


def backtest_objective(
    prometheus: PrometheusClient,
    span: Span,
    *,
    model: str,
    version: str = "",
    slo: str,
    objective: Decimal,
) -> Backtest:
    """How often the alerts on the error budget would have fired, had this been the objective (a ratio).

    Of one version, or without one of the model and each of its versions.

    Raises:
        ClientError: Prometheus did not answer, has not loaded the rules, or recorded no such objective.
        RenderFailed: the loaded rules have a period that the mixin refuses.
    """
    of_version = f"{names.VERSION}={literal(version)}" if version else ""
    chosen = promql.Scope.asked(prometheus, (model,)).of(f"{names.SLO}={literal(slo)}", of_version)
    rules = prometheus.rules()
    knobs = mixin_knobs({"sloPeriod": f"{_period_days(prometheus, rules)}d"})
    seen = seen_seconds(prometheus, span, f"{_RATIO}5m{chosen}")
    recorded = _Recorded(prometheus=prometheus, span=span, chosen=chosen)
    tried: list[_Burns] = []
    episodes: list[Episode] = []
    for tier in burn_tiers(knobs):
        limit = min(knobs["sloThresholdCap"], tier.factor * float(1 - objective))
        burns = _Burns(tier=tier, limit=limit, faster=tuple(tried), recorded=recorded, knobs=knobs)
        rule = _found(prometheus, rules, f"TritonErrorBudgetBurn{tier.name.capitalize()}", "alert")
        for subject in recorded.subjects():
            burns.try_out(subject)
        episodes += joined(
            one for points in burns.sent() for one in episodes_of(points, rule, step_seconds(span), span.end)
        )
        tried.append(burns)
    return Backtest(
        subject=f"{slo} of {model}{f' version {version}' if version else ''}",
        kind="objective",
        value=float(objective),
        span_seconds=span.seconds,
        seen_seconds=seen,
        step_seconds=step_seconds(span),
        episodes=by_start(episodes),
    )


def _period_days(prometheus: PrometheusClient, rules: Iterable[Rule]) -> int:
    """The SLO period of the loaded rules: the longest window of which they record the error ratio."""
    found = (_PERIOD.fullmatch(rule.name) for rule in rules if rule.kind == "recording")
    days = max((int(match[1]) for match in found if match), default=0)
    if not days:
        raise BadAnswer(
            f"{prometheus.address} has loaded no record {_RATIO}…; build and load the rules first"
        )
    return days


@dataclass(slots=True, kw_only=True)
class _Recorded:
    """What the rules recorded of one model's SLO in the span, each series asked for once."""

    prometheus: PrometheusClient
    span: Span
    chosen: str
    _asked: dict[str, dict[_Subject, _Values]] = field(default_factory=dict)
    _counted: dict[_Subject, tuple[list[float], list[float]]] = field(default_factory=dict)

    def subjects(self) -> list[_Subject]:
        """All that have a history."""
        return sorted(self._ask(f"{_RATIO}5m{self.chosen}"))

    def ratio(self, subject: _Subject, seconds: int) -> _Values:
        """The error ratio over a window."""
        return self._ask(f"{_RATIO}{format_duration(seconds)}{self.chosen}").get(subject, {})

    def steps(self, seconds: float) -> float:
        """So long, in whole steps of the span."""
        return math.ceil(seconds / step_seconds(self.span)) * step_seconds(self.span)

    def bad(self, subject: _Subject, seconds: float) -> _Values:
        """The bad requests of a window."""
        samples = "sampled" if seconds > _SAMPLED_SECONDS else "increase"
        window = format_duration(round(seconds))
        return self._ask(f"sum_over_time({_BAD}:{samples}{self.chosen}[{window}])").get(subject, {})

    def fresh(self, subject: _Subject, seconds: float) -> _Values:
        """The bad requests that were just counted."""
        return self.bad(subject, max(seconds, step_seconds(self.span)))

    def old_enough(self, subject: _Subject, seconds: int, at: float) -> bool:
        """Whether the SLO existed this long before."""
        if not seconds:
            return True
        return at in self._ask(f"{_BUDGET}{self.chosen} offset {format_duration(seconds)}").get(subject, {})

    def counted(self, subject: _Subject) -> tuple[list[float], list[float]]:
        """Moments, and the bad requests from the start of the span to each of them."""
        if subject not in self._counted:
            each = sorted(self.fresh(subject, 0).items())
            self._counted[subject] = [at for at, _ in each], list(accumulate(count for _, count in each))
        return self._counted[subject]

    def _ask(self, query: str) -> dict[_Subject, _Values]:
        if query not in self._asked:
            found = self.prometheus.query_range(
                query, start=self.span.start, end=self.span.end, step_seconds=step_seconds(self.span)
            )
            cluster = self.prometheus.cluster_label
            self._asked[query] = {
                (each.labels.get(cluster, ""), each.labels.get(names.VERSION, "")): dict(each.points)
                for each in found
            }
        return self._asked[query]


@dataclass(slots=True, kw_only=True)
class _Burns:
    """When one tier would have burned, by subject, with the error ratio of its long window."""

    tier: BurnTier
    limit: float
    faster: tuple[_Burns, ...]
    recorded: _Recorded
    knobs: Mapping[str, Any]
    points: dict[_Subject, list[tuple[float, float]]] = field(default_factory=dict)
    _burned: dict[str, list[float]] = field(default_factory=dict)
    _spans: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    def try_out(self, subject: _Subject) -> None:
        """Judge a subject, moment by moment."""
        tier, recorded = self.tier, self.recorded
        long, short, again = (
            recorded.ratio(subject, window)
            for window in (tier.long_seconds, tier.short_seconds, tier.again_seconds)
        )
        begun: list[float] = []
        begins: list[float] = []
        lasting, least = (self.knobs[ratio] * self.limit for ratio in ("burnLastingRatio", "burnAgainRatio"))
        for at, ratio in sorted(long.items()):
            if self._begins(subject, at, ratio, short.get(at, 0)):
                if not _count(begun, at, tier.short_seconds):
                    begins.append(at)
                begun.append(at)
            lately = short.get(at, 0) > lasting and _count(begun, at, tier.short_seconds)
            twice = again.get(at, 0) > least and _count(begins, at, tier.lately_seconds) > 1
            if ratio > lasting and (lately or twice) and not self._reported(subject, at, ratio, lasting):
                self.points.setdefault(subject, []).append((at, ratio))

    def sent(self) -> Iterable[list[tuple[float, float]]]:
        """The moments of the alert, by subject: a page adds nothing while a faster one fires."""
        for (cluster, _), points in self.points.items():
            yield [
                (at, value)
                for at, value in points
                if self.tier.severity != "critical"
                or not any(one.out(cluster, at, self.tier.short_seconds) for one in self.faster)
            ]

    def out(self, cluster: str, at: float, seconds: float = 0) -> bool:
        """Whether any subject of the cluster burned within the last seconds."""
        return _count(self._moments(cluster), at, seconds + step_seconds(self.recorded.span) / 2) > 0

    def spans(self, cluster: str) -> list[tuple[float, float]]:
        """When it burned, from the first moment to the last, oldest first."""
        if cluster not in self._spans:
            moments = [(at, 1.0) for at in self._moments(cluster)]
            found = runs(moments, step_seconds(self.recorded.span))
            self._spans[cluster] = [(run[0][0], run[-1][0]) for run in found]
        return self._spans[cluster]

    def _moments(self, cluster: str) -> list[float]:
        if cluster not in self._burned:
            here = (points for (where, _), points in self.points.items() if where == cluster)
            self._burned[cluster] = sorted({at for points in here for at, _ in points})
        return self._burned[cluster]

    def _begins(self, subject: _Subject, at: float, ratio: float, short: float) -> bool:
        """A bad request was just counted, and both windows burn too fast for this tier and none faster."""
        recorded, tier = self.recorded, self.tier
        fresh = _SLOW_FRESH_SECONDS if self.faster else _FRESH_SECONDS
        return (
            ratio > self.limit
            and short > self.limit
            and recorded.fresh(subject, fresh).get(at, 0) > 0
            and recorded.bad(subject, tier.long_seconds).get(at, 0) >= self.knobs["sloMinimumBad"]
            and recorded.old_enough(subject, tier.age_seconds, at)
            and not any(self._left_to(one, subject, at) for one in self.faster)
            and not self._reported(subject, at, ratio, self.limit)
        )

    def _left_to(self, one: _Burns, subject: _Subject, at: float) -> bool:
        """Whether a faster tier takes this: its alert fires, or its burst is what this tier sees."""
        before = at - self.recorded.steps(2 * one.tier.short_seconds)
        seen = self.recorded.ratio(subject, self.tier.long_seconds).get(before, 0) > self.limit
        return one.out(subject[0], at) or (
            one.bursts(subject, at) and (not seen or one.bursts(subject, before))
        )

    def bursts(self, subject: _Subject, at: float) -> bool:
        """Whether the latest requests burn fast enough for this tier, by more than chance."""
        recorded, short = self.recorded, self.tier.short_seconds
        return (
            recorded.ratio(subject, short).get(at, 0) > self.limit
            and recorded.bad(subject, short).get(at, 0) >= self.knobs["sloMinimumBad"]
        )

    def _reported(self, subject: _Subject, at: float, ratio: float, limit: float) -> bool:
        """Whether faster tiers have reported so much of the long window that the rest does not burn.

        They have reported what came while they burned, and the long window before.
        """
        spans = sorted(
            (begin - one.tier.long_seconds, end)
            for one in self.faster
            for begin, end in one.spans(subject[0])
            if begin <= at
        )
        moments, total = self.recorded.counted(subject)
        told, until = 0.0, at - self.tier.long_seconds
        for begin, end in spans:
            first, last = max(begin, until), min(end, at)
            if first < last:
                told += _until(moments, total, last) - _until(moments, total, first)
                until = last
        bad = self.recorded.bad(subject, self.tier.long_seconds).get(at, 0)
        return told > 0 and bad - told < max(bad * limit / ratio, self.knobs["sloMinimumBad"])


def _until(moments: list[float], total: list[float], at: float) -> float:
    place = bisect_right(moments, at)
    return total[place - 1] if place else 0.0


def _count(times: list[float], until: float, seconds: float) -> int:
    """How many of the sorted times are in the last seconds."""
    return bisect_right(times, until) - bisect_right(times, until - seconds)
