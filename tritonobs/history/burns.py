"""The alerts that another objective would have caused, from the recorded error ratios.

Prometheus recorded the burns against the objective of that day, so they cannot be replayed. The error ratios
do not depend on an objective: the conditions of `rules/records/slo_burns.libsonnet` are applied to them here.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from decimal import Decimal
from functools import partial
from typing import TypeAlias

from tritonobs import names
from tritonobs.clients.prometheus import PrometheusClient, Series
from tritonobs.errors import BadAnswer
from tritonobs.history.backtest import Backtest, by_start, loaded, seen_seconds, step_seconds
from tritonobs.history.episodes import Episode, episodes_of, joined
from tritonobs.plan.slo import (
    BURN_TIERS,
    FEWEST_BAD_REQUESTS,
    HIGHEST_THRESHOLD,
    BurnTier,
    burn_factor,
    error_budget,
)
from tritonobs.timings import promql
from tritonobs.timings.span import Span
from tritonobs.units import format_duration, format_number

_RATIO, _BAD = "slo:sli_error:ratio_rate", "slo:sli_bad_requests"
_PERIOD = re.compile(rf"{_RATIO}(\d+)d")
# Two intervals of the first tier's rules, and of the others'.
_FRESH_SECONDS, _SLOW_FRESH_SECONDS = 60.0, 240.0
_Points: TypeAlias = "list[tuple[float, float]]"


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
    """
    of_version = f"{names.VERSION}={promql.quoted(version)}" if version else ""
    chosen = promql.Scope.asked(prometheus, (model,)).of(f"{names.SLO}={promql.quoted(slo)}", of_version)
    days = _period_days(prometheus)
    seen = seen_seconds(prometheus, span, f"{_RATIO}5m{chosen}")
    paged: tuple[Episode, ...] = ()
    episodes: list[Episode] = []
    for tier in BURN_TIERS:
        limit = min(HIGHEST_THRESHOLD, burn_factor(tier, days) * error_budget(objective))
        found = _episodes(prometheus, span, tier, chosen, limit)
        # While a faster page is out, a slower one adds nothing.
        kept = tuple(one for one in found if tier.severity != "critical" or not _overlaps(one, paged))
        paged += kept if tier.severity == "critical" else ()
        episodes += kept
    return Backtest(
        subject=f"{slo} of {model}{f' version {version}' if version else ''}",
        kind="objective",
        value=float(objective),
        span_seconds=span.seconds,
        seen_seconds=seen,
        step_seconds=step_seconds(span),
        episodes=by_start(episodes),
    )


def _period_days(prometheus: PrometheusClient) -> int:
    """The SLO period of the loaded rules: the longest window of which they record the error ratio."""
    found = (_PERIOD.fullmatch(rule.name) for rule in prometheus.rules() if rule.kind == "recording")
    days = max((int(match[1]) for match in found if match), default=0)
    if not days:
        raise BadAnswer(
            f"{prometheus.address} has loaded no record {_RATIO}…; build and load the rules first"
        )
    return days


def _episodes(
    prometheus: PrometheusClient, span: Span, tier: BurnTier, chosen: str, limit: Decimal
) -> tuple[Episode, ...]:
    """When the tier's alert would have been firing, one episode for a model and its versions together."""
    step = step_seconds(span)
    rule = loaded(prometheus, f"TritonErrorBudgetBurn{tier.name.capitalize()}")
    ask = partial(prometheus.query_range, start=span.start, end=span.end, step_seconds=step)
    short, long = float(tier.short_seconds), float(tier.long_seconds)

    def above(seconds: Decimal) -> str:
        return f"{_RATIO}{format_duration(seconds)}{chosen} > {format_number(limit)}"

    def both(seconds: Decimal) -> str:
        # Each window's ratio carries its own value of this label, as Sloth's boards expect.
        return f"({above(tier.long_seconds)}) and ignoring (sloth_window) ({above(seconds)})"

    # The long windows are summed of rarer samples, as the rules do.
    first_tier = tier is BURN_TIERS[0]
    samples = "increase" if first_tier else "sampled"
    fresh = format_duration(round(max(_FRESH_SECONDS if first_tier else _SLOW_FRESH_SECONDS, step)))
    burning = both(tier.short_seconds)
    counted = f"sum_over_time({_BAD}:increase{chosen}[{fresh}]) > 0"
    window = format_duration(tier.long_seconds)
    enough = f"sum_over_time({_BAD}:{samples}{chosen}[{window}]) >= {FEWEST_BAD_REQUESTS}"
    cluster = prometheus.cluster_label
    begun = _by_subject(
        ask(f"{burning} and ignoring (sloth_window) {counted} and ignoring (sloth_window) {enough}"), cluster
    )
    burns = _by_subject(ask(burning), cluster)
    still = _by_subject(ask(both(tier.again_seconds)), cluster) if tier.again_seconds else {}
    found: list[Episode] = []
    for subject, moments in begun.items():
        times = [at for at, _ in moments]
        # Half a step earlier, so that a moment does not count itself.
        first = [at for at in times if not _count(times, at - step / 2, short)]
        held = {at: value for at, value in burns.get(subject, []) if _count(times, at, short)}
        held |= {at: value for at, value in still.get(subject, []) if _count(first, at, long) > 1}
        found += episodes_of(sorted(held.items()), rule, step, span.end)
    return joined(found)


def _by_subject(series: tuple[Series, ...], cluster: str) -> dict[tuple[str, str], _Points]:
    return {
        (each.labels.get(cluster, ""), each.labels.get(names.VERSION, "")): list(each.points)
        for each in series
    }


def _count(times: list[float], until: float, seconds: float) -> int:
    """How many of the sorted times are in the last seconds."""
    return bisect_right(times, until) - bisect_right(times, until - seconds)


def _overlaps(one: Episode, others: tuple[Episode, ...]) -> bool:
    return any(one.start <= other.end and other.start <= one.end for other in others)
