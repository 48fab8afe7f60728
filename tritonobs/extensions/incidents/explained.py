"""Which alerts the causes of a verdict explain.

A cause explains alerts about what it names, and about what its verdict says follows from it. The first
verdict that explains an alert decides with which others it is one incident; later ones only say other causes
of it. So a verdict that changes its mind every quarter of a minute makes no messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from tritonobs.extensions.incidents.incident import Episode
from tritonobs.extensions.incidents.place import Fleet, Where
from tritonobs.timings.cause import Cause

SURE: Final = 0.8
"""Less sure causes, but for the first, part no incidents: one fault often shows as one and some guesses."""
_LEAD_SECONDS: Final = 120.0
"""An alert that began so long before a cause did has another one; causes are dated within seconds."""
_OF_A_SERVER: Final = frozenset({"slow_replica"})
"""Checks whose causes name a model, its version and a replica; the third part of others' is a stage."""

_AREAS: Final[Mapping[str, str]] = {
    "qps_limit": "traffic",
    "accelerator": "accelerators",
    "delivery": "delivery",
}
"""What causes without a model are about, where alerts without one can be about the same."""

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
    area = "" if model else _AREAS.get(cause.check, "")
    # The third part of a cause about delivery says in words which robot or file.
    names = [""] if area == "delivery" else third.split(", ")
    return tuple(Where(model=model, version=version, replica=name, area=area) for name in names)


def put_aside(alerts: Mapping[str, Episode], said: Sequence[Explanation], fleet: Fleet) -> dict[str, Episode]:
    """The alerts, those that a cause explains for the first time on the side of that cause.

    A cause that explains alerts with a side already is on that side.
    """
    found = explained(alerts.values(), said, fleet)
    ordered = sorted(alerts.values(), key=lambda one: one.order)
    sides: dict[int, str] = {}
    for one in sorted((one for one in ordered if one.key in found), key=lambda one: not one.side):
        sides.setdefault(found[one.key], one.side or one.key)
    return {
        key: replace(one, side=sides[found[key]]) if not one.side and key in found else one
        for key, one in alerts.items()
    }


def explained(alerts: Iterable[Episode], said: Sequence[Explanation], fleet: Fleet) -> dict[str, int]:
    """Which explanation fits an alert best, by its key; of equally good ones the surest."""
    found = {}
    for one in alerts:
        close = [explanation.closeness(one, fleet) for explanation in said]
        if any(close):
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
