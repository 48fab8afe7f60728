"""Limits under uneven traffic: false pages at four fifths of a limit, and how soon an overload is told.

Months of each traffic are lived through as arrays (tests/support/fleet_sim/subject.py), by expressions of the
rules that `tritonobs build` makes; a test compares that with Prometheus. Days of every cell but bursts are
lived through by Prometheus itself.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from results import publish, table

from support.fleet_sim.curves import DAY, at
from support.fleet_sim.engine import Engine
from support.fleet_sim.fleet import Fleet
from support.fleet_sim.subject import ABOVE, NEAR, arrived, begun
from support.fleet_sim.traffics import LIMITS, SHARE, TRAFFICS
from support.fleet_sim.world import live, product_rules
from tritonobs import programs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from support.fleet_sim.series import Array
    from support.fleet_sim.traffics import Traffic

SCRAPES = (5, 15)
HOUR = 3600
KNOWN_SECONDS = 4 * HOUR
"""From here on the traffic counts as known; what is told before is counted apart."""
WORLD_DAYS = 10
ALLOWED = {ABOVE: 0.1, NEAR: 2.0}
# So many times the limit must be told within so many seconds after calm traffic, with a scrape every 5 s.
OVERLOADS = {2.0: 30, 1.3: 180, 1.1: 600}
# A model with the limit, and traffic before the overload: a name of TRAFFICS, and a share of the limit.
BEFORE = {
    "Poisson at 0.5": ("poisson", 0.5),
    "Poisson at 0.8": ("poisson", SHARE),
    **{
        f"{TRAFFICS[name].says} at 0.8": (name, SHARE)
        for name in ("gamma-0.10", "gamma-0.15", "gamma-0.25", "ar-0.15")
    },
}
OVERLOAD_HOURS = (13.0, 14.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overload:
    """Requests of each second, and when there are too many."""

    begins: float
    requests: Array


def main() -> int:
    """Run it; 1 when a cell is over what is allowed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--days", type=int, default=40, help="days of each cell, as arrays")
    parser.add_argument("--starts", type=int, default=100, help="fleets that begin, four hours each")
    parser.add_argument("--overloads", type=int, default=20, help="overloads of each kind")
    parser.add_argument(
        "--real-days", type=float, default=2.0, help="days of every cell in Prometheus; 0 for none"
    )
    parser.add_argument("--write", action="store_true", help="replace the section of RESULTS.md")
    parser.add_argument("--json", action="store_true", help="print JSON")
    asked = parser.parse_args()
    months = {scrape: _months(scrape, asked.days) for scrape in SCRAPES}
    starts = {scrape: _starts(scrape, asked.starts) for scrape in SCRAPES}
    told = {scrape: _overloads(scrape, asked.overloads) for scrape in SCRAPES}
    real = _real(asked.real_days) if asked.real_days else {}
    known = KNOWN_SECONDS // HOUR
    wanted = ", ".join(f"{times:g} times in {seconds} s" for times, seconds in OVERLOADS.items())
    intro = (
        f"`{ABOVE}` / `{NEAR}` a day, {asked.days} days of each cell as arrays, from hour {known} of\n"
        f"each world of {WORLD_DAYS} days on. Allowed are fewer than {ALLOWED[ABOVE]:g} /\n"
        f"{ALLOWED[NEAR]:g}; a star marks more. Traffic in brackets is rougher than promised."
    )
    first = f"The same a start, in the first {known} hours of a fleet; {asked.starts} starts of each cell."
    after = (
        f"Seconds from an overload to `{ABOVE}`, median / longest of {asked.overloads}, after 13 hours of\n"
        "the traffic named; the overload breathes like it. What was not told within the hour is counted.\n"
        f"Wanted after calm traffic with scrapes every 5 s: {wanted}. An evaluation comes a second\n"
        "before a scrape, which is the slowest."
    )
    parts = [
        intro,
        *(f"Scrapes every {scrape} s:\n\n{_cells(months[scrape])}" for scrape in SCRAPES),
        first,
        *(f"Scrapes every {scrape} s:\n\n{_cells(starts[scrape], starred=False)}" for scrape in SCRAPES),
        after,
        *(f"Scrapes every {scrape} s:\n\n{_told(told[scrape])}" for scrape in SCRAPES),
    ]
    if real:
        parts.append(
            f"Alerts in all by Prometheus itself and by arrays for the same requests,\n"
            f"{asked.real_days:g} days of each cell from its start on, scrapes every 15 s:\n\n"
            + _compared(real)
        )
    values = {
        "a_day": {str(scrape): _named(cells) for scrape, cells in months.items()},
        "a_start": {str(scrape): _named(cells) for scrape, cells in starts.items()},
        "prometheus": {f"{name} {limit}": found for (name, limit), found in real.items()},
    }
    publish("Uneven traffic", "\n\n".join(parts), values, as_json=asked.json, write=asked.write)
    over = [
        cell
        for cells in months.values()
        for cell, found in cells.items()
        if not TRAFFICS[cell[0]].beyond and _too_many(found)
    ]
    return 1 if over else 0


