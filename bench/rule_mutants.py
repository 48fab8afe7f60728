"""Every small change of a rule that could be made by mistake."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from support.case import Rule, rule_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_OPAQUE = re.compile(r'"[^"]*"|\{[^}]*\}')
_FLIPPED = {">": "<", "<": ">", ">=": "<", "<=": ">", "==": "!=", "!=": "=="}
_SWAPPED = {"and": "unless", "unless": "and", "sum": "max", "max": "min", "min": "max"}
_OTHER = {"critical": "warning", "warning": "info", "info": "critical", "none": "info"}


def _other_number(text: str) -> str:
    """Three times as much."""
    return f"{float(text) * (100 if 'e' in text else 3) or 1:g}"


_KINDS: tuple[tuple[str, str, Callable[[re.Match[str]], str]], ...] = (
    ("comparator", r"(?<= )(>=|<=|==|!=|>|<)(?= )", lambda m: _FLIPPED[m[0]]),
    ("operator", r"\b(and|unless|sum|max|min)\b(?= |\()", lambda m: _SWAPPED[m[0]]),
    ("window", r"(?<=\[)(\d+)([smhd])(?=\])", lambda m: f"{int(m[1]) * 4}{m[2]}"),
    ("offset", r"(?<=offset )(\d+)([smhd])", lambda m: f"{int(m[1]) * 3}{m[2]}"),
    ("threshold", r"(?<=[<>=*/] )(\d+\.?\d*(?:e\d+)?)(?![\w.:])", lambda m: _other_number(m[0])),
    ("grouping", r"(?<=by \()[a-z_]+, (?=[a-z])", lambda _: ""),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Mutant:
    """A rule with one change; `place` is the number of the change among those of its rule."""

    name: str
    kind: str
    place: int
    change: str
    rule: Rule


def mutants_of(rule: Rule) -> tuple[Mutant, ...]:
    """Every change of one rule: comparators, operators, windows, thresholds, groupings, labels, times."""
    changes = [*_of_expression(rule), *(_of_alert(rule) if "alert" in rule else ())]
    return tuple(
        Mutant(name=rule_name(rule), kind=kind, place=place, change=change, rule=changed)
        for place, (kind, change, changed) in enumerate(changes)
    )


def changed(rule: Rule, mutant: Mutant) -> Rule:
    """The rule with the change when it is the mutant's rule, of any scrape interval; else as it is."""
    if rule_name(rule) != mutant.name:
        return rule
    return next((other.rule for other in mutants_of(rule) if other.place == mutant.place), rule)


def _of_expression(rule: Rule) -> Iterator[tuple[str, str, Rule]]:
    expr = rule["expr"]
    hidden = [match.span() for match in _OPAQUE.finditer(expr)]
    for kind, pattern, replace in _KINDS:
        for match in re.finditer(pattern, expr):
            if any(start <= match.start() < end for start, end in hidden):
                continue
            if "alert" in rule and _asks_for_any(expr, match):
                continue
            new = replace(match)
            changed = expr[: match.start()] + new + expr[match.end() :]
            yield kind, f"{_around(expr, match)} becomes {new!r}", {**rule, "expr": changed}


def _asks_for_any(expr: str, match: re.Match[str]) -> bool:
    """Whether this is the `sum` of `sum by (...) (...) > 0`.

    Nothing here is negative, so a sum is above 0 exactly when the greatest addend is: as the condition of an
    alert `max` is not a change. Of a record it would be one, for the value is read.
    """
    begin = re.compile(r"sum (?:by \([^)]*\) )?\(").match(expr, match.start())
    if begin is None:
        return False
    depth, at = 1, begin.end()
    while depth and at < len(expr):
        depth += {"(": 1, ")": -1}.get(expr[at], 0)
        at += 1
    return re.match(r"\s*> 0(?![\d.])", expr[at:]) is not None


def _of_alert(rule: Rule) -> Iterator[tuple[str, str, Rule]]:
    for field in ("for", "keep_firing_for"):
        if rule.get(field, "0s") != "0s":
            yield field, f"{rule[field]} becomes 10h", {**rule, field: "10h"}
            yield field, f"{rule[field]} becomes 0s", {**rule, field: "0s"}
    for label, value in rule["labels"].items():
        other = {**rule["labels"], label: _OTHER.get(value, "other")}
        yield "label", f"{label}={value} becomes {other[label]}", {**rule, "labels": other}


def _around(expr: str, match: re.Match[str]) -> str:
    """The changed piece with its neighbourhood, on one line and without words that are cut."""
    first, last = max(0, match.start() - 40), match.end() + 40
    before, after = expr[first : match.start()], expr[match.end() : last]
    if re.match(r"[\w:]{2}", expr[first - 1 : first + 1]):
        before = re.sub(r"^[\w:]+", "", before)
    if re.match(r"[\w:]{2}", expr[last - 1 : last + 1]):
        after = re.sub(r"[\w:]+$", "", after)
    return f"`…{' '.join(before.split())} **{match[0].strip()}** {' '.join(after.split())}…`"
