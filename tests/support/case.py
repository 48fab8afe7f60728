"""A case of the rules: a world, the rules that are asked about it, and what they must say."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from support.simulate import series_name
from tritonobs.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from support.simulate import World

Rule: TypeAlias = dict[str, Any]
Groups: TypeAlias = list[dict[str, Any]]
Samples: TypeAlias = dict[frozenset[tuple[str, str]], float]
"""Values by their labels."""
RECORD: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*(?::[a-zA-Z0-9_]+)+")
"""The name of a record, in an expression."""
WRITTEN: Final = 0.25
"""Minutes. A series that is read twice is read some seconds late: at an evaluation, the scrape before it."""
_PRECISION: Final = "0.0001"
_LABEL: Final = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*")')


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What an expression must read at a minute: its samples by their labels, or nothing."""

    expr: str
    minute: float
    samples: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A world, the rules that are asked about it, and what they must say.

    `given` are records that the world brings along, so that days need not be simulated request by request.
    """

    says: str
    world: World
    rules: tuple[str, ...]
    checks: tuple[Check, ...]
    given: tuple[str, ...] = ()


def fires(alert: str, minute: float, **labels: str) -> Check:
    """The alert fires at this minute, once, with exactly these labels."""
    return all_fire(alert, minute, labels)


def all_fire(alert: str, minute: float, *subjects: Mapping[str, str]) -> Check:
    """The alert fires at this minute for exactly these subjects."""
    own = {"alertname": alert, "alertstate": "firing"}
    return Check(
        expr=f'ALERTS{{alertname="{alert}",alertstate="firing"}}',
        minute=minute,
        samples={series_name("ALERTS", own | {**labels}): 1 for labels in subjects},
    )


def silent(alert: str, minute: float, *, since: float = 0) -> Check:
    """The alert has not fired from `since` to this minute."""
    window = format_duration((minute - since) * 60)
    return Check(
        expr=f'count_over_time(ALERTS{{alertname="{alert}",alertstate="firing"}}[{window}])', minute=minute
    )


def reads(expr: str, minute: float, *samples: tuple[Mapping[str, str], float]) -> Check:
    """The expression has exactly these samples at this minute, to four places."""
    return Check(
        expr=f"round({expr}, {_PRECISION})",
        minute=minute,
        samples={series_name("", labels): value for labels, value in samples},
    )


def near(
    expr: str, minute: float, labels: Mapping[str, str], value: float, *, tolerance: float = 0.02
) -> Check:
    """The expression has one sample at this minute, with these labels, within `tolerance` of a value."""
    return Check(
        expr=f"abs(({expr}) / {value} - 1) <= bool {tolerance}",
        minute=minute,
        samples={series_name("", labels): 1},
    )


def absent(expr: str, minute: float) -> Check:
    """The expression has no sample at this minute."""
    return Check(expr=expr, minute=minute)


def rule_name(rule: Mapping[str, Any]) -> str:
    """What a rule records, or the name of its alert."""
    return str(rule.get("record") or rule["alert"])


def needed(groups: Iterable[Mapping[str, Any]], names: Iterable[str], given: Iterable[str] = ()) -> Groups:
    """The groups reduced to the rules called `names` and the records they read, except `given`.

    Raises:
        KeyError: no rule has one of the names.
    """
    groups = list(groups)
    rules: dict[str, list[Rule]] = {}
    for group in groups:
        for rule in group["rules"]:
            rules.setdefault(rule_name(rule), []).append(rule)
    wanted: set[str] = set()
    known = set(given)
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in wanted | known:
            continue
        wanted.add(name)
        for rule in rules[name]:
            text = " ".join((rule["expr"], *rule.get("annotations", {}).values()))
            waiting += [read for read in RECORD.findall(text) if read in rules]
    reduced = [
        {
            **group,
            "rules": [rule for rule in group["rules"] if rule_name(rule) in wanted],
        }
        for group in groups
    ]
    return [group for group in reduced if group["rules"]]


def labels_of(series: str) -> dict[str, str]:
    """The labels in `name{label="value"}`, without the name."""
    return {name: json.loads(value) for name, value in _LABEL.findall(series.partition("{")[2])}
