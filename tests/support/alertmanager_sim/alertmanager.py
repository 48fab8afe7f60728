"""Alertmanager 0.25 with one peer: alerts whose lives are known in, the calls of its receivers out.

A group waits `group_wait` for others, then is looked at every `group_interval`. What is inhibited is left out
before the group is compared with what its receiver was last told (notify/notify.go: inhibit, then dedup). So
an alert that is inhibited when its turn comes is neither told nor forgotten, and one that was told and ends
while it is inhibited is never told to be over.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from support.alertmanager_sim.tree import inhibitions, routes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from support.alertmanager_sim.tree import Route

_CLEANED_SECONDS: Final = 30.0
"""How often Alertmanager forgets groups without alerts."""
_RESENT_SECONDS: Final = 60.0
_RESENT_FOR_SECONDS: Final = 900.0
"""Prometheus tells the end of an alert once a minute for a quarter of an hour."""

Key = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """An alert from when it fires until it is over; None is not within the time looked at."""

    labels: Mapping[str, str]
    since: float
    until: float | None = None

    @property
    def key(self) -> Key:
        """What Alertmanager knows it by: its labels, whenever it began."""
        return tuple(sorted(self.labels.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a receiver: the alerts of a group."""

    at: float
    receiver: str
    firing: tuple[Life, ...]
    resolved: tuple[Life, ...]
    group: str = ""


@dataclass(slots=True, kw_only=True)
class _Group:
    route: Route
    alerts: dict[Key, Life] = field(default_factory=dict)
    next_look: float = 0.0
    looked: bool = False
    empty_since: float = math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """The entry of the notification log: the last call of a group that was made."""

    at: float
    firing: frozenset[Key]
    resolved: frozenset[Key]


class Alertmanager:
    """One configuration; `calls` begins with nothing known each time."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._tree = routes(config)
        self._inhibitions = inhibitions(config)

    def calls(self, lives: Iterable[Life], *, until: float) -> list[Call]:
        """Every call of every receiver up to a moment, in order."""
        return _Running(self._tree, self._inhibitions, until).calls(lives)

    def listed(self, lives: Iterable[Life], at: float) -> list[tuple[Life, bool]]:
        """What its API lists at a moment: alerts that fire, and whether they are inhibited."""
        there = [one for one in lives if one.since <= at and _fires(one, at)]
        active = [one.labels for one in there]
        return [(one, any(rule.mutes(one.labels, active) for rule in self._inhibitions)) for one in there]


class _Running:
    def __init__(self, tree: Route, rules: tuple[Any, ...], until: float) -> None:
        self._tree, self._rules, self._until = tree, rules, until
        self._known: dict[Key, Life] = {}
        self._groups: dict[tuple[str, Key], _Group] = {}
        self._told: dict[tuple[str, Key], _Told] = {}
        self._calls: list[Call] = []

    def calls(self, lives: Iterable[Life]) -> list[Call]:
        posts = sorted(_posts(lives, self._until), key=lambda post: post[0])
        looks: list[tuple[float, tuple[str, Key]]] = []
        place = 0
        while place < len(posts) or looks:
            if place < len(posts) and (not looks or posts[place][0] <= looks[0][0]):
                at, life = posts[place]
                place += 1
                for name in self._take(life, at):
                    heapq.heappush(looks, (self._groups[name].next_look, name))
                continue
            at, name = heapq.heappop(looks)
            if at > self._until:
                break
            group = self._groups.get(name)
            # A look that was put forward, or of a group that was forgotten.
            if group is None or group.next_look != at:
                continue
            if self._forgotten(group, at):
                del self._groups[name]
                continue
            group.next_look = at + group.route.interval_seconds
            group.looked = True
            self._look(name, group, at)
            heapq.heappush(looks, (group.next_look, name))
        return self._calls

    def _take(self, life: Life, at: float) -> list[tuple[str, Key]]:
        """An alert arrives; the groups that must be looked at at another time than was planned."""
        self._known[life.key] = life
        moved = []
        for route in self._tree.taking(life.labels):
            name = (route.key, route.group(life.labels))
            group = self._groups.get(name)
            if group is None or self._forgotten(group, at):
                group = self._groups[name] = _Group(route=route, next_look=at + route.wait_seconds)
                moved.append(name)
            group.alerts[life.key] = life
            group.empty_since = math.inf
            if not group.looked and life.since + route.wait_seconds < at:
                group.next_look = at
                moved.append(name)
        return moved

    def _forgotten(self, group: _Group, at: float) -> bool:
        if group.alerts:
            return False
        return math.floor(at / _CLEANED_SECONDS) > math.floor(group.empty_since / _CLEANED_SECONDS)

    def _look(self, name: tuple[str, Key], group: _Group, at: float) -> None:
        active = [one.labels for one in self._known.values() if _fires(one, at)]
        shown = [one for one in group.alerts.values() if not self._muted(one, active)]
        firing = tuple(one for one in shown if _fires(one, at))
        resolved = tuple(one for one in shown if not _fires(one, at))
        now = _Told(
            at=at,
            firing=frozenset(one.key for one in firing),
            resolved=frozenset(one.key for one in resolved),
        )
        if shown and _news(self._told.get(name), now, group.route.repeat_seconds):
            self._told[name] = now
            receiver = group.route.receiver
            self._calls.append(
                Call(at=at, receiver=receiver, firing=firing, resolved=resolved, group=repr(name))
            )
        for key in [key for key, one in group.alerts.items() if not _fires(one, at)]:
            del group.alerts[key]
        if not group.alerts:
            group.empty_since = at

    def _muted(self, life: Life, active: list[Mapping[str, str]]) -> bool:
        return any(rule.mutes(life.labels, active) for rule in self._rules)


def _fires(life: Life, at: float) -> bool:
    return life.until is None or life.until > at


def _news(told: _Told | None, now: _Told, repeat_seconds: float) -> bool:
    """DedupStage.needsUpdate."""
    if told is None:
        return bool(now.firing)
    if not now.firing <= told.firing:
        return True
    if not now.firing:
        return bool(told.firing)
    if not now.resolved <= told.resolved:
        return True
    return told.at < now.at - repeat_seconds


def _posts(lives: Iterable[Life], until: float) -> Iterable[tuple[float, Life]]:
    """What Prometheus sends: each beginning, and each end again and again, unless the alert fires again."""
    by_key: dict[Key, list[Life]] = {}
    for life in lives:
        by_key.setdefault(life.key, []).append(life)
    for each in by_key.values():
        each.sort(key=lambda one: one.since)
        for place, life in enumerate(each):
            yield life.since, Life(labels=life.labels, since=life.since)
            if life.until is None:
                continue
            again = each[place + 1].since if place + 1 < len(each) else until
            at = life.until
            while at <= min(life.until + _RESENT_FOR_SECONDS, until) and (at < again or at == life.until):
                yield at, life
                at += _RESENT_SECONDS
