"""What Prometheus keeps of a page: samples at its scrapes, and a marker wherever a series ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from support.fleet_sim.series import NAME, Series, with_ends
from support.fleet_sim.spans import after_each, among

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from support.fleet_sim.series import Array
    from support.fleet_sim.spans import Span


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Row:
    """A line of a page: there during `lives`, and what it reads at those seconds of them."""

    labels: Mapping[str, str]
    lives: Sequence[Span]
    read: Callable[[Array, float], Array]
    """Its values at these seconds; the second argument is the second at which this life began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A page that Prometheus scrapes while it is discovered; `lost` is the share of scrapes that fail."""

    labels: Mapping[str, str]
    discovered: Span
    silent: Sequence[Span] = ()
    unsent: Sequence[Span] = ()
    """When no sample of it is stored, and no marker: without an agent, remote write or Prometheus."""
    empty: Sequence[Span] = ()
    """When its page has no line, though it answers."""
    lost: float = 0
    phase_seconds: float = 0


def scraped(
    target: Target, rows: Iterable[Row], *, interval_seconds: float, start_ms: int, dice: np.random.Generator
) -> Iterator[Series]:
    """The series of one target, `up` among them.

    A scrape that fails ends every series of the page; so does a page without the series. When the target
    leaves discovery, all of them and `up` end where the next scrape would have been. Where samples are not
    stored, they end without a marker, and Prometheus goes on showing them for five minutes.
    """
    first, last = target.discovered
    count = int(np.ceil((last - target.phase_seconds) / interval_seconds))
    begin = max(0, int(np.ceil((first - target.phase_seconds) / interval_seconds)))
    # The place after the last scrape is where everything ends.
    seconds = target.phase_seconds + interval_seconds * np.arange(begin, max(count, begin) + 1)
    times_ms = start_ms + np.rint(seconds * 1000).astype(np.int64)
    there = np.ones(len(seconds), dtype=bool)
    there[-1] = False
    answered = there & (dice.random(len(seconds)) >= target.lost) & ~among(seconds, target.silent)
    unsent = among(seconds, target.unsent)
    cut = after_each(unsent, ~unsent)

    def series(labels: Mapping[str, str], values: Array, present: Array) -> Series:
        places, kept = with_ends(values[~unsent], present[~unsent], cut)
        return Series(labels={**labels, **target.labels}, times_ms=times_ms[~unsent][places], values=kept)

    yield series({NAME: "up"}, answered.astype(float), there)
    total = np.zeros(len(seconds))
    written = answered & ~among(seconds, target.empty)
    for row in rows:
        values = np.zeros(len(seconds))
        present = np.zeros(len(seconds), dtype=bool)
        for start, end in row.lives:
            alive = written & (seconds >= start) & (seconds < end)
            values[alive] = row.read(seconds[alive], start)
            present |= alive
        total += present
        if (present & ~unsent).any():
            yield series(row.labels, values, present)
    for name in ("scrape_samples_scraped", "scrape_samples_post_metric_relabeling"):
        yield series({NAME: name}, total, there)
