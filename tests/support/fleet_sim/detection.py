"""How long burn alerts take to fire and to be over, and how long they should."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from support.fleet_sim.curves import between
from support.fleet_sim.fleet import Fleet
from support.fleet_sim.world import live
from tritonobs.render.rules import mixin_knobs
from tritonobs.units import parse_duration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from support.fleet_sim.engine import Engine

OBJECTIVE: Final = 0.999
_QPS = 10
_HOUR = 3600
_KNOBS: Final = mixin_knobs({})
TIERS: Final = {tier["name"]: tier for tier in _KNOBS["burnTiers"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Seconds from the first error to the alert, and from the last error to its end; None is silence."""

    detected: float | None
    reset: float | None


def _minutes(detected: float, reset: float) -> Seen:
    return Seen(detected=60 * detected, reset=60 * reset)


_SILENT: Final = Seen(detected=None, reset=None)
IN_0_5_0: Final = {
    1.0: dict(zip(TIERS, map(_minutes, (6.0, 26.2, 70.2, 190.2), (6.0, 36.2, 130.2, 370.2)), strict=True)),
    0.1: dict(zip(TIERS, map(_minutes, (14.0, 46.2, 110.2, 230.2), (5.5, 32.2, 124.2, 364.2)), strict=True)),
    0.02: dict(
        zip(TIERS, map(_minutes, (49.0, 130.2, 284.2, 404.2), (2.5, 26.2, 110.2, 350.2)), strict=True)
    ),
    0.01: {"fast": _SILENT}
    | dict(zip([*TIERS][1:], map(_minutes, (240.2, 500.2, 620.2), (16.2, 90.2, 330.2)), strict=True)),
}
"""What bench/detection.py measured of the rules of 0.5.0 (commit e69def2), by share of errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """A share of errors that lasts `seconds`, after `before` seconds without any."""

    share: float
    before: float
    seconds: float
    scrape_seconds: float = 15

    def fleet(self) -> Fleet:
        """One model with steady traffic, and the time its alerts need to be over."""
        end = self.before + self.seconds
        fleet = Fleet(seconds=end + 8 * _HOUR, scrape_seconds=self.scrape_seconds)
        bad = between(self.before, end, self.share)
        fleet.serve(fleet.server(), qps=_QPS, bounds=None, steady=True, raised=bad)
        return fleet.owns("nms", "1").promises("nms", OBJECTIVE)


def theory(tier: Mapping[str, Any], share: float) -> Seen:
    """With windows that see all at once: until the long one is over the threshold, the short one below."""
    long, short = (float(parse_duration(tier[window])) for window in ("long", "short"))
    threshold = max(1.0, tier["share"] * _KNOBS["sloPeriodSeconds"] / long) * (1 - OBJECTIVE)
    if share <= threshold:
        return Seen(detected=None, reset=None)
    return Seen(detected=threshold / share * long, reset=(1 - threshold / share) * short)


def detect(
    engine: Engine, incident: Incident, groups: Sequence[Mapping[str, Any]], *, since: float = 0
) -> dict[str, Seen]:
    """What the alerts with a `burn_tier` made of the incident, tier by tier."""
    alerts = {
        rule["alert"]: rule["labels"]["burn_tier"]
        for group in groups
        for rule in group["rules"]
        if "alert" in rule and "burn_tier" in rule.get("labels", {})
    }
    lived = live(engine, incident.fleet(), *alerts, groups=groups, since=since)
    seen = {}
    for alert, tier in alerts.items():
        fired = lived.fired(alert, since=incident.before)
        last = fired[-1].until if fired else None
        seen[tier] = Seen(
            detected=fired[0].since - incident.before if fired else None,
            reset=None if last is None else last - incident.before - incident.seconds,
        )
    return seen
