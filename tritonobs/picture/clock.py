"""Times of day for an axis, in the time zone of this machine."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Final

_STEPS: Final = (10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800)
_DOTS_A_LABEL: Final = 105
_MINUTE: Final = 60
_DAY: Final = 86400


def time_ticks(start: float, end: float, dots: float) -> list[tuple[float, str]]:
    """Round times between two moments (Unix seconds), as many as fit into `dots`, with their labels."""
    most = max(dots / _DOTS_A_LABEL, 1)
    step = next((step for step in _STEPS if (end - start) / step <= most), _STEPS[-1])
    form = "%H:%M:%S" if step < _MINUTE else "%H:%M" if step < _DAY else "%d %b"
    # Ticks are round in the zone of this machine: days begin at its midnight, not at that of UTC.
    shift = local(start).utcoffset()
    offset = shift.total_seconds() if shift else 0.0
    first = -(-(start + offset) // step) * step - offset
    count = int((end - first) // step) + 1
    return [(time, local(time).strftime(form)) for time in (first + place * step for place in range(count))]


def span_text(start: float, end: float) -> str:
    """From when to when, with the zone."""
    first, last = local(start), local(end)
    if first.date() == last.date():
        return f"{first:%Y-%m-%d %H:%M:%S} to {last:%H:%M:%S %Z}"
    return f"{first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M %Z}"


def local(time: float) -> datetime:
    """A moment in this machine's zone."""
    return datetime.fromtimestamp(time, tz=timezone.utc).astimezone()
