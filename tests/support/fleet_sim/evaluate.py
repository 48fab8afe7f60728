"""What the rules make of a world: every rule at the interval of its group, over all of the world's time."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from support.fleet_sim.engine import QueryFailed
from support.fleet_sim.episodes import Episode, alert_labels, as_sent, lives_between, states
from support.fleet_sim.order import EVERY_ALERT, ordered, scheduled
from support.fleet_sim.series import NAME, STALE, Series, with_ends
from support.fleet_sim.spans import after_each, among

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from support.fleet_sim.engine import Engine
    from support.fleet_sim.order import Scheduled
    from support.fleet_sim.series import Array
    from support.fleet_sim.spans import Span

_MADE: Final = re.compile(r'\bcount_values\b[^"]*"(\w+)"')
_LAST: Final = "zzz_"
"""A range query of Prometheus 2.42 leaves out labels that sort after the one it makes of the values."""
_Labels: TypeAlias = "tuple[tuple[str, str], ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """Every episode of every alert asked for, and how often each rule failed instead of giving an answer."""

    episodes: dict[str, list[Episode]]
    failures: dict[str, int]


@dataclass(slots=True, kw_only=True)
class _Clock:
    """The evaluations of one rule: some fail and are `lost`, none is while Prometheus is `away`."""

    times_ms: Array
    lost: Array
    away: Array
    found: list[Series] = field(default_factory=list)


def evaluate(
    engine: Engine,
    groups: Sequence[Mapping[str, Any]],
    names: Collection[str],
    *,
    start_ms: int,
    end_ms: int,
    seed: int | None = 0,
    given: Iterable[str] = (),
    default_ms: int = 60_000,
    away_ms: Sequence[Span] = (),
) -> Evaluated:
    """Compute the rules called `names` and all they read, write the records, live the lives of the alerts.

    The states of alerts are written for rules that read them, and of all alerts when "ALERTS" is among the
    names.

    A rule sees what Prometheus' rule manager would let it see: of its own group the rules above it in this
    turn, of other groups what they recorded until now. While it is away nothing is evaluated, and afterwards
    it starts: what it recorded ends without a marker, and of its alerts it knows what Prometheus restores.

    Raises:
        QueryFailed: a rule, which the text names, cannot be computed at any turn.
    """
    rules = scheduled(groups, seed=seed, default_ms=default_ms)
    chosen = ordered(rules, names, given)
    episodes: dict[str, list[Episode]] = {}
    failures: dict[str, int] = {}
    for rule in chosen:
        clock = _clock(rule, start_ms + rule.phase_ms, end_ms, away_ms)
        try:
            if rule.reads_itself:
                _compute_itself(engine, rule, clock)
            else:
                _compute(engine, rule.rule["expr"], clock, rule.interval_ms)
        except QueryFailed as error:
            raise QueryFailed(f"{rule.name}: {error}") from None
        failed = int((clock.lost & ~clock.away).sum())
        if failed:
            failures[rule.name] = failures.get(rule.name, 0) + failed
        if rule.reads_itself:
            continue
        if "record" in rule.rule:
            engine.write(_recorded(rule.rule, clock))
            continue
        lived = list(_lived(rule.rule, clock))
        episodes.setdefault(rule.name, []).extend(
            one for each in lived for one in as_sent(each, rule.interval_ms)
        )
        if EVERY_ALERT in names or any(rule.name in one.reads for one in chosen):
            engine.write(_alerts(rule.rule, [one for each in lived for one in each], clock))
    return Evaluated(episodes=episodes, failures=failures)


def _clock(rule: Scheduled, first_ms: int, end_ms: int, away_ms: Sequence[Span]) -> _Clock:
    times = np.arange(first_ms, end_ms + 1, rule.interval_ms, dtype=np.int64)
    return _Clock(times_ms=times, lost=np.zeros(len(times), dtype=bool), away=among(times, away_ms))


def _compute(engine: Engine, expr: str, clock: _Clock, interval_ms: int) -> None:
    for made in {*_MADE.findall(expr)}:
        expr = re.sub(rf"\b{made}\b", f"{_LAST}{made}", expr)

    def compute(low: int, high: int) -> None:
        """Places low to high, high not included; where some fail, the others all the same."""
        first, last = (int(clock.times_ms[place]) for place in (low, high - 1))
        try:
            found = engine.steps(expr, first, last, interval_ms)
        except QueryFailed as error:
            if high - low == 1:
                if "many-to-many" not in str(error) and "labelset" not in str(error):
                    raise
                clock.lost[low] = True
                return
            compute(low, (low + high) // 2)
            compute((low + high) // 2, high)
            return
        for one in found:
            labels = {name.removeprefix(_LAST): value for name, value in one.labels.items()}
            clock.found.append(replace(one, labels=labels))

    if len(clock.times_ms):
        compute(0, len(clock.times_ms))


def _compute_itself(engine: Engine, rule: Scheduled, clock: _Clock) -> None:
    """Compute and write a record that reads itself.

    At first over all of time, as if it had recorded nothing. Where it would give the same after having
    recorded that, this is what it gives. Otherwise turn by turn.
    """
    guess = f"{rule.name}:guess"
    once, again = (replace(clock, lost=clock.lost.copy(), found=[]) for _ in range(2))
    _compute(engine, rule.reading(guess), once, rule.interval_ms)
    # A turn does not see what it records itself, so each guess is there a moment later.
    engine.write(
        replace(one, times_ms=one.times_ms + 1) for one in _recorded({**rule.rule, "record": guess}, once)
    )
    _compute(engine, rule.reading(guess), again, rule.interval_ms)
    if _alike(rule.rule, once, again):
        clock.lost |= once.lost
        engine.write(_recorded(rule.rule, once))
        return
    last: dict[_Labels, float] = {}
    for place in range(len(clock.times_ms)):
        if clock.away[place]:
            last = {}
            continue
        turn = replace(
            clock, times_ms=clock.times_ms[place : place + 1], lost=np.zeros(1, bool), away=np.zeros(1, bool)
        )
        turn.found = []
        _compute(engine, rule.rule["expr"], turn, rule.interval_ms)
        now = {_key(one.labels): float(one.values[0]) for one in _recorded(rule.rule, turn)}
        clock.lost[place] = turn.lost[0]
        if turn.lost[0]:
            continue
        written = {**dict.fromkeys(last, STALE), **now}
        engine.write(
            Series(labels=dict(key), times_ms=turn.times_ms, values=np.array([value]))
            for key, value in written.items()
        )
        last = now


def _alike(rule: Mapping[str, Any], one: _Clock, other: _Clock) -> bool:
    rows = [{_key(row.labels): row for row in _recorded(rule, each)} for each in (one, other)]
    return rows[0].keys() == rows[1].keys() and all(
        np.array_equal(row.times_ms, rows[1][key].times_ms)
        and np.array_equal(row.values, rows[1][key].values, equal_nan=True)
        for key, row in rows[0].items()
    )


def _gathered(clock: _Clock, relabelled: Iterable[dict[str, str]]) -> dict[_Labels, tuple[Array, Array]]:
    """Values and presence over all evaluations, for each label set.

    Two samples of one evaluation with the same labels are a failure of the rule, as in Prometheus.
    """
    rows: dict[_Labels, tuple[Array, Array]] = {}
    count = len(clock.times_ms)
    for one, labels in zip(clock.found, relabelled, strict=True):
        key = _key(labels)
        values, there = rows.setdefault(key, (np.zeros(count), np.zeros(count, dtype=bool)))
        places = np.searchsorted(clock.times_ms, one.times_ms)
        clock.lost[places[there[places]]] = True
        values[places], there[places] = one.values, True
    return rows


def _key(labels: Mapping[str, str]) -> _Labels:
    return tuple(sorted((name, value) for name, value in labels.items() if value))


def _recorded(rule: Mapping[str, Any], clock: _Clock) -> Iterator[Series]:
    own = {**rule.get("labels", {}), NAME: rule["record"]}
    rows = _gathered(clock, [{**one.labels, **own} for one in clock.found])
    kept = ~clock.lost & ~clock.away
    cut = after_each(clock.away, kept)
    for key, (values, there) in rows.items():
        # A turn that failed writes nothing, not even the end of what was there before.
        places, written = with_ends(values[kept], there[kept], cut)
        yield Series(labels=dict(key), times_ms=clock.times_ms[kept][places], values=written)


def _lived(rule: Mapping[str, Any], clock: _Clock) -> Iterator[list[Episode]]:
    """For each label set the episodes, cut where Prometheus was away."""
    rows = _gathered(clock, [alert_labels(rule, one.labels) for one in clock.found])
    kept = ~clock.lost & ~clock.away
    starts = np.flatnonzero(after_each(clock.away, kept))
    stretches = np.split(clock.times_ms[kept], starts)
    for key, (_, there) in rows.items():
        yield lives_between(rule, dict(key), stretches, np.split(there[kept], starts))


def _alerts(rule: Mapping[str, Any], lived: Iterable[Episode], clock: _Clock) -> Iterator[Series]:
    """`ALERTS` and `ALERTS_FOR_STATE`, for rules that read them."""
    times_ms, cut = clock.times_ms[~clock.away], after_each(clock.away, ~clock.away)
    by_labels: dict[_Labels, list[Episode]] = {}
    for episode in lived:
        by_labels.setdefault(_key(episode.labels), []).append(episode)
    for key, episodes in by_labels.items():
        each = [states(episode, times_ms) for episode in episodes]
        pending, firing = (np.logical_or.reduce([one[place] for one in each]) for place in (0, 1))
        since = np.zeros(len(times_ms))
        for episode in episodes:
            since[times_ms >= episode.active_ms] = episode.active_ms // 1000
        for name, more, there, values in (
            ("ALERTS", {"alertstate": "pending"}, pending, np.ones(len(times_ms))),
            ("ALERTS", {"alertstate": "firing"}, firing, np.ones(len(times_ms))),
            ("ALERTS_FOR_STATE", {}, pending | firing, since),
        ):
            if there.any():
                places, written = with_ends(values, there, cut)
                yield Series(
                    labels={**dict(key), **more, NAME: name}, times_ms=times_ms[places], values=written
                )
