"""The life of alerts with for and keep_firing_for, as in Prometheus 2.42 (rules/alerting.go, Eval)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tritonobs.units import parse_duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from support.fleet_sim.series import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One alert from its first true evaluation on, in milliseconds; None is what did not happen."""

    labels: Mapping[str, str]
    active_ms: int
    fired_ms: int | None
    ended_ms: int | None


def alert_labels(rule: Mapping[str, Any], sample: Mapping[str, str]) -> dict[str, str]:
    """The labels by which Prometheus knows an alert: those of the sample and the rule's own.

    Raises:
        ValueError: a label of the rule is a template; this cannot fill them.
    """
    own = rule.get("labels", {})
    templates = [value for value in own.values() if "{{" in value]
    if templates:
        raise ValueError(f"{rule['alert']}: the label {templates[0]} is a template")
    named = {name: value for name, value in sample.items() if name != "__name__"}
    joined = {**named, **own, "alertname": rule["alert"]}
    return {name: value for name, value in joined.items() if value}


def lives(
    rule: Mapping[str, Any], labels: Mapping[str, str], times_ms: Array, true: Array
) -> Iterator[Episode]:
    """Every episode of one alert; `true` says at which evaluations its expression had a sample."""
    wait, keep = (_milliseconds(rule.get(key)) for key in ("for", "keep_firing_for"))
    active: int | None = None
    fired: int | None = None
    gone: int | None = None
    for start, end in _runs(true):
        if active is not None and fired is not None and gone is not None:
            late = int(np.searchsorted(times_ms, gone + keep))
            if late < start:
                yield Episode(labels=labels, active_ms=active, fired_ms=fired, ended_ms=int(times_ms[late]))
                active = fired = None
        elif active is not None:
            yield Episode(labels=labels, active_ms=active, fired_ms=None, ended_ms=gone)
            active = None
        active = int(times_ms[start]) if active is None else active
        if fired is None:
            first = int(np.searchsorted(times_ms, active + wait))
            fired = int(times_ms[first]) if first < end else None
        gone = int(times_ms[end]) if end < len(times_ms) else None
    if active is None:
        return
    if fired is not None and gone is not None:
        late = int(np.searchsorted(times_ms, gone + keep))
        gone = int(times_ms[late]) if late < len(times_ms) else None
    yield Episode(labels=labels, active_ms=active, fired_ms=fired, ended_ms=gone)


def states(episode: Episode, times_ms: Array) -> tuple[Array, Array]:
    """At which evaluations `ALERTS` says pending, and at which firing."""
    last = times_ms[-1] + 1 if episode.ended_ms is None else episode.ended_ms
    there = (times_ms >= episode.active_ms) & (times_ms < last)
    firing = there & (times_ms >= episode.fired_ms) if episode.fired_ms is not None else there & False
    return there & ~firing, firing


def _runs(true: Array) -> Iterator[tuple[int, int]]:
    """Where true begins and where it ends, the end not included."""
    edges = np.diff(np.concatenate([[0], true.astype(np.int8), [0]]))
    return zip(np.flatnonzero(edges == 1).tolist(), np.flatnonzero(edges == -1).tolist(), strict=True)


def _milliseconds(text: str | None) -> int:
    return round(float(parse_duration(text)) * 1000) if text and text != "0s" else 0
