"""Routes and inhibition of a configuration of Alertmanager, as its source reads them (0.25)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from tritonobs.units import parse_duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_MATCHER: Final = re.compile(r'^\s*([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(=~|!~|!=|=)\s*"?(.*?)"?\s*$', re.DOTALL)
_ALL_LABELS: Final = "..."


@dataclass(frozen=True, slots=True, kw_only=True)
class Matcher:
    """One condition on a label; a label that is not there is empty."""

    label: str
    operator: str
    value: str

    def takes(self, labels: Mapping[str, str]) -> bool:
        """Whether these labels fulfil it."""
        found = labels.get(self.label, "")
        if self.operator in {"=", "!="}:
            same = found == self.value
        else:
            same = re.fullmatch(self.value, found) is not None
        return same == (not self.operator.startswith("!"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One route with what it inherits; `key` names it in the keys of its groups."""

    key: str
    receiver: str
    matchers: tuple[Matcher, ...]
    goes_on: bool
    group_by: tuple[str, ...]
    wait_seconds: float
    interval_seconds: float
    repeat_seconds: float
    routes: tuple[Route, ...]

    def taking(self, labels: Mapping[str, str]) -> Iterator[Route]:
        """The routes that take an alert: the deepest ones, the first of its siblings unless it goes on."""
        if not all(one.takes(labels) for one in self.matchers):
            return
        found = False
        for child in self.routes:
            below = list(child.taking(labels))
            yield from below
            found = found or bool(below)
            if below and not child.goes_on:
                break
        if not found:
            yield self

    def group(self, labels: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        """The labels of the group that an alert belongs to."""
        if _ALL_LABELS in self.group_by:
            return tuple(sorted(labels.items()))
        return tuple(sorted((name, labels[name]) for name in self.group_by if name in labels))


@dataclass(frozen=True, slots=True, kw_only=True)
class Inhibition:
    """One rule of inhibition."""

    sources: tuple[Matcher, ...]
    targets: tuple[Matcher, ...]
    equal: tuple[str, ...]

    def mutes(self, target: Mapping[str, str], firing: Sequence[Mapping[str, str]]) -> bool:
        """Whether one of the alerts that fire mutes the target."""
        if not all(one.takes(target) for one in self.targets):
            return False
        two_sided = all(one.takes(target) for one in self.sources)
        return any(
            all(one.takes(source) for one in self.sources)
            and all(source.get(name, "") == target.get(name, "") for name in self.equal)
            # An alert that is both source and target of a rule mutes no other such alert.
            and not (two_sided and all(one.takes(source) for one in self.targets))
            for source in firing
        )


def routes(config: Mapping[str, Any]) -> Route:
    """The tree of routes of a configuration.

    Raises:
        ValueError: a matcher is none that Alertmanager knows.
    """
    inherited = {"group_by": [], "group_wait": "30s", "group_interval": "5m", "repeat_interval": "4h"}
    return _route(config["route"], inherited, "{}")


def inhibitions(config: Mapping[str, Any]) -> tuple[Inhibition, ...]:
    """Its rules of inhibition, in their order."""
    return tuple(
        Inhibition(
            sources=_matchers(one.get("source_matchers", ())),
            targets=_matchers(one.get("target_matchers", ())),
            equal=tuple(one.get("equal", ())),
        )
        for one in config.get("inhibit_rules", ())
    )


def _route(said: Mapping[str, Any], inherited: Mapping[str, Any], key: str) -> Route:
    own = {**inherited, **{name: said[name] for name in (*inherited, "receiver") if name in said}}
    return Route(
        key=key,
        receiver=own["receiver"],
        matchers=_matchers(said.get("matchers", ())),
        goes_on=bool(said.get("continue", False)),
        group_by=tuple(own["group_by"]),
        wait_seconds=_seconds(own["group_wait"]),
        interval_seconds=_seconds(own["group_interval"]),
        repeat_seconds=_seconds(own["repeat_interval"]),
        routes=tuple(
            _route(child, own, f"{key}/{child.get('matchers', [])}/{place}")
            for place, child in enumerate(said.get("routes", ()))
        ),
    )


def _matchers(texts: Sequence[str]) -> tuple[Matcher, ...]:
    return tuple(_matcher(text) for text in texts)


@cache
def _matcher(text: str) -> Matcher:
    found = _MATCHER.match(text)
    if found is None:
        raise ValueError(f"{text} is not a matcher")
    label, operator, value = found.groups()
    plain = value.replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\")
    return Matcher(label=label, operator=operator, value=plain)


def _seconds(text: str) -> float:
    return 0.0 if text == "0s" else float(parse_duration(text))
