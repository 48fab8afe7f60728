"""Change the rules one small way at a time: which changes does no case notice?

`make mutants`, or `python tools/mutants.py --only TritonQps --sample 50`. Exit code 1 when too many survive.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rule_cases import generated, load_cases

from tritonobs.stack import binaries
from tritonobs.testing.promtool import Case, needed, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Rule = dict[str, Any]
REQUIRED_RATIO = 0.95
# Longer worlds are the proof of other things; as a mutant's last resort they would cost hours.
_MOST_SAMPLES = 2000
_MOST_INDIRECT = 8
_OPAQUE = re.compile(r'"[^"]*"|\{[^}]*\}')
_FLIPPED = {">": "<", "<": ">", ">=": "<", "<=": ">", "==": "!=", "!=": "=="}
_SWAPPED = {"and": "unless", "unless": "and", "sum": "max", "max": "min", "min": "max"}
_OTHER = {"critical": "warning", "warning": "info", "info": "critical", "none": "info"}


@dataclass(frozen=True)
class Mutant:
    """One rule with one change."""

    place: tuple[int, int]
    name: str
    kind: str
    change: str
    rule: Rule


def mutants_of(place: tuple[int, int], rule: Rule) -> Iterator[Mutant]:
    """Every change of one rule: comparators, operators, windows, thresholds, groupings, labels, times."""
    name = str(rule.get("record") or rule["alert"])
    expr = rule["expr"]
    hidden = [match.span() for match in _OPAQUE.finditer(expr)]
    kinds: tuple[tuple[str, str, Callable[[re.Match[str]], str | None]], ...] = (
        ("comparator", r"(?<= )(>=|<=|==|!=|>|<)(?= )", lambda m: _FLIPPED[m[0]]),
        ("operator", r"\b(and|unless|sum|max|min)\b(?= |\()", lambda m: _SWAPPED[m[0]]),
        ("window", r"(?<=\[)(\d+)([smhd])(?=\])", lambda m: f"{int(m[1]) * 4}{m[2]}"),
        ("offset", r"(?<=offset )(\d+)([smhd])", lambda m: f"{int(m[1]) * 3}{m[2]}"),
        (
            "threshold",
            r"(?<=[<>=*/] )(\d+\.?\d*(?:e\d+)?)(?![\w.:])",
            lambda m: f"{float(m[0]) * 3 or 1:g}",
        ),
        ("grouping", r"(?<=by \()[a-z_]+, (?=[a-z])", lambda _: ""),
    )
    for kind, pattern, replace in kinds:
        for match in re.finditer(pattern, expr):
            if any(start <= match.start() < end for start, end in hidden):
                continue
            new = replace(match)
            changed = expr[: match.start()] + (new or "") + expr[match.end() :]
            yield Mutant(
                place,
                name,
                kind,
                f"{match[0]!r} at {match.start()} becomes {new!r}",
                {**rule, "expr": changed},
            )
    if "alert" not in rule:
        return
    for field in ("for", "keep_firing_for"):
        if rule.get(field, "0s") != "0s":
            yield Mutant(place, name, field, f"{rule[field]} becomes 10h", {**rule, field: "10h"})
            yield Mutant(place, name, field, f"{rule[field]} becomes 0s", {**rule, field: "0s"})
    for label, value in rule["labels"].items():
        other = {**rule["labels"], label: _OTHER.get(value, "other")}
        yield Mutant(
            place, name, "label", f"{label}={value} becomes {other[label]}", {**rule, "labels": other}
        )


@cache
def relevant(name: str) -> tuple[Case, ...]:
    """The cases that evaluate the rule called `name`: those about it first, short ones before long ones."""
    direct, indirect = [], []
    for case in (case for cases in load_cases().values() for case in cases):
        samples = len(case.world.times)
        names = {*_evaluated(case)}
        if samples <= _MOST_SAMPLES and name in names:
            (direct if name in case.rules else indirect).append((samples * len(names), case))
    return tuple(
        case
        for cases in (direct, sorted(indirect, key=lambda entry: entry[0])[:_MOST_INDIRECT])
        for _, case in sorted(cases, key=lambda entry: entry[0])
    )


def _evaluated(case: Case) -> Iterator[str]:
    for group in needed(generated(case.world.scrape_seconds), case.rules, case.given):
        for rule in group["rules"]:
            yield str(rule.get("record") or rule["alert"])


def survives(mutant: Mutant) -> bool:
    """Whether every case is as content with the mutant as with the rule itself."""
    group, position = mutant.place
    promtool = binaries.find("promtool")
    with tempfile.TemporaryDirectory() as folder:
        for case in relevant(mutant.name):
            groups = [{**each, "rules": list(each["rules"])} for each in generated(case.world.scrape_seconds)]
            original = groups[group]["rules"][position]
            if (original.get("record") or original.get("alert")) != mutant.name:
                continue
            groups[group]["rules"][position] = mutant.rule
            if run(promtool, groups, case, Path(folder)):
                return False
    return True


def main() -> int:
    """Run the mutants, print the survivors, and say how many were killed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="rules whose name contains this")
    parser.add_argument("--sample", type=int, default=0, help="so many mutants, chosen by --seed; 0 is all")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    every = [
        mutant
        for group, each in enumerate(generated(15))
        for position, rule in enumerate(each["rules"])
        for mutant in mutants_of((group, position), rule)
        if options.only in mutant.name
    ]
    if 0 < options.sample < len(every):
        every = random.Random(options.seed).sample(every, options.sample)  # noqa: S311 (a repeatable choice)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        left = [mutant for mutant, alive in zip(every, pool.map(survives, every), strict=True) if alive]
    for mutant in left:
        print(f"survived: {mutant.name}: {mutant.kind}: {mutant.change}")
    counts = Counter(mutant.kind for mutant in every)
    ratio = 1 - len(left) / len(every) if every else 1
    print(f"killed {len(every) - len(left)} of {len(every)} ({ratio:.1%}); {dict(counts)}")
    return 0 if ratio >= REQUIRED_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
