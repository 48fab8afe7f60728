"""A world that was lived through: what the rules said, asked in seconds since it began."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

from support.fleet_sim.evaluate import evaluate
from tritonobs import names
from tritonobs.render.rules import clock_knobs, evaluate_mixin

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from support.fleet_sim.engine import Engine
    from support.fleet_sim.fleet import Fleet


@dataclass(frozen=True, slots=True, kw_only=True)
class Fired:
    """An alert that fired, in seconds since the world began; `until` is None when it fires at the end."""

    since: float
    until: float | None
    active: float
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lived:
    """What the rules made of a world."""

    engine: Engine
    start_ms: int
    end: float
    pages: dict[str, list[Fired]]
    failures: dict[str, int]

    def fired(
        self, alert: str, *, since: float = 0, until: float | None = None, **labels: str
    ) -> list[Fired]:
        """Every time the alert fired with these labels, in a stretch of time.

        Raises:
            KeyError: the alert was not asked for.
        """
        last = self.end if until is None else until
        return [
            one
            for one in self.pages[alert]
            if one.since <= last
            and (one.until is None or one.until > since)
            and all(one.labels.get(name, "") == value for name, value in labels.items())
        ]

    def all_fired(
        self, *, since: float = 0, until: float | None = None, **labels: str
    ) -> dict[str, list[Fired]]:
        """Every alert that fired with these labels in a stretch of time, but for the one that always does."""
        found = {
            name: self.fired(name, since=since, until=until, **labels)
            for name in self.pages
            if name != "Watchdog"
        }
        return {name: fired for name, fired in found.items() if fired}

    def samples(self, expr: str, at: float) -> dict[frozenset[tuple[str, str]], float]:
        """Every sample of an expression, by its labels."""
        rows = self.engine.instant(expr, self.start_ms + round(at * 1000))
        return {
            frozenset((name, value) for name, value in row["metric"].items() if name != "__name__"): float(
                row["value"][1]
            )
            for row in rows
        }

    def value(self, expr: str, at: float) -> float | None:
        """The one sample an expression has, or None when it has none.

        Raises:
            ValueError: it has more than one.
        """
        found = self.samples(expr, at)
        if len(found) > 1:
            raise ValueError(f"{expr} at {at} s: {found}")
        return next(iter(found.values()), None)


@cache
def product_rules(
    scrape_seconds: float, evaluation_seconds: float | None = None, **knobs: str
) -> tuple[dict[str, Any], ...]:
    """The groups that `tritonobs build` makes for a Prometheus that scrapes and evaluates this often.

    `knobs` are others of the mixin.
    """
    seconds = [Decimal(str(one)) for one in (scrape_seconds, evaluation_seconds or scrape_seconds)]
    rules = evaluate_mixin({**clock_knobs(*seconds), "replicaLabel": names.REPLICA, **knobs})
    return (*rules["records"]["groups"], *rules["alerts"]["groups"])


def live(
    engine: Engine,
    fleet: Fleet,
    *asked: str,
    groups: Sequence[Mapping[str, Any]] | None = None,
    phases: int | None = 0,
    since: float = 0,
) -> Lived:
    """Live through a world and ask for these alerts and records, or for every alert when none is named.

    `phases` moves the groups' evaluations; None lets all of them begin with the world. Rules that read
    nothing but counters may be evaluated `since` a later second.
    """
    start_ms = engine.new_time()
    engine.write(fleet.series(start_ms))
    rules = product_rules(fleet.scrape_seconds) if groups is None else groups
    asked = asked or tuple(rule["alert"] for group in rules for rule in group["rules"] if "alert" in rule)
    done = evaluate(
        engine,
        rules,
        asked,
        start_ms=start_ms + round(since * 1000),
        end_ms=start_ms + round(fleet.seconds * 1000),
        seed=phases,
        away_ms=[tuple(start_ms + 1000 * at for at in span) for span in fleet.away],
    )

    def since_start(at_ms: int) -> float:
        return (at_ms - start_ms) / 1000

    pages = {
        name: sorted(
            (
                Fired(
                    since=since_start(one.fired_ms),
                    until=None if one.ended_ms is None else since_start(one.ended_ms),
                    active=since_start(one.active_ms),
                    labels=one.labels,
                )
                for one in episodes
                if one.fired_ms is not None
            ),
            key=lambda one: one.since,
        )
        for name, episodes in done.episodes.items()
    }
    return Lived(engine=engine, start_ms=start_ms, end=fleet.seconds, pages=pages, failures=done.failures)
