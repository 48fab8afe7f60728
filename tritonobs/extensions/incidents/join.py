"""Alerts as they come → incidents, one step after the other. Pure: the time is given.

Every step is made of all alerts that are known, so two processes that hear the same alerts have the same
incidents, in any order. An incident keeps its id; of two that turn out to be one, the one that
was known first remains.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Final

from tritonobs.delivery.payload import Alert
from tritonobs.extensions.incidents.groups import (
    NEAR_SECONDS,
    Explanation,
    Group,
    Judged,
    explained,
    explanations,
    grouped,
    put_aside,
    put_beside,
)
from tritonobs.extensions.incidents.incident import (
    QUIET_SECONDS,
    SEVERITIES,
    Change,
    Episode,
    Fleet,
    Incident,
    Where,
    changes,
    ident,
    rank,
    summed_up,
    where,
)

MOST_ALERTS: Final = 10_000
"""That are known at once; as many as a call of Alertmanager may have (`delivery/payload.py`)."""
MOST_OPEN: Final = 50
"""Incidents at once, the worst and oldest; people follow no more. Alerts of others are delivered as today."""
MOST_CLOSED: Final = 100
CLOSED_SECONDS: Final = 86_400.0
"""So many that are over are kept for so long, because a robot may not take their end at once; together they
have as many alerts as are known at once."""
FORGOTTEN_SECONDS: Final = 4 * 86_400.0
"""An alert of which nothing was heard for so long is over: Alertmanager repeats every three days at least."""

_MOST_TEXT: Final = 4_096
_MOST_LABELS, _LONGEST_LABEL = 64, 256


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What is known between two steps. `State()` is the beginning."""

    alerts: Mapping[str, Episode] = field(default_factory=dict)
    owners: Mapping[str, str] = field(default_factory=dict)
    """The id of the incident that an alert was of, by its fingerprint."""
    open: Mapping[str, Incident] = field(default_factory=dict)
    closed: Mapping[str, Incident] = field(default_factory=dict)
    said: tuple[Explanation, ...] = ()
    """What the last verdict that had causes said, at `said_at`."""
    said_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What a step found.

    `incidents` are all that are known, also those that are over and whose end may not have been said yet; the
    worst first. `outside` are the alerts of this call that no incident has, and those that have lost theirs:
    they are delivered as they always were. `changes` are what is different from the step before.
    """

    state: State
    incidents: tuple[Incident, ...]
    outside: tuple[Alert, ...]
    changes: tuple[Change, ...]


def join(
    state: State,
    now: float,
    alerts: Iterable[Alert],
    fleet: Fleet,
    verdict: Judged | None = None,
) -> Step:
    """The incidents after these alerts and this verdict, at the Unix time `now`.

    `alerts` are news: what is not among them is as it was. Without a `verdict` that of before holds, for a
    while also for alerts that begin after it; one without causes changes nothing.
    """
    known = dict(state.alerts)
    outside: list[Alert] = []
    heard: set[str] = set()
    for alert in alerts:
        key, about = alert.fingerprint, where(alert.labels, fleet)
        heard.add(key)
        before = known.get(key)
        if about is None or (before is None and len(known) >= MOST_ALERTS):
            outside.append(alert)
        elif before is not None:
            known[key] = _heard_again(before, alert, now)
        elif alert.firing or now - _ends(alert, _starts(alert, now), now) < QUIET_SECONDS:
            known[key] = _heard(alert, about, now)
        elif not _was_closed(state, alert):
            outside.append(alert)
    known = {key: _still(one, now) for key, one in known.items()}
    said = explanations(verdict, fleet) if verdict else ()
    known = put_aside(known, said, fleet)
    lately, said_at = (said, now) if said else (state.said, state.said_at)
    if now - said_at < NEAR_SECONDS:
        known = put_beside(known, lately, fleet)

    found = _identified(state, now, [group for group in grouped(known.values(), fleet) if group.counts])
    found = [_with_causes(one, said, fleet) for one in found]
    shown = sorted(found, key=lambda one: (one.id not in state.open, *_urgency(one)))[:MOST_OPEN]
    current = {one.id: one for one in shown if not one.closed}
    owners = {key: one.id for one in current.values() for key in one.keys}
    placed = owners.keys() | {key for one in shown for key in one.keys}
    left = (key for key in known if key not in placed and (key in heard or key in state.owners))
    closed = _kept(state.closed, shown, now)
    return Step(
        state=State(
            alerts=_lasting(known, owners, now),
            owners=owners,
            open=current,
            closed=closed,
            said=lately,
            said_at=said_at,
        ),
        incidents=tuple(sorted((*current.values(), *closed.values()), key=_urgency)),
        outside=(*outside, *(known[key].alert for key in left)),
        changes=tuple(
            change
            for one in sorted(shown, key=_urgency)
            for change in changes(state.open.get(one.id) or state.closed.get(one.id), one, fleet)
        ),
    )


def _urgency(one: Incident) -> tuple[bool, int, float, str]:
    return one.closed, -SEVERITIES.index(one.worst), one.began, one.id


def _heard(alert: Alert, about: Where, now: float) -> Episode:
    """An alert of which nothing was known."""
    starts = _starts(alert, now)
    began = min(starts, now)
    return Episode(
        key=alert.fingerprint,
        alert=_slim(alert),
        where=about,
        rank=rank(alert.labels),
        starts=starts,
        began=began,
        latest=began,
        seen=now,
        heard=now,
        ended=None if alert.firing else _ends(alert, began, now),
        fired=alert.firing,
    )


def _heard_again(one: Episode, alert: Alert, now: float) -> Episode:
    starts = _starts(alert, now)
    known = replace(
        one,
        heard=now,
        starts=min(one.starts, starts),
        began=min(one.began, starts),
        fired=one.fired or alert.firing,
    )
    other = alert.starts_at != one.alert.starts_at
    again = other and starts >= one.latest
    # Of two Prometheus servers Alertmanager takes the earlier start, at any time, so starts do not tell.
    ends = not alert.firing and alert.ends_at is not None and alert.ends_at.timestamp() >= one.latest
    if other and not again and not ends:
        # Old news that came late.
        return known
    latest = min(starts, now) if again else one.latest
    return replace(
        known,
        alert=_slim(alert),
        latest=latest,
        ended=None if alert.firing else _ends(alert, latest, now),
        times=one.times + again,
    )


def _still(one: Episode, now: float) -> Episode:
    """The alert as it is at this moment: where Alertmanager is gone, no end is reported."""
    forgotten = one.firing and now - one.heard >= FORGOTTEN_SECONDS
    return replace(one, ended=one.heard) if forgotten else one


def _starts(alert: Alert, now: float) -> float:
    return alert.starts_at.timestamp() if alert.starts_at else now


def _ends(alert: Alert, began: float, now: float) -> float:
    return max(began, min(alert.ends_at.timestamp(), now)) if alert.ends_at else now


def _slim(alert: Alert) -> Alert:
    """The alert without what takes too much memory; its fingerprint stays."""
    texts = (*alert.labels.items(), *alert.annotations.items())
    if sum(len(name) + len(text) for name, text in texts) <= _MOST_TEXT:
        return alert
    labels = dict(list(alert.labels.items())[:_MOST_LABELS])
    return alert.model_copy(
        update={
            "labels": {name[:_LONGEST_LABEL]: text[:_LONGEST_LABEL] for name, text in labels.items()},
            "annotations": {},
            "given_fingerprint": alert.fingerprint,
        }
    )


def _was_closed(state: State, alert: Alert) -> bool:
    """Whether an incident that is over had this alert; its end may be said again and again."""
    return any(
        one.key == alert.fingerprint and one.alert.starts_at == alert.starts_at
        for incident in state.closed.values()
        for one in incident.alerts
    )


def _identified(state: State, now: float, groups: Sequence[Group]) -> list[Incident]:
    """The groups as incidents. An id stays with the alert it is made of, else with the first that had it."""
    ordered = sorted(groups, key=lambda group: group.alerts[0].order)
    holders: dict[str, int] = {}
    for number, group in enumerate(ordered):
        for one in group.alerts:
            name = state.owners.get(one.key, "")
            if name and (name not in holders or state.open[name].anchor == one.key):
                holders[name] = number
    held: dict[int, list[Incident]] = {}
    for name, number in holders.items():
        held.setdefault(number, []).append(state.open[name])
    found = [
        _incident(state, now, group.alerts, sorted(held.get(number, ()), key=_age))
        for number, group in enumerate(ordered)
    ]
    # What was joined and is parted again has its own id back.
    own = {one.id for one in found}
    return [replace(one, joined=tuple(name for name in one.joined if name not in own)) for one in found]


def _age(one: Incident) -> tuple[float, float, str]:
    return one.opened, one.began, one.id


def _incident(state: State, now: float, alerts: Sequence[Episode], held: Sequence[Incident]) -> Incident:
    if held:
        base, *others = held
        joined = (name for other in others for name in (other.id, *other.joined))
        causes = next((one.causes for one in held if one.causes), ())
        base = replace(base, joined=(*base.joined, *joined), causes=causes)
    else:
        base = _new(state, now, next(one for one in alerts if one.counts))
    return summed_up(base, alerts, now)


def _new(state: State, now: float, first: Episode) -> Incident:
    name = ident(first.key, first.starts)
    if name in state.closed:
        # Its alert fires on although it was said to be over, as when Alertmanager lost its memory.
        return state.closed[name]
    return Incident(id=name, anchor=first.key, opened=now, began=first.began)


def _with_causes(incident: Incident, said: Sequence[Explanation], fleet: Fleet) -> Incident:
    """The incident with what a verdict says of it; a verdict that says nothing leaves what was known."""
    live = [one for one in incident.alerts if one.firing] or incident.alerts
    numbers = sorted(set(explained(live, said, fleet).values()))
    return replace(incident, causes=tuple(said[number].cause for number in numbers)) if numbers else incident


def _kept(closed: Mapping[str, Incident], shown: Iterable[Incident], now: float) -> dict[str, Incident]:
    """Those that are over, without those that were and are not any more; the newest of them."""
    known = {**closed, **{one.id: one for one in shown}}
    over = (one for one in known.values() if one.closed and _closed_at(one) > now - CLOSED_SECONDS)
    newest = sorted(over, key=_closed_at, reverse=True)[:MOST_CLOSED]
    alerts = accumulate(len(one.alerts) for one in newest)
    fitting = [one for one, sofar in zip(newest, alerts, strict=True) if sofar <= MOST_ALERTS]
    return {one.id: one for one in reversed(fitting)}


def _closed_at(one: Incident) -> float:
    return one.closed_at or 0.0


def _lasting(known: Mapping[str, Episode], owners: Mapping[str, str], now: float) -> dict[str, Episode]:
    """What can still matter: alerts of incidents that go on, and those that fire or did a moment ago."""
    return {
        key: one if key in owners else replace(one, side="", assumed=False)
        for key, one in known.items()
        if key in owners or one.ended is None or now - one.ended < QUIET_SECONDS
    }
