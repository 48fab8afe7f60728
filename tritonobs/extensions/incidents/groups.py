"""Alerts → groups that are of one fault each: by model, calls, replica, area and time.

A function of the set of alerts: the order in which they arrived does not matter. Each alert, in the order
in which they began, goes to the group that it is tied to most closely, or begins one. It never makes one
group of two: a pipeline that fails because of two members belongs to one of them, and the other stays a fault
of its own. Only a verdict joins groups, and a storm.

A cause explains alerts about what it names, and about what its verdict says follows from it. The first
verdict that explains an alert decides with which others it is one incident; later ones only say other causes
of it. So a verdict that changes its mind every quarter of a minute makes no messages.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from tritonobs.extensions.incidents.incident import OF_HOSTS, QUIET_SECONDS, Episode, Fleet, Key, Where
from tritonobs.timings.cause import Cause

NEAR_SECONDS: Final = 900.0
"""How far apart alerts may begin that one fault causes at two places: a pipeline and its member, two models
on one replica. Alerts need 50 s to a quarter of an hour to see a fault (bench/RESULTS.md, Incidents).
"""
LASTING_SECONDS: Final = 6 * 3600.0
"""The same for alerts about the same model or replica, while one of them fires.

The slower tiers of a burn look at up to six hours. Without a bound an alert that fires for weeks would take
every later fault of its model.
"""
TOGETHER_SECONDS: Final = 300.0
"""The same for two servers, or two alerts about tritonobs: a zone is noticed within two scrapes."""
STORM_GROUPS: Final = 5
STORM_SECONDS: Final = 120.0
"""So many groups that begin within this time are one incident: that many faults at once have one cause more
often than not, and 3,000 alerts would otherwise be thousands of messages. A verdict with two causes parts it.
"""
MOST_OF_ONE: Final = 5_000
"""Alerts of one incident; what comes above that is delivered as today."""

_SAME, _NEAR, _TOGETHER, _STORM = 3, 2, 1, 0
SURE: Final = 0.8
"""Less sure causes, but for the first, part no incidents: one fault often shows as one and some guesses."""
_LEAD_SECONDS: Final = 120.0
"""An alert that began so long before a cause did has another one; causes are dated within seconds."""
_OF_A_SERVER: Final = frozenset({"slow_replica"})
"""Checks whose causes name a model, its version and a replica; the third part of others' is a stage."""
_MORE: Final = frozenset(
    {
        "TritonQpsAboveLimit",
        "TritonQpsNearLimit",
        "TritonQpsSpike",
        "TritonQpsWillExceedLimit",
        "TritonTokensAboveLimit",
        "TritonTokensNearLimit",
        "TritonSaturated",
        "TritonQueueWaitHigh",
    }
)
_FEWER: Final = frozenset({"TritonTrafficDrop", "TritonTrafficStopped"})
CONTRARY: Final[Mapping[str, frozenset[str]]] = {
    "upstream_drop": _MORE,
    "qps_limit": _FEWER,
    "tokens_limit": _FEWER,
    "traffic_surge": _FEWER,
}
"""Alerts that a cause cannot explain, by its check: fewer requests exceed no limit, more do not end traffic.

An alert lasts a while after what it is about, so a look at its end may find that the requests have ended.
"""
_NAMED, _FOLLOWS, _RELATED, _FLEET = 4, 3, 2, 1


@dataclass(slots=True)
class _Touch:
    """What a group has to do with one thing: when its last alert about it began, and until when one fired."""

    latest: float = -math.inf
    until: float = -math.inf


@dataclass(slots=True, eq=False)
class Group:
    """Alerts of one fault, in the order in which they began. `side` is where a verdict put it."""

    alerts: list[Episode] = field(default_factory=list)
    side: str = ""
    _touches: dict[Key, _Touch] = field(default_factory=dict)

    @property
    def counts(self) -> bool:
        """Whether it is an incident."""
        return any(one.counts for one in self.alerts)

    @property
    def first(self) -> Episode:
        """The alert that began it."""
        return self.alerts[0]

    def add(self, one: Episode, keys: Iterable[Key]) -> None:
        """Take an alert that has to do with these things."""
        self.alerts.append(one)
        for key in keys:
            touch = self._touches.setdefault(key, _Touch())
            touch.latest = max(touch.latest, one.latest)
            touch.until = max(touch.until, math.inf if one.ended is None else one.ended)

    def reached(self, key: Key, began: float, seconds: float) -> float | None:
        """When its last alert about a thing began, if one that begins at `began` may be of the same fault."""
        touch = self._touches.get(key)
        if touch is None or began > touch.until + QUIET_SECONDS or began > touch.latest + seconds:
            return None
        return touch.latest


def grouped(alerts: Iterable[Episode], fleet: Fleet) -> list[Group]:
    """The groups, each with all its alerts; what found no room is in none."""
    ordered = sorted(alerts, key=lambda one: one.order)
    # Which storm an alert is of does not depend on verdicts: one that explains half of a storm parts nothing.
    alone = _fold((replace(one, side="") if one.side else one for one in ordered), fleet, {})
    storms = _storms(alone)
    if not storms and not any(one.side for one in ordered):
        return alone
    return _fold(ordered, fleet, storms)


