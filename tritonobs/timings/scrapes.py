"""The scrape interval, as Prometheus reports it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs.units import parse_duration

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tritonobs.clients.prometheus import Target

_UNKNOWN_SECONDS = 15.0


def scrape_interval_seconds(targets: Iterable[Target]) -> float:
    """The longest interval at which any target is scraped."""
    # Windows that hold enough scrapes of the slowest target do of every other.
    return max((_seconds(target.interval) for target in targets), default=_UNKNOWN_SECONDS)


def _seconds(interval: str) -> float:
    """Of Prometheus' own text; older releases do not report it."""
    try:
        return float(parse_duration(interval))
    except ValueError:
        return _UNKNOWN_SECONDS
