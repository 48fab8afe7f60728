"""An incident, and what the rules, Alertmanager and the chat made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import yaml

from support.alertmanager_sim.alertmanager import Alertmanager, Life
from support.alertmanager_sim.chat import messages
from support.fleet_sim.world import live, product_rules
from support.incidents.shop import CHAT
from support.incidents.spoken import spoken
from tritonobs.extensions.incidents.incident import Fleet
from tritonobs.render.alertmanager import TIMINGS, render_alertmanager
from tritonobs.units import parse_duration

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.alertmanager_sim.chat import Message
    from support.fleet_sim.engine import Engine
    from support.fleet_sim.world import Lived
    from support.incidents.shop import Shop
    from support.incidents.spoken import Spoken

COUNTED: Final = frozenset({"warning", "critical"})
"""What interrupts people."""
MOST_STARTS: Final = 6
MOST_MESSAGES: Final = 4
MEDIAN_STARTS: Final = 3
MEDIAN_MESSAGES: Final = 2
_EVALUATIONS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """What happens to a fleet, from `begins` to `ends` in seconds since its world began.

    One of the alerts `needs` must be among the messages; without any, none is needed. `afterwards` are
    alerts that may begin when it is over. One that `lasts` fires when it ends, and `only` these are allowed,
    `most` so many starts. `agents` selects the agents that scrape the servers.
    """

    name: str
    says: str
    world: Callable[[], Shop]
    begins: float
    ends: float | None
    needs: tuple[str, ...] = ()
    afterwards: frozenset[str] = frozenset()
    lasts: str = ""
    only: frozenset[str] | None = None
    most: int = MOST_STARTS
    agents: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """`starts` are the alerts that began to fire; times are in seconds since the world began."""

    incident: Incident
    starts: tuple[Life, ...]
    infos: int
    messages: tuple[Message, ...]
    conversation: tuple[Spoken, ...]
    """The messages with incidents, which have no cause here: no triage reads the simulation."""
    first: float | None
    """Seconds from the beginning of the incident to the first message that names what must be named."""
    end: float
    """When the incident ends, or the world."""
    late: tuple[tuple[float, Life], ...]
    """What was new to the chat although the incident had ended, and when it was sent."""

    @property
    def wrong(self) -> tuple[str, ...]:
        """Which of the promises about every single incident are broken."""
        return tuple(
            said
            for said, broken in (
                (f"{len(self.starts)} starts", len(self.starts) > self.incident.most),
                (f"{self._news()} messages", self._news() > MOST_MESSAGES),
                (f"{len(self.late)} new after the end", bool(self.late)),
                ("nothing said", bool(self.incident.needs) and self.first is None),
                (f"{self.incident.lasts} over too soon", not self._lasts()),
                (f"also {', '.join(self._others())}", bool(self._others())),
            )
            if broken
        )

    def _news(self) -> int:
        """Messages that begin or end something; a reminder after `repeat_interval` is no further news."""
        return sum(bool(one.begun or one.over) for one in self.messages)

    def _lasts(self) -> bool:
        return not self.incident.lasts or any(
            life.labels["alertname"] == self.incident.lasts
            and life.since <= self.end
            and (life.until is None or life.until >= self.end)
            for life in self.starts
        )

    def _others(self) -> list[str]:
        only = self.incident.only
        heard = {life.labels["alertname"] for life in self.starts}
        return [] if only is None else sorted(heard - only)


def lived_through(engine: Engine, incident: Incident) -> Result:
    """Live through it with the rules of production, and tell people as the built configuration does."""
    shop = incident.world()
    groups = product_rules(shop.scrape_seconds, agentsSelector=incident.agents)
    world = live(engine, shop, groups=groups)
    lives = lives_of(world)
    config = yaml.safe_load(render_alertmanager(shop.plan)[0].text)
    manager = Alertmanager(config)
    said = tuple(
        one for one in messages(manager.calls(lives, until=world.end), CHAT) if one.severities & COUNTED
    )
    conversation = spoken(manager, lives, Fleet.of(shop.plan), receiver=CHAT, until=world.end)
    return Result(
        incident=incident,
        starts=tuple(one for one in lives if _counted(one)),
        infos=sum(not _counted(one) for one in lives),
        messages=said,
        conversation=tuple(one for one in conversation if one.severities & COUNTED),
        first=_first(incident, said),
        end=world.end if incident.ends is None else incident.ends,
        late=tuple(_late(incident, said, groups, world)),
    )


def lives_of(world: Lived) -> list[Life]:
    """Every alert that fired, as Alertmanager has it, in the order in which they began."""
    every = (one for fired in world.all_fired().values() for one in fired)
    lives = (Life(labels=one.labels, since=one.since, until=one.until) for one in every)
    return sorted(lives, key=lambda life: life.since)


def _counted(life: Life) -> bool:
    return life.labels.get("severity") in COUNTED


def _first(incident: Incident, said: tuple[Message, ...]) -> float | None:
    named = (
        one.at - incident.begins
        for one in said
        if one.at >= incident.begins and any(life.labels["alertname"] in incident.needs for life in one.begun)
    )
    return next(named, None)


def _late(
    incident: Incident, said: tuple[Message, ...], groups: tuple[dict[str, Any], ...], world: Lived
) -> list[tuple[float, Life]]:
    ends = world.end if incident.ends is None else incident.ends
    every = {rule.get("alert"): _seconds(group["interval"]) for group in groups for rule in group["rules"]}
    waits = {one.severity: float(one.wait_seconds + one.interval_seconds) + 1 for one in TIMINGS}

    def late(at: float, life: Life) -> bool:
        """It began two evaluations after the end, or before and was kept back until after it."""
        last = ends + _EVALUATIONS * every[life.labels["alertname"]]
        kept_back = at > life.since + waits[life.labels["severity"]]
        return at > last and (life.since > last or kept_back)

    return [
        (one.at, life)
        for one in said
        for life in one.begun
        if _counted(life) and late(one.at, life) and life.labels["alertname"] not in incident.afterwards
    ]


def _seconds(text: str) -> float:
    return float(parse_duration(text))