def _fold(ordered: Iterable[Episode], fleet: Fleet, storms: Mapping[str, Key]) -> list[Group]:
    folding = _Folding(fleet, storms)
    for one in ordered:
        folding.fold(one)
    return [group for group in folding.groups if group.alerts]


class _Folding:
    """Groups as alerts are added in the order in which they began; `storms` says which alerts are of one."""

    def __init__(self, fleet: Fleet, storms: Mapping[str, Key]) -> None:
        self._fleet = fleet
        self._storms = storms
        self.groups: list[Group] = []
        self._of_side: dict[str, Group] = {}
        self._of_key: dict[Key, dict[int, Group]] = {}

    def fold(self, one: Episode) -> None:
        near = self._nearest(one)
        group = self._sided(one, near) if one.side else near
        if group is None:
            group = Group(side=one.side)
            self.groups.append(group)
            if one.side:
                self._of_side[one.side] = group
        if len(group.alerts) < MOST_OF_ONE:
            self._add(group, one)

    def _sided(self, one: Episode, near: Group | None) -> Group | None:
        """The group of the verdict's side, with the one that the alert is tied to if that has none."""
        group = self._of_side.get(one.side)
        if near is None or near is group:
            return group
        if group is None:
            near.side = one.side
            self._of_side[one.side] = near
            return near
        if len(group.alerts) + len(near.alerts) <= MOST_OF_ONE:
            moved, near.alerts = near.alerts, []
            for other in moved:
                for key in self._keys(other):
                    self._of_key[key].pop(id(near), None)
                self._add(group, other)
            group.alerts.sort(key=lambda other: other.order)
        return group

    def _nearest(self, one: Episode) -> Group | None:
        best: tuple[int, float] = (0, 0.0)
        found: Group | None = None
        for key, tie, seconds in self._ties(one):
            for group in self._of_key.get(key, {}).values():
                if one.side and group.side:
                    continue
                latest = group.reached(key, one.began, seconds)
                if latest is not None and (found is None or (tie, latest) > best):
                    best, found = (tie, latest), group
        return found

    def _ties(self, one: Episode) -> Iterator[tuple[Key, int, float]]:
        subject, *others = one.where.keys
        yield subject, _SAME, LASTING_SECONDS
        cluster, kind, name = subject
        if kind == "model":
            for model in sorted(self._fleet.related(name) - {name}):
                yield (cluster, kind, model), _NEAR, NEAR_SECONDS
        for key in others:
            together = key[1] == "area"
            yield key, _TOGETHER if together else _NEAR, TOGETHER_SECONDS if together else NEAR_SECONDS
        if one.key in self._storms:
            yield self._storms[one.key], _STORM, math.inf

    def _add(self, group: Group, one: Episode) -> None:
        keys = self._keys(one)
        group.add(one, keys)
        for key in keys:
            self._of_key.setdefault(key, {})[id(group)] = group

    def _keys(self, one: Episode) -> tuple[Key, ...]:
        return (*one.where.keys, *filter(None, [self._storms.get(one.key)]))


def _storms(groups: Iterable[Group]) -> dict[str, Key]:
    """Of which storm alerts are: those of groups in one cluster that begin together."""
    clusters: dict[str, list[Group]] = {}
    for group in groups:
        cluster, kind, _ = group.first.where.subject
        # What is not about models or servers has nothing to do with their storm.
        if group.counts and kind != "area":
            clusters.setdefault(cluster, []).append(group)
    return {
        one.key: (cluster, "storm", storm[0].first.key)
        for cluster, those in clusters.items()
        for storm in _runs(those)
        for group in storm
        for one in group.alerts
    }


def _runs(ordered: Sequence[Group]) -> Iterator[Sequence[Group]]:
    """Stretches of groups of which every so many lie within the time of a storm."""
    begins = [group.first.began for group in ordered]

    def crowded(last: int) -> bool:
        """Whether the groups that end with this one began within the time of a storm."""
        return last < len(begins) and begins[last] - begins[last + 1 - STORM_GROUPS] <= STORM_SECONDS

    start = 0
    while start + STORM_GROUPS <= len(begins):
        end = start + STORM_GROUPS
        if not crowded(end - 1):
            start += 1
            continue
        while crowded(end):
            end += 1
        yield ordered[start:end]
        start = end


class Judged(Protocol):
    """What triage found (`Verdict` of the extension triage)."""

    @property
    def causes(self) -> tuple[Cause, ...]:
        """What explains itself, the surest first."""

    @property
    def following(self) -> tuple[Cause, ...]:
        """What follows from the causes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A cause with the places where it shows: its own first, then those of what follows from it."""

    cause: Cause
    places: tuple[Where, ...]

    def closeness(self, one: Episode, fleet: Fleet) -> int:
        """How closely it explains an alert; 0 for not at all."""
        since = self.cause.since
        if since is not None and one.began < since - _LEAD_SECONDS:
            return 0
        if one.alert.labels.get("alertname") in CONTRARY.get(self.cause.check, ()):
            return 0
        return max(
            _match(one.where, place, fleet, _FOLLOWS if number else _NAMED)
            for number, place in enumerate(self.places)
        )


