"""The windows that are compared: the incident and the baseline."""

from __future__ import annotations

from tritonobs.timings.span import Span
from tritonobs.units import parse_duration

_DAY = 86_400.0
BASELINES = {"yesterday": _DAY, "last-week": 7 * _DAY}
"""Words for a baseline, and how many seconds it lies back."""


def windows(now: float, since_seconds: float, baseline: str) -> tuple[Span, Span]:
    """Incident and baseline. The baseline is as long as the incident, but `previous` at least five minutes.

    Raises:
        ValueError: `baseline` is not a word above, not `previous` and no duration.
    """
    incident = Span(start=now - since_seconds, end=now)
    if baseline == "previous":
        # At a scrape interval of 15 s this makes five parts; `Spread` tells nothing from fewer than four.
        length = max(since_seconds, 300.0)
        return incident, Span(start=incident.start - length, end=incident.start)
    if baseline in BASELINES:
        back = BASELINES[baseline]
    else:
        try:
            back = float(parse_duration(baseline))
        except ValueError:
            words = ", ".join(("previous", *BASELINES))
            raise ValueError(
                f"{baseline!r} is not a baseline; write {words} or how long ago, like 3h"
            ) from None
    if back < since_seconds:
        raise ValueError(f"a baseline {baseline} ago lies inside the incident of {since_seconds:g} s")
    return incident, Span(start=incident.start - back, end=incident.end - back)
