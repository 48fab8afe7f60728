"""A queue that empties: its completions are earlier requests, not new ones. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tritonobs.triage.view import View

_FEWEST = 3.0
"""Requests that wait: below that a queue comes and goes with each of them."""
_SHARE = 0.1
_LONGEST_SECONDS = 86_400.0
_LAST_SECONDS, _AS_USUAL = 20.0, 1.3


def draining(view: View, labels: Mapping[str, str], usual: float | None = None) -> str:
    """What to add to a sentence when fewer arrive than are answered, or no more than usual."""
    if _seconds(view, labels) is not None:
        return "; the rush is over, and what waits is being answered"
    return "; that is over" if _is_over(view, labels, usual) else ""


def drain_steps(view: View, labels: Mapping[str, str], usual: float | None = None) -> tuple[str, ...]:
    """What to do then: wait, or nothing."""
    seconds = _seconds(view, labels)
    if seconds is not None:
        drained = format_duration(max(1, round(seconds)))
        return (f"wait: at this pace the queue has drained in about {drained}",)
    if _is_over(view, labels, usual):
        return ("it is over: as many requests come as before; nothing is to be done now",)
    return ()


def _is_over(view: View, labels: Mapping[str, str], usual: float | None) -> bool:
    """Whether no more is answered at the end than `usual` requests a second, and nothing waits."""
    points, end = view.trends.points("requests", labels), view.snapshot.incident.end
    last = view.trends.level(points, end - max(_LAST_SECONDS, view.trends.window), end)
    if usual is None or last is None or (view.value("waiting", labels) or 0.0) >= _FEWEST:
        return False
    return last <= _AS_USUAL * usual


def _seconds(view: View, labels: Mapping[str, str]) -> float | None:
    """How long the queue still lasts; None when it does not get shorter."""
    waiting, filling = view.value("waiting", labels), view.value("filling", labels)
    rate = view.value("requests", labels) or 0.0
    # Without requests the bound by `rate` is 0, and a queue that stands still would divide by 0.
    if waiting is None or filling is None or waiting < _FEWEST or filling > -_SHARE * rate or filling >= 0:
        return None
    # Without requests any fall counts, however small, so the quotient may be of any size.
    return min(_LONGEST_SECONDS, waiting / -filling)