def _months(scrape: int, days: int) -> dict[tuple[str, int], tuple[float, float]]:
    worlds = max(1, days // WORLD_DAYS)
    each = min(days, WORLD_DAYS) * DAY
    known = worlds * (each - KNOWN_SECONDS) / DAY
    return _counted(scrape, worlds, each, since=KNOWN_SECONDS, per=known)


def _starts(scrape: int, starts: int) -> dict[tuple[str, int], tuple[float, float]]:
    return _counted(scrape, starts, KNOWN_SECONDS, since=0, per=starts)


def _counted(
    scrape: int, worlds: int, seconds: float, *, since: float, per: float
) -> dict[tuple[str, int], tuple[float, float]]:
    groups = product_rules(scrape)
    cells = {}
    for name, traffic in TRAFFICS.items():
        for limit in LIMITS:
            above = near = 0
            for seed in range(worlds):
                tick = traffic.tick_seconds
                requests = arrived(traffic.at_limit(limit, seed), seconds, seed, tick)
                found = begun(groups, requests, limit, scrape_seconds=scrape, since=since, tick_seconds=tick)
                above, near = above + len(found.above), near + len(found.near)
            cells[name, limit] = above / per, near / per
    return cells


def _overloads(scrape: int, count: int) -> dict[tuple[str, int], dict[float, list[float]]]:
    groups = product_rules(scrape)
    cells = {}
    for says, (name, share) in BEFORE.items():
        for limit in LIMITS:
            cells[says, limit] = {
                times: [
                    _told_after(
                        groups, limit, _overload(TRAFFICS[name], share * limit, times * limit, seed), scrape
                    )
                    for seed in range(count)
                ]
                for times in OVERLOADS
            }
    return cells


def _overload(traffic: Traffic, before: float, after: float, seed: int) -> Overload:
    """It begins at another moment between two scrapes each time."""
    begins = OVERLOAD_HOURS[0] * HOUR + float(np.random.default_rng((seed, 3)).integers(0, 60))
    calm, hot = traffic.curve(before, seed), traffic.curve(after, seed)
    return Overload(
        begins=begins,
        requests=arrived(
            lambda seconds: np.where(seconds < begins, at(calm, seconds), at(hot, seconds)),
            OVERLOAD_HOURS[1] * HOUR,
            seed,
            1,
        ),
    )


def _told_after(groups: Sequence[dict[str, Any]], limit: float, overload: Overload, scrape: int) -> float:
    found = begun(
        groups, overload.requests, limit, scrape_seconds=scrape, since=overload.begins, tick_seconds=1
    ).above
    return float(found[0] - overload.begins) if len(found) else np.inf


def _real(days: float) -> dict[tuple[str, int], tuple[int, int, int, int]]:
    fleet = Fleet(seconds=days * DAY, scrape_seconds=15, tick_seconds=5)
    server = fleet.server(phase_seconds=1)
    cells = [
        (name, limit) for name, traffic in TRAFFICS.items() if traffic.tick_seconds == 5 for limit in LIMITS
    ]
    for name, limit in cells:
        model = f"{name}-{limit}"
        fleet.serve(server, model, qps=TRAFFICS[name].at_limit(limit, 1000 + limit), bounds=None)
        fleet.owns(model, "1").limits(model, limit)
    with tempfile.TemporaryDirectory() as folder, Engine(programs.find("prometheus"), Path(folder)) as engine:
        lived = live(engine, fleet, ABOVE, NEAR, phases=None)
    requests = {one.model: one.arrivals for one in fleet.truth.happened}
    found = {}
    for name, limit in cells:
        model = f"{name}-{limit}"
        arrays = begun(product_rules(15), requests[model], limit, scrape_seconds=15)
        counts = [len(lived.fired(alert, model=model)) for alert in (ABOVE, NEAR)]
        found[name, limit] = counts[0], counts[1], len(arrays.above), len(arrays.near)
    return found


def _too_many(found: tuple[float, float]) -> bool:
    return found[0] >= ALLOWED[ABOVE] or found[1] >= ALLOWED[NEAR]


def _cells(cells: dict[tuple[str, int], tuple[float, float]], *, starred: bool = True) -> str:
    rows = []
    for name, traffic in TRAFFICS.items():
        found = [cells[name, limit] for limit in LIMITS]
        shown = [
            f"{above:.2f} / {near:.2f}" + ("*" if starred and _too_many((above, near)) else "")
            for above, near in found
        ]
        rows.append([f"({traffic.says})" if traffic.beyond else traffic.says, *shown])
    return table(["traffic", *(f"limit {limit}" for limit in LIMITS)], rows)


def _told(cells: dict[tuple[str, int], dict[float, list[float]]]) -> str:
    rows = [
        [says, f"{times:g}", *(_seconds(cells[says, limit][times]) for limit in LIMITS)]
        for says in BEFORE
        for times in OVERLOADS
    ]
    return table(["before", "times", *(f"limit {limit}" for limit in LIMITS)], rows)


def _seconds(times: Sequence[float]) -> str:
    told = [one for one in times if np.isfinite(one)]
    missed = len(times) - len(told)
    shown = f"{np.median(told):.0f} / {max(told):.0f}" if told else "."
    return shown + (f", {missed} not" if missed else "")


def _compared(real: dict[tuple[str, int], tuple[int, int, int, int]]) -> str:
    rows = [
        [TRAFFICS[name].says, str(limit), *(str(count) for count in counts)]
        for (name, limit), counts in real.items()
    ]
    return table(["traffic", "limit", "above", "near", "above: arrays", "near: arrays"], rows)


def _named(cells: dict[tuple[str, int], tuple[float, float]]) -> dict[str, list[float]]:
    return {f"{name} {limit}": list(found) for (name, limit), found in cells.items()}


if __name__ == "__main__":
    sys.exit(main())
