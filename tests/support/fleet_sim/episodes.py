"""The life of alerts with for and keep_firing_for, as in Prometheus 2.42 (rules/alerting.go, Eval)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from tritonobs.units import parse_duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from support.fleet_sim.series import Array


_GRACE_MS: Final = 600_000
_TOLERANCE_MS: Final = 3_600_000
_RESEND_MS: Final = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One alert from its first true evaluation on, in milliseconds; None is what did not happen."""

    labels: Mapping[str, str]
    active_ms: int
    fired_ms: int | None
    ended_ms: int | None
    forgotten_ms: int | None = None
    """The last evaluation of a Prometheus that went away while the alert was active."""


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
    rule: Mapping[str, Any],
    labels: Mapping[str, str],
    times_ms: Array,
    true: Array,
    restored_ms: int | None = None,
) -> Iterator[Episode]:
    """Every episode of one alert; `true` says at which evaluations its expression had a sample.

    An alert that is active after the second evaluation has been since `restored_ms`, if that is known.
    """
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
        least = 0
        if restored_ms is not None and start <= 1 < end:
            active, least = restored_ms, 2
        if fired is None:
            first = max(least, int(np.searchsorted(times_ms, active + wait)))
            fired = int(times_ms[first]) if first < end else None
        gone = int(times_ms[end]) if end < len(times_ms) else None
    if active is None:
        return
    if fired is not None and gone is not None:
        late = int(np.searchsorted(times_ms, gone + keep))
        gone = int(times_ms[late]) if late < len(times_ms) else None
    yield Episode(labels=labels, active_ms=active, fired_ms=fired, ended_ms=gone)


def lives_between(
    rule: Mapping[str, Any], labels: Mapping[str, str], times_ms: Sequence[Array], true: Sequence[Array]
) -> list[Episode]:
    """Every episode of one alert over stretches between which Prometheus was away.

    A Prometheus that starts knows nothing of its alerts, but since when those were active that wait for ten
    minutes or more (`--rules.alert.for-grace-period`), within an hour (`for-outage-tolerance`).
    """
    done: list[Episode] = []
    for times, there in zip(times_ms, true, strict=True):
        restored = None
        if len(times) > 1 and done and (down := done[-1].forgotten_ms) is not None:
            restored = _restored(rule, done[-1].active_ms, down, int(times[1]))
        lived = list(lives(rule, labels, times, there, restored))
        if times is not times_ms[-1]:
            lived = [
                one if one.ended_ms is not None else replace(one, forgotten_ms=int(times[-1]))
                for one in lived
            ]
        done += lived
    return done


def _restored(rule: Mapping[str, Any], active_ms: int, down_ms: int, now_ms: int) -> int | None:
    wait = _milliseconds(rule.get("for"))
    if wait < _GRACE_MS or now_ms - down_ms > _TOLERANCE_MS:
        return None
    left = wait - (down_ms - active_ms)
    if left <= 0:
        return active_ms
    return now_ms + max(left, _GRACE_MS) - wait


def as_sent(episodes: Iterable[Episode], interval_ms: int) -> list[Episode]:
    """As Alertmanager sees them: it ends what it no longer hears of after four times what it was sent at."""
    done: list[Episode] = []
    for one in episodes:
        last = done[-1] if done else None
        ended = one.ended_ms
        if ended is None and one.forgotten_ms is not None and one.fired_ms is not None:
            ended = one.forgotten_ms + 4 * max(interval_ms, _RESEND_MS)
        seen = replace(one, ended_ms=ended)
        if (
            last is not None
            and last.forgotten_ms is not None
            and last.fired_ms is not None
            and last.ended_ms is not None
            and one.fired_ms is not None
            and one.fired_ms <= last.ended_ms
        ):
            done[-1] = replace(seen, active_ms=last.active_ms, fired_ms=last.fired_ms)
        else:
            done.append(seen)
    return done


def states(episode: Episode, times_ms: Array) -> tuple[Array, Array]:
    """At which evaluations `ALERTS` says pending, and at which firing."""
    last = times_ms[-1] + 1 if episode.ended_ms is None else episode.ended_ms
    if episode.forgotten_ms is not None:
        last = episode.forgotten_ms + 1
    there = (times_ms >= episode.active_ms) & (times_ms < last)
    firing = there & (times_ms >= episode.fired_ms) if episode.fired_ms is not None else there & False
    return there & ~firing, firing


def _runs(true: Array) -> Iterator[tuple[int, int]]:
    """Where true begins and where it ends, the end not included."""
    edges = np.diff(np.concatenate([[0], true.astype(np.int8), [0]]))
    return zip(np.flatnonzero(edges == 1).tolist(), np.flatnonzero(edges == -1).tolist(), strict=True)


def _milliseconds(text: str | None) -> int:
    return round(float(parse_duration(text)) * 1000) if text and text != "0s" else 0
