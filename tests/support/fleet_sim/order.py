"""Which rules are needed, and in which order they can be computed over all of time, one after the other."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from support.case import RECORD
from tritonobs.units import parse_duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_ALERTS: Final = re.compile(r'\bALERTS(?:_FOR_STATE)?\b(?:\{[^}]*?\balertname="(\w+)")?')
EVERY_ALERT: Final = "ALERTS"
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduled:
    """A rule with the times of its group: every `interval_ms`, the first `phase_ms` after the start."""

    group: str
    place: int
    interval_ms: int
    phase_ms: int
    rule: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What it records, or the name of its alert."""
        return str(self.rule.get("record") or self.rule["alert"])

    @property
    def reads(self) -> frozenset[str]:
        """Every record its expression reads, and the alerts whose state it asks for."""
        return _reads(self.rule["expr"])

    @property
    def reads_itself(self) -> bool:
        """Whether it reads what it recorded at the turns before."""
        return "record" in self.rule and self.name in self.reads

    def reading(self, name: str) -> str:
        """Its expression, which reads `name` instead of what it records."""
        return re.sub(rf"(?<![\w:]){re.escape(self.name)}(?![\w:])", name, str(self.rule["expr"]))


@cache
def _reads(expr: str) -> frozenset[str]:
    alerts = {name or EVERY_ALERT for name in _ALERTS.findall(expr)}
    return frozenset(RECORD.findall(_QUOTED.sub('""', expr))) | alerts


class RulesReadThemselves(ValueError):
    """Rules that read each other in a circle cannot be computed one after the other; the text names them.

    One that reads what it recorded itself can, turn by turn.
    """


def scheduled(groups: Iterable[Mapping[str, Any]], *, seed: int | None, default_ms: int) -> list[Scheduled]:
    """Every rule with its times.

    Prometheus spreads groups over their intervals by a hash of their names; each `seed` is another such hash,
    and None puts the first turn of every group at the start.
    """
    done = []
    for group in groups:
        interval = (
            round(float(parse_duration(group["interval"])) * 1000) if "interval" in group else default_ms
        )
        phase = 0 if seed is None else zlib.crc32(f"{seed}/{group['name']}".encode()) % interval
        done += [
            Scheduled(group=group["name"], place=place, interval_ms=interval, phase_ms=phase, rule=rule)
            for place, rule in enumerate(group["rules"])
        ]
    return done


def ordered(rules: Sequence[Scheduled], names: Iterable[str], given: Iterable[str] = ()) -> list[Scheduled]:
    """The rules called `names` and those they read, each after everything it reads, except what is `given`.

    Raises:
        KeyError: no rule has one of the names, or a rule reads the states of every alert.
        RulesReadThemselves: some rules read each other in a circle.
        ValueError: a rule reads one that stands below it in its group, so it would see the value of the turn
        before.
    """
    by_name: dict[str, list[Scheduled]] = {}
    for rule in rules:
        by_name.setdefault(rule.name, []).append(rule)
    known = set(given)
    done: dict[str, list[Scheduled]] = {}

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in done or name in known:
            return
        if name in path:
            raise RulesReadThemselves(" reads ".join((*path[path.index(name) :], name)))
        for rule in by_name[name]:
            for read in sorted((rule.reads - {rule.name}) & {*by_name, EVERY_ALERT}):
                visit(read, (*path, name))
                _above(rule, by_name[read])
        done[name] = by_name[name]

    for name in names:
        if name != EVERY_ALERT:
            visit(name, ())
    return [rule for each in done.values() for rule in each]


def _above(rule: Scheduled, read: Iterable[Scheduled]) -> None:
    below = [one for one in read if one.group == rule.group and one.place > rule.place]
    if below:
        raise ValueError(f"{rule.name} reads {below[0].name}, which stands below it in {rule.group}")
