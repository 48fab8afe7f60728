"""One model with a limit, lived through as arrays: when the alerts about it begin, in months of traffic.

The rules are the ones that `tritonobs build` makes, their expressions as they are. What is left out is what a
world without queues, lost scrapes and changes of limits does not have.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from support.fleet_sim.arrays import Arrays, Kept
from support.fleet_sim.curves import at
from support.fleet_sim.episodes import lives
from support.fleet_sim.order import ordered, scheduled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from support.fleet_sim.curves import Curve
    from support.fleet_sim.episodes import Episode
    from support.fleet_sim.series import Array

ABOVE: Final = "TritonQpsAboveLimit"
NEAR: Final = "TritonQpsNearLimit"
TICK_SECONDS: Final = 5
_OFFERED: Final = "subject:triton_requests_offered:"
_IRATE: Final = _OFFERED + "irate"
_ABOUT: Final = (
    _OFFERED,
    "subject:tritonobs_qps_limit:near",
    "subject:tritonobs_limit_near:",
    "subject:tritonobs_limit_exceeded:",
    "subject:tritonobs_limit_exceeded_begins:",
    "subject:tritonobs_limit_again:",
    "subject:tritonobs_limit_burst:",
)
_SCRAPES: Final = 4  # in a short window
_RATES: Final = _OFFERED + "near_limit"
_ROW: Final = re.compile(
    r'label_replace\((.+?) (and on \([^)]*\) subject:tritonobs_qps_limit:near), "rate", "(\w+)", "", ""\)'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """The seconds at which each alert fired."""

    above: Array
    near: Array


def arrived(qps: Curve, seconds: float, seed: int, tick_seconds: float = TICK_SECONDS) -> Array:
    """Requests in each tick: Poisson arrivals at this rate."""
    ticks = np.arange(0, seconds, tick_seconds)
    rate = np.clip(at(qps, ticks), 0, None) * tick_seconds
    return np.random.default_rng((seed, 7)).poisson(rate).astype(float)


def begun(
    groups: Sequence[Mapping[str, Any]],
    requests: Array,
    limit: float,
    *,
    scrape_seconds: float,
    since: float = 0,
    tick_seconds: float = TICK_SECONDS,
    phase_seconds: float = 1,
) -> Begun:
    """What fires for these requests per tick, from `since` seconds on.

    Evaluations happen every `scrape_seconds`, scrapes `phase_seconds` later.
    """
    total = np.concatenate([[0.0], np.cumsum(requests)])
    count = int(len(requests) * tick_seconds // scrape_seconds)
    scraped = scrape_seconds * np.arange(-1, count - 1) + phase_seconds
    counter = np.where(scraped < 0, np.nan, total[(np.maximum(scraped, 0) / tick_seconds + 1e-9).astype(int)])
    world = Arrays(steps=count, step_seconds=scrape_seconds)
    rules = ordered(scheduled(groups, seed=None, default_ms=60_000), (ABOVE, NEAR))
    short = next(rule.name for rule in rules if rule.name.startswith(_IRATE)).removeprefix(_IRATE)
    apart = _SCRAPES - 1
    rate = np.full(count, np.nan)
    rate[apart:] = (counter[apart:] - counter[:-apart]) / (apart * scrape_seconds)
    for place in range(2, min(apart + 2, count)):
        # A counter that begins at 0, of which the window is not full yet: `rate` extrapolates to its end.
        seen = scrape_seconds * (place - 1)
        grown = counter[place] * (1 + (scrape_seconds - phase_seconds) / seen)
        rate[place] = grown / max(10, _SCRAPES * scrape_seconds)
    for name, values in (
        (_OFFERED + "rate" + short, rate),
        (_IRATE + short, np.diff(counter, prepend=np.nan) / scrape_seconds),
        ("subject:tritonobs_qps_limit:held", np.full(count, float(limit))),
        ("subject:tritonobs_owner:info", np.ones(count)),
    ):
        world.series[name] = Kept(values=values)
    fired: dict[str, Array] = {}
    rows = {
        f'{_RATES}{{rate="{name}"}}': f"({rate} {near})"
        for one in rules
        if one.name == _RATES
        for rate, near, name in _ROW.findall(one.rule["expr"])
    }
    for one in rules:
        # A series here has one row: the rows of this record stand where they are read.
        expression = reduce(lambda text, row: text.replace(*row), rows.items(), one.rule["expr"])
        every = max(1, round(one.interval_ms / 1000 / scrape_seconds))
        if "alert" in one.rule:
            times_ms = 1000 * scrape_seconds * np.arange(0, count, every)
            lived = list(lives(one.rule, {}, times_ms, ~np.isnan(world.compute(expression, every))))
            fired[one.name] = np.array([each.fired_ms / 1000 for each in lived if each.fired_ms is not None])
            world.series["ALERTS"] = Kept(values=_firing(lived, times_ms), every=every)
        elif one.name.startswith(_ABOUT) and one.name not in world.series and one.name != _RATES:
            world.series[one.name] = Kept(values=world.compute(expression, every), every=every)
    return Begun(above=fired[ABOVE][fired[ABOVE] >= since], near=fired[NEAR][fired[NEAR] >= since])


def _firing(lived: Sequence[Episode], times_ms: Array) -> Array:
    values = np.full(len(times_ms), np.nan)
    for one in lived:
        if one.fired_ms is not None:
            until = np.inf if one.ended_ms is None else one.ended_ms
            values[(times_ms >= one.fired_ms) & (times_ms < until)] = 1.0
    return values
