"""A fleet in which nothing is wrong, for days: what pages there is a false page, and how many are allowed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from support.fleet_sim.curves import DAY, week
from support.fleet_sim.fleet import Fleet
from support.fleet_sim.spans import FOREVER
from tritonobs import names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from support.fleet_sim.world import Fired

BUDGET_BY_SEVERITY: Final = {"critical": 0.05, "warning": 0.2, "info": 1.0}
"""False pages a day of one alert, over the whole of this fleet: one night in twenty at most."""

LIMITS: Final = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
SHARES: Final = (0.5, 0.8, 0.9, 0.95)
SERVERS: Final = 20
LOST_SCRAPES: Final = 0.01
RESTARTING: Final = "triton-7"
RESTART_SECONDS: Final = 25
_PEAK = 0.75
_NEAR = 0.8
_HOUR = 3600
_WEEKLY = "weekly"


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A model and its traffic: a share of its limit, level or by the hour of the week."""

    limit: float
    share: float
    weekly: bool = False

    @property
    def model(self) -> str:
        """Its name tells both."""
        return f"{_WEEKLY if self.weekly else 'level'}-{self.limit:g}-{self.share:g}"


LOADS: Final = (
    *(Load(limit=limit, share=share) for limit in LIMITS for share in SHARES),
    *(Load(limit=limit, share=_PEAK, weekly=True) for limit in LIMITS),
)


def healthy_fleet(*, days: float, seed: int, loads: Sequence[Load] = LOADS, servers: int = SERVERS) -> Fleet:
    """Every load on two of the servers, which lose one scrape in a hundred.

    A fifth of the error budgets is spent, evenly. One server restarts every night at four, one model gets
    a new version every morning at five, server by server.
    """
    fleet = Fleet(seconds=days * DAY, seed=seed, tick_seconds=5)
    nights = [day * DAY + 4 * _HOUR for day in range(math.ceil(days)) if day * DAY + 5 * _HOUR < days * DAY]
    restarts = [(night, night + RESTART_SECONDS) for night in nights]
    made = [
        fleet.server(name, lost=LOST_SCRAPES, restarts=restarts if name == RESTARTING else [])
        for name in (f"triton-{number}" for number in range(servers))
    ]
    for place, load in enumerate(loads):
        turn = place // 4 * DAY + 5 * _HOUR if place % 4 == 0 else FOREVER
        qps = load.limit * load.share / 2
        curve = week(qps) if load.weekly else qps
        for part, number in enumerate({place % servers, (place + 7) % servers}):
            over = min(turn + 90 * part, fleet.seconds)
            for version, life in (("1", (0, over)), ("2", (over, fleet.seconds))):
                if life[0] < life[1]:
                    fleet.serve(
                        made[number],
                        load.model,
                        version,
                        qps=curve,
                        loaded=[life],
                        raised=1.5e-4,
                        soft=0.5e-4,
                        slow=2e-3,
                    )
        _exported(fleet, load, turn)
    return fleet


def false_pages(fired: Mapping[str, list[Fired]]) -> dict[str, int]:
    """How often each alert fired although nothing was wrong."""
    return {name: sum(not _rightly(one) for one in times) for name, times in fired.items()}


def budget(rule: Mapping[str, Any]) -> float:
    """The false pages a day that an alert is allowed."""
    return BUDGET_BY_SEVERITY[rule["labels"]["severity"]]


def _rightly(one: Fired) -> bool:
    """A load of four fifths of its limit is near it, and workers of a restarted server are new."""
    name = one.labels["alertname"]
    if name == "TritonQpsNearLimit":
        model = one.labels.get("model", "")
        return not model.startswith(_WEEKLY) and float(model.rpartition("-")[2]) >= _NEAR
    return name == "TritonModelReloaded" and one.labels.get(names.REPLICA) == RESTARTING


def _exported(fleet: Fleet, load: Load, turn: float) -> None:
    """The fleet file follows the rollout: half an hour behind, as people do."""
    own = {"model": load.model, "kind": "model", "team": "vision", "tier": "gold"}
    fleet.exports(names.MODEL_INFO, version="", **own)
    fleet.exports(names.MODEL_INFO, 1, (0, turn + _HOUR / 2), version="1", **own)
    if turn < fleet.seconds:
        fleet.exports(names.MODEL_INFO, 1, (turn + _HOUR / 2, FOREVER), version="2", **own)
    fleet.limits(load.model, load.limit).promises(load.model).promises_time(load.model, "0.1")
