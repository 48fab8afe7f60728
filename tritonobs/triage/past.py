"""An incident that is over: what Prometheus' API tells of this moment only, read from its history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tritonobs import names
from tritonobs.clients.prometheus import FiringAlert, Reading, Target
from tritonobs.timings import promql

_LATELY_SECONDS = 120.0
_SCRAPES = 4
_STATE = "alertstate"


def is_past(end: float, now: float, scrape_seconds: float) -> bool:
    """Whether a window that ends there says something else than a look now."""
    return end < now - max(_LATELY_SECONDS, _SCRAPES * scrape_seconds)


def targets_then(up: Iterable[Reading], now: Iterable[Target]) -> tuple[Target, ...]:
    """The scrape targets of that time, by `up`. Why a scrape failed is not kept."""
    known: Mapping[tuple[str, str], Target] = {
        (target.labels.get("job", ""), target.labels.get(names.INSTANCE, "")): target for target in now
    }
    found = []
    for reading in up:
        key = (reading.labels.get("job", ""), reading.labels.get(names.INSTANCE, ""))
        still = known.get(key)
        found.append(
            Target(
                url=still.url if still else key[1],
                health="up" if reading.value else "down",
                last_error="",
                last_scrape="",
                interval=still.interval if still else "",
                labels=dict(zip(("job", names.INSTANCE), key, strict=True)),
            )
        )
    return tuple(found)


def alerts_question(scope: promql.Scope) -> str:
    """PromQL for the alerts of a moment."""
    return f"ALERTS{scope.around()}"


def alerts_then(readings: Iterable[Reading]) -> tuple[FiringAlert, ...]:
    """The alerts of that time; since when they were is not read."""
    return tuple(
        FiringAlert(
            name=reading.labels.get("alertname", ""),
            state=reading.labels.get(_STATE, ""),
            active_at="",
            value=reading.value,
            labels={name: value for name, value in reading.labels.items() if name != _STATE},
            annotations={},
        )
        for reading in readings
    )