def explanations(verdict: Judged, fleet: Fleet) -> tuple[Explanation, ...]:
    """The causes that are sure, each with what follows from it."""
    causes = [cause for number, cause in enumerate(verdict.causes) if not number or cause.confidence >= SURE]
    places = [list(places_of(cause)) for cause in causes]
    for effect in verdict.following:
        for place in places_of(effect):
            owner = _owner(place, [found[0] for found in places], fleet)
            if owner is not None:
                places[owner].append(place)
    return tuple(
        Explanation(cause=cause, places=tuple(found)) for cause, found in zip(causes, places, strict=True)
    )


def places_of(cause: Cause) -> tuple[Where, ...]:
    """Where a cause is; several replicas may be named in one."""
    model, version, third, *_ = (*cause.place, "", "", "")
    if model and cause.check not in _OF_A_SERVER:
        return (Where(model=model, version=version),)
    if cause.area and cause.area not in OF_HOSTS:
        # The third part is the name of a robot, a file, a job or a group of rules.
        return (Where(area=cause.area),)
    names = third.split(", ")
    return tuple(Where(model=model, version=version, replica=name, area=cause.area) for name in names)


def put_aside(alerts: Mapping[str, Episode], said: Sequence[Explanation], fleet: Fleet) -> dict[str, Episode]:
    """The alerts, those that a cause explains for the first time on the side of that cause.

    A cause that explains alerts with a side already is on that side.
    """
    found = explained(alerts.values(), said, fleet)
    sides = _sides(alerts.values(), found)
    return {
        key: replace(one, side=sides[found[key]], assumed=False) if key in found and not one.settled else one
        for key, one in alerts.items()
    }


def put_beside(
    alerts: Mapping[str, Episode], said: Sequence[Explanation], fleet: Fleet
) -> dict[str, Episode]:
    """The alerts, those that came after a verdict on the side of the cause that it found, if one is near.

    A pipeline fails later than the member that two of them share; no look is needed to tell that it is one
    fault. What only a cause of the whole fleet could explain waits for the next look.
    """
    settled = [one for one in alerts.values() if one.settled]
    if not settled:
        return dict(alerts)
    found = explained(alerts.values(), said, fleet, least=_RELATED)
    sides = _sides(settled, found)
    return {
        key: replace(one, side=sides[found[key]], assumed=True)
        if not one.side and found.get(key) in sides
        else one
        for key, one in alerts.items()
    }


def _sides(alerts: Iterable[Episode], found: Mapping[str, int]) -> dict[int, str]:
    """The side of each explanation: that of the first alert that a verdict put there, else its first."""
    ordered = sorted((one for one in alerts if one.key in found), key=lambda one: one.order)
    sides: dict[int, str] = {}
    for one in sorted(ordered, key=lambda one: not one.settled):
        sides.setdefault(found[one.key], one.settled or one.key)
    return sides


def explained(
    alerts: Iterable[Episode], said: Sequence[Explanation], fleet: Fleet, least: int = _FLEET
) -> dict[str, int]:
    """Which explanation fits an alert best, by its key; of equally good ones the surest.

    It fits at `least` so closely.
    """
    found = {}
    for one in alerts:
        close = [explanation.closeness(one, fleet) for explanation in said]
        if max(close, default=0) >= least:
            found[one.key] = close.index(max(close))
    return found


def _owner(place: Where, causes: Sequence[Where], fleet: Fleet) -> int | None:
    """The cause that an effect follows from: of a model it has to do with, else of a server or the fleet."""
    touching = (
        number
        for number, cause in enumerate(causes)
        if (cause.model and place.model and cause.model in fleet.related(place.model))
        or (cause.replica and cause.replica == place.replica)
    )
    wide = (number for number, cause in enumerate(causes) if not cause.model)
    only = iter((0,) if len(causes) == 1 else ())
    return next(touching, next(wide, next(only, None)))


def _match(alert: Where, place: Where, fleet: Fleet, best: int) -> int:
    # Triage reads one cluster: a model of the same name elsewhere has causes of its own.
    if not fleet.has(alert.cluster):
        return 0
    if place.replica and place.replica == alert.replica:
        return best
    if place.model:
        if not alert.model or alert.model not in fleet.related(place.model):
            return 0
        other = place.version and alert.version and place.version != alert.version
        return best if alert.model == place.model and not other else _RELATED
    if place.area and place.area == alert.area:
        return best
    whole = not place.replica and place.area in {"", "traffic"} and best == _NAMED
    return _FLEET if whole and (alert.model or alert.replica) else 0
