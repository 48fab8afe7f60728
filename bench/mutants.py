"""Change the rules one small way at a time: which changes does no case notice?

`make mutants`, or `python bench/mutants.py --only TritonQps`. Exit code 1 when too many survive.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from results import publish, table
from rule_cases import generated, load_cases
from rule_mutants import Mutant, mutants_of

from tritonobs.stack import binaries
from tritonobs.testing.promtool import Case, Groups, Rule, needed, rule_name, run

if TYPE_CHECKING:
    from collections.abc import Sequence

REQUIRED_RATIO = 0.95
SCRAPE_SECONDS = 15
# Longer worlds are the proof of other things; as a mutant's last resort they would cost hours.
_MOST_SAMPLES = 2000
_MOST_INDIRECT = 12


@cache
def _all() -> tuple[tuple[Case, Groups], ...]:
    """Every case that is short enough, with the rules it evaluates."""
    return tuple(
        (case, needed(generated(case.world.scrape_seconds), case.rules, case.given))
        for cases in load_cases().values()
        for case in cases
        if len(case.world.times) <= _MOST_SAMPLES
    )


@cache
def relevant(name: str) -> list[tuple[Case, Groups]]:
    """The cases that evaluate the rule called `name`: those about it first, short ones before long ones."""
    direct, indirect = [], []
    for case, groups in _all():
        names = {rule_name(rule) for group in groups for rule in group["rules"]}
        if name in names:
            cost = len(case.world.times) * len(names)
            (direct if name in case.rules else indirect).append((cost, case, groups))
    direct.sort(key=lambda entry: entry[0])
    indirect.sort(key=lambda entry: entry[0])
    return [(case, groups) for _, case, groups in [*direct, *indirect[:_MOST_INDIRECT]]]


def survives(mutant: Mutant) -> bool:
    """Whether every case is as content with the mutant as with the rule itself."""
    cases = relevant(mutant.name)
    with tempfile.TemporaryDirectory() as folder:
        for entry in tuple(cases):
            groups, changed = _mutated(entry[1], mutant)
            if changed and run(binaries.find("promtool"), groups, entry[0], Path(folder)):
                # What killed one mutant of a rule is likely to kill the next.
                cases.sort(key=lambda other: other is not entry)
                return False
    return True


def _mutated(original: Groups, mutant: Mutant) -> tuple[Groups, bool]:
    """The rules with the same change, whatever windows the scrape interval gives them."""
    changed = False

    def changed_or_same(rule: Rule) -> Rule:
        nonlocal changed
        if rule_name(rule) != mutant.name:
            return rule
        same = [other for other in mutants_of(rule) if other.place == mutant.place]
        changed = changed or bool(same)
        return same[0].rule if same else rule

    groups = [{**group, "rules": [changed_or_same(rule) for rule in group["rules"]]} for group in original]
    return groups, changed


def main() -> int:
    """Run the mutants, print the survivors, and say how many were killed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="rules whose name contains this")
    parser.add_argument("--sample", type=int, default=0, help="so many mutants, chosen by --seed; 0 is all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the result into bench/RESULTS.md")
    options = parser.parse_args()
    every = [
        mutant
        for group in generated(SCRAPE_SECONDS)
        for rule in group["rules"]
        for mutant in mutants_of(rule)
        if options.only in mutant.name
    ]
    if 0 < options.sample < len(every):
        every = random.Random(options.seed).sample(every, options.sample)  # noqa: S311 (a repeatable choice)
    started = time.monotonic()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        alive = tuple(pool.map(survives, every))
    left = [mutant for mutant, survived in zip(every, alive, strict=True) if survived]
    ratio = _publish(every, left, time.monotonic() - started, options)
    return 0 if ratio >= REQUIRED_RATIO else 1


def _publish(
    every: Sequence[Mutant], left: Sequence[Mutant], seconds: float, options: argparse.Namespace
) -> float:
    """Say and publish the share of the mutants that were killed, and return it."""
    made, survived = (Counter(mutant.kind for mutant in mutants) for mutants in (every, left))
    ratio = 1 - len(left) / len(every) if every else 1
    said = f"{len(every) - len(left)} of {len(every)} changes of the rules are noticed ({ratio:.1%}); "
    said += f"{seconds:.0f} s."
    rows = [[kind, str(made[kind]), str(made[kind] - survived[kind])] for kind in sorted(made)]
    lines = [f"- {mutant.name}: {mutant.kind}: {mutant.change}" for mutant in left]
    survivors = "\n".join(["", "Not noticed:", "", *lines]) if left else ""
    publish(
        "mutants",
        f"{said}\n\n{table(['change', 'made', 'noticed'], rows)}\n{survivors}",
        {"made": made, "survived": survived, "survivors": lines, "seconds": seconds},
        as_json=options.json,
        write=options.write,
    )
    return ratio


if __name__ == "__main__":
    sys.exit(main())
